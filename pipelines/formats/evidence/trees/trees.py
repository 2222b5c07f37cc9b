"""Which files differ between two trees. A tree is the manifest of a snapshot: `[{path, mode, digest, size} |
{path, mode, folder} | {path, link}]`. Folders are no files: an empty one changes nothing that people read."""

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
    """One file. `path` is its name now (before, if it is gone), `was` the name before where that differs."""

    path: str
    change: str
    old: Entry | None
    new: Entry | None
    was: str = ""

    @property
    def mode_changed(self) -> bool:
        return self.old is not None and self.new is not None and not _same_mode(self.old, self.new)

    @property
    def link(self) -> bool:
        return "link" in (self.new or self.old or {})


def compare(old: Iterable[Entry], new: Iterable[Entry]) -> list[FileChange]:
    """What differs, in order of the paths. A file with the content of one that is gone was renamed."""
    was, now = _files(old), _files(new)
    gone = [was[path] for path in was.keys() - now.keys()]
    came = [now[path] for path in now.keys() - was.keys()]
    found = [
        FileChange(path, MODE if _content(was[path]) == _content(entry) else MODIFIED, was[path], entry)
        for path, entry in now.items()
        if path in was and not (_content(was[path]) == _content(entry) and _same_mode(was[path], entry))
    ]
    pairs = _by_content(gone, came)
    return _in_order(found, gone, came, pairs)


def with_similar(changes: list[FileChange], read: Callable[[Entry], bytes | None]) -> list[FileChange]:
    """Pair what is gone with what came where most of the lines are the same. `read` gives the bytes of an entry; it is
    asked for `CANDIDATES` at most."""
    gone = [each.old for each in changes if each.change == DELETED and each.old and _comparable(each.old)]
    came = [each.new for each in changes if each.change == ADDED and each.new and _comparable(each.new)]
    if not gone or not came or len(gone) + len(came) > CANDIDATES:
        return changes
    before, after = _line_counts(gone, read), _line_counts(came, read)
    found: list[tuple[float, str, str]] = []
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
                found.append((share, other, path))
    pairs: dict[str, str] = {}
    for _, other, path in sorted(found, key=lambda each: (-each[0], each[1], each[2])):
        if path not in pairs and other not in pairs.values():
            pairs[path] = other
    kept = [each for each in changes if each.change not in (ADDED, DELETED)]
    olds = [each.old for each in changes if each.change == DELETED and each.old]
    news = [each.new for each in changes if each.change == ADDED and each.new]
    return _in_order(kept, olds, news, pairs)


def _in_order(
    found: list[FileChange], gone: Iterable[Entry], came: Iterable[Entry], pairs: Mapping[str, str]
) -> list[FileChange]:
    """`pairs`: {path now: path before} of renamed files."""
    found = list(found)
    before = {str(entry["path"]): entry for entry in gone}
    renamed = set(pairs.values())
    for entry in came:
        path = str(entry["path"])
        was = pairs.get(path)
        old = before[was] if was is not None else None
        found.append(FileChange(path, RENAMED if old else ADDED, old, entry, was or ""))
    found += [FileChange(path, DELETED, entry, None) for path, entry in before.items() if path not in renamed]
    return sorted(found, key=lambda each: each.path)


def _files(tree: Iterable[Entry]) -> dict[str, Entry]:
    """What git keeps of itself is no part of what people changed."""
    return {
        path: entry
        for entry in tree
        if not entry.get("folder") and ".git" not in (path := str(entry["path"])).split("/")
    }


def _content(entry: Entry) -> tuple[str, str]:
    return ("link", str(entry["link"])) if "link" in entry else ("file", str(entry["digest"]))


def _same_mode(old: Entry, new: Entry) -> bool:
    """Only whether it can be executed is a change: the rest is the machine's."""
    return bool(old.get("mode", 0) & EXECUTABLE) == bool(new.get("mode", 0) & EXECUTABLE)


def _by_content(gone: list[Entry], came: list[Entry]) -> dict[str, str]:
    """{path now: path before} of equal, not empty content; of several the one with the same name comes first."""
    held: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in sorted(gone, key=lambda each: str(each["path"])):
        if entry.get("size", 1):
            held[_content(entry)].append(str(entry["path"]))
    pairs: dict[str, str] = {}
    for entry in sorted(came, key=lambda each: str(each["path"])):
        candidates = held.get(_content(entry))
        if candidates:
            path = str(entry["path"])
            name = path.rpartition("/")[2]
            chosen = next((each for each in candidates if each.rpartition("/")[2] == name), candidates[0])
            candidates.remove(chosen)
            pairs[path] = chosen
    return pairs


def _comparable(entry: Entry) -> bool:
    return "digest" in entry and 0 < entry.get("size", 0) <= CANDIDATE_BYTES


def _line_counts(
    entries: Iterable[Entry], read: Callable[[Entry], bytes | None]
) -> dict[str, Counter[bytes]]:
    found = {}
    for entry in entries:
        data = read(entry)
        if data and b"\0" not in data:
            found[str(entry["path"])] = Counter(line for line in data.split(b"\n") if line.strip())
    return {path: lines for path, lines in found.items() if lines}
