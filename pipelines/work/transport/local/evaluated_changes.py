"""The change that a station made of a past task, compared with the one that was accepted then."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.models import Delivery
from pipelines.work import storage
from pipelines.work.results.files import open_plain_file
from pipelines.work.transport.local.branch_states import BranchStates
from pipelines.work.transport.local.workspace_history import task_trees
from pipelines.work.transport.protocol import AttemptResults

MOST_FILES = 2_000
MOST_BYTES = 512 * 1024
"""Of a file whose lines are compared."""
# difflib takes at worst the square of this
MOST_LINES = 5_000
DIFFERENCE_CHARACTERS = 256 * 1024
CUT = "[gateline] The difference is cut here.\n"
Entries = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class AcceptedChange:
    """The files of a task as they were delivered, and which of them it had changed since its base."""

    entries: Entries
    changed: frozenset[str]


@dataclass(frozen=True)
class ComparedChange:
    """`files` that differ from what was accepted, with the lines that only one of the two has."""

    files: int
    added: int
    removed: int
    difference: str


def accepted_change_or_none(task_id: int) -> AcceptedChange | None:
    """Return the change of a task that landed; None where nothing did, or its files are not kept any more."""
    landed = Delivery.objects.filter(task=task_id, landed_at__isnull=False).select_related("job__task")
    delivery = landed.order_by("-landed_at").first()
    if delivery is None:
        return None
    token_id, moment = delivery.job.token_id, delivery.cleared_at
    stored = task_trees(task_id).digest_and_manifest_at_or_none(token_id, moment)
    changed = BranchStates(delivery.job.task).base_entries_of_changed_files_or_none(token_id, moment)
    if stored is None or changed is None:
        return None
    return AcceptedChange(_entries_by_path(stored[1]), frozenset(changed))


def change_compared_with_accepted(
    attempt_results: AttemptResults, accepted: AcceptedChange
) -> ComparedChange:
    """Compare the files that one of the two changes touches. In a thread, while the workspace still stands."""
    assert attempt_results.git is not None and attempt_results.workspace is not None
    entries = _entries_by_path(attempt_results.workspace.manifest)
    paths = sorted(accepted.changed | set(attempt_results.git.before))
    differing = [
        path for path in paths if _content_key(accepted.entries.get(path)) != _content_key(entries.get(path))
    ]
    digests = [str(accepted.entries.get(path, {}).get("digest", "")) for path in differing]
    # All by one statement, however many files differ
    names = storage.storage_names_by_digest(digest for digest in digests if digest)
    pieces, added, removed = list[str](), 0, 0
    # Only their lines are left out: the count is of all that differ
    for path in differing[:MOST_FILES]:
        old = _accepted_lines_or_none(accepted.entries.get(path), names)
        new = _new_lines_or_none(entries.get(path), attempt_results)
        lines = list(_unified_lines(path, old, new))
        # The first two lines name the file, by the same signs
        added += sum(line.startswith("+") for line in lines[2:])
        removed += sum(line.startswith("-") for line in lines[2:])
        pieces += lines
    return ComparedChange(len(differing), added, removed, _joined_until_limit(pieces))


def _entries_by_path(manifest: Any) -> Entries:
    return {str(entry["path"]): entry for entry in manifest if not entry.get("folder")}


def _content_key(entry: Mapping[str, Any] | None) -> Any:
    """Return what git would tell apart: the bytes, whether it is a program, or where a link leads."""
    if entry is None:
        return None
    return entry["link"] if "link" in entry else (entry["digest"], bool(entry["mode"] & 0o100))


def _accepted_lines_or_none(entry: Mapping[str, Any] | None, names: Mapping[str, str]) -> list[str] | None:
    if entry is None or "link" in entry:
        return [] if entry is None else [f"{entry['link']}\n"]
    name = names.get(entry["digest"])
    if name is None or entry["size"] > MOST_BYTES:
        return None
    with storage.artifact_storage().open(name, "rb") as file:
        return _text_lines_or_none(file.read(MOST_BYTES + 1))


def _new_lines_or_none(entry: Mapping[str, Any] | None, attempt_results: AttemptResults) -> list[str] | None:
    if entry is None or "link" in entry:
        return [] if entry is None else [f"{entry['link']}\n"]
    source = attempt_results.files.get(entry["digest"])
    if source is None or entry["size"] > MOST_BYTES:
        return None
    with open_plain_file(attempt_results.root, source[0]) as file:
        return _text_lines_or_none(file.read(MOST_BYTES + 1))


def _text_lines_or_none(data: bytes) -> list[str] | None:
    """Return the lines of a text, each with its end; None of what is no text, or too long to be compared."""
    # By a NUL git, too, tells what is no text
    if b"\0" in data or len(data) > MOST_BYTES:
        return None
    lines = [f"{line}\n" for line in data.decode(errors="replace").splitlines()]
    return lines if len(lines) <= MOST_LINES else None


def _unified_lines(path: str, old: list[str] | None, new: list[str] | None) -> Iterator[str]:
    yield f"--- {path} (accepted)\n"
    yield f"+++ {path} (evaluated)\n"
    if old is None or new is None:
        yield "No text that can be compared by its lines\n"
        return
    # Its own two first lines name no file
    lines = difflib.unified_diff(old, new)
    next(lines, None)
    next(lines, None)
    yield from lines


def _joined_until_limit(pieces: list[str]) -> str:
    room, text = DIFFERENCE_CHARACTERS, list[str]()
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            return "".join([*text, CUT])
        text.append(piece)
    return "".join(text)
