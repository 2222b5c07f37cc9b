"""Differences of files between two trees. A tree is the manifest of a snapshot: `[{path, mode, digest, size}
| {path, mode, folder} | {path, link}]`. Folders are no files: an empty one changes nothing that people
read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]
ADDED, DELETED, MODIFIED, RENAMED, MODE = "added", "deleted", "modified", "renamed", "mode"
EXECUTABLE = 0o111
ALIKE = 0.5
"""Share of lines that a renamed file keeps."""
CANDIDATES, CANDIDATE_BYTES = 400, 256 * 1024
"""Files that are compared for being alike, and how large they may be."""
COMMON = 20
"""A line that stands in more files tells nothing about which one was renamed."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """Change of one file. `path` is its name now (before, if it is gone), `was` the name before where that
    differs."""

    path: str
    change: str
    old: Entry | None
    new: Entry | None
    was: str = ""

    @property
    def mode_changed(self) -> bool:
        return (
            self.old is not None and self.new is not None and not _is_executable_bit_same(self.old, self.new)
        )

    @property
    def is_link(self) -> bool:
        return "link" in (self.new or self.old or {})


def file_changes(old: Iterable[Entry], new: Iterable[Entry]) -> list[FileChange]:
    """Return what differs, in order of the paths. A file with the content of one that is gone was renamed."""
    was, now = _files_by_path(old), _files_by_path(new)
    gone = [was[path] for path in was.keys() - now.keys()]
    came = [now[path] for path in now.keys() - was.keys()]
    changes = [
        FileChange(
            path, MODE if _content_key(was[path]) == _content_key(entry) else MODIFIED, was[path], entry
        )
        for path, entry in now.items()
        if path in was
        and not (_content_key(was[path]) == _content_key(entry) and _is_executable_bit_same(was[path], entry))
    ]
    pairs = _renames_by_content(gone, came)
    return _changes_with_renames(changes, gone, came, pairs)


def pair_renames(changes: list[FileChange], read: Callable[[Entry], bytes | None]) -> list[FileChange]:
    """Pair what is gone with what came where most of the lines are the same. `read` gives the bytes of an entry; it is
    asked for `CANDIDATES` at most."""
    gone = [
        change.old
        for change in changes
        if change.change == DELETED and change.old and _is_comparable(change.old)
    ]
    came = [
        change.new
        for change in changes
        if change.change == ADDED and change.new and _is_comparable(change.new)
    ]
    if not gone or not came or len(gone) + len(came) > CANDIDATES:
        return changes
    before, after = _line_counts_of_texts(gone, read), _line_counts_of_texts(came, read)
    similar: list[tuple[float, str, str]] = []
    holders: dict[bytes, list[str]] = defaultdict(list)
    for path, lines in before.items():
        for line in lines:
            holders[line].append(path)
    for path, lines in after.items():
        shared: Counter[str] = Counter()
        for line, count in lines.items():
            if len(holders.get(line, ())) <= COMMON:
                for other in holders.get(line, ()):
                    shared[other] += min(count, before[other][line])
        for other, count in shared.items():
            share = count / max(lines.total(), before[other].total())
            if share >= ALIKE:
                similar.append((share, other, path))
    pairs: dict[str, str] = {}
    # The most alike first; by name where they are equally so, for one result each time
    for _, other, path in sorted(similar, key=lambda candidate: (-candidate[0], candidate[1], candidate[2])):
        if path not in pairs and other not in pairs.values():
            pairs[path] = other
    other_changes = [change for change in changes if change.change not in (ADDED, DELETED)]
    olds = [change.old for change in changes if change.change == DELETED and change.old]
    news = [change.new for change in changes if change.change == ADDED and change.new]
    return _changes_with_renames(other_changes, olds, news, pairs)


def _changes_with_renames(
    changes: list[FileChange],
    removed_entries: Iterable[Entry],
    came: Iterable[Entry],
    pairs: Mapping[str, str],
) -> list[FileChange]:
    """`pairs`: {path now: path before} of renamed files."""
    changes = list(changes)
    before = {str(entry["path"]): entry for entry in removed_entries}
    renamed = set(pairs.values())
    for entry in came:
        path = str(entry["path"])
        was = pairs.get(path)
        old = before[was] if was is not None else None
        changes.append(FileChange(path, RENAMED if old else ADDED, old, entry, was or ""))
    changes += [
        FileChange(path, DELETED, entry, None) for path, entry in before.items() if path not in renamed
    ]
    return sorted(changes, key=lambda change: change.path)


def _files_by_path(tree: Iterable[Entry]) -> dict[str, Entry]:
    """Return the files of a tree by path. Files that git keeps of itself are no part of what people changed."""
    return {
        path: entry
        for entry in tree
        if not entry.get("folder") and ".git" not in (path := str(entry["path"])).split("/")
    }


def _content_key(entry: Entry) -> tuple[str, str]:
    return ("link", str(entry["link"])) if "link" in entry else ("file", str(entry["digest"]))


def _is_executable_bit_same(old: Entry, new: Entry) -> bool:
    """Only whether it can be executed is a change: the rest is the machine's."""
    return bool(old.get("mode", 0) & EXECUTABLE) == bool(new.get("mode", 0) & EXECUTABLE)


def _renames_by_content(removed_entries: list[Entry], came: list[Entry]) -> dict[str, str]:
    """{path now: path before} of equal, not empty content; of several the one with the same name comes first."""
    paths_by_content: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in sorted(removed_entries, key=lambda file_entry: str(file_entry["path"])):
        # Empty files are all alike, which says nothing of a renaming; a link has no size.
        if entry.get("size", 1):
            paths_by_content[_content_key(entry)].append(str(entry["path"]))
    pairs: dict[str, str] = {}
    for entry in sorted(came, key=lambda file_entry: str(file_entry["path"])):
        candidates = paths_by_content.get(_content_key(entry))
        if candidates:
            path = str(entry["path"])
            name = path.rpartition("/")[2]
            chosen = next(
                (candidate for candidate in candidates if candidate.rpartition("/")[2] == name), candidates[0]
            )
            candidates.remove(chosen)
            pairs[path] = chosen
    return pairs


def _is_comparable(entry: Entry) -> bool:
    return "digest" in entry and 0 < entry.get("size", 0) <= CANDIDATE_BYTES


def _line_counts_of_texts(
    entries: Iterable[Entry], read: Callable[[Entry], bytes | None]
) -> dict[str, Counter[bytes]]:
    counts_by_path = {}
    for entry in entries:
        data = read(entry)
        if data and b"\0" not in data:
            counts_by_path[str(entry["path"])] = Counter(line for line in data.split(b"\n") if line.strip())
    return {path: lines for path, lines in counts_by_path.items() if lines}
