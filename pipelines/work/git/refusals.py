"""Refusals of actions on a repository, each a sentence with its remedy."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.work.results.text import escaped_for_storage

PREPARE_FAILED, MERGE_CONFLICT = "prepare_failed", "merge_conflict"
BASE_MOVED, NOT_APPROVED, PUSH_REFUSED = "base_moved", "not_approved", "push_refused"
BRANCH_CHANGED, NOTHING_DONE = "branch_changed", "nothing_done"


class GitRefused(Exception):
    """`failure_type` as an outcome has it; `paths` are the files that it is about. What a server or a repository says
    in the message is written so that any store takes it."""

    def __init__(self, message: str, failure_type: str = PREPARE_FAILED, paths: Iterable[str] = ()) -> None:
        self.failure_type, self.paths = failure_type, tuple(paths)
        super().__init__(escaped_for_storage(message))


def list_of_first_paths(paths: Iterable[str]) -> str:
    """The first of them, for a sentence."""
    all_paths = list(paths)
    return ", ".join(all_paths[:5]) + (f" and {len(all_paths) - 5} more" if len(all_paths) > 5 else "")
