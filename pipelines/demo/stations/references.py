"""Which commit a revision means, given what a repository advertises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .report import StationError

NUMBER = re.compile(r"[0-9a-f]{4,64}")
FULL = (40, 64)  # hexadecimal digits of a SHA-1 and of a SHA-256 commit


@dataclass(frozen=True)
class Wanted:
    """What to fetch: `ref` (a full name) or, with None, the number in `commit`, which is abbreviated if not
    `complete`; `branch` is its short name where the revision is a branch."""

    commit: str
    ref: str | None = None
    branch: str = ""

    @property
    def complete(self) -> bool:
        return len(self.commit) in FULL


def wanted(refs: Mapping[str, str], head: str, revision: str) -> Wanted:
    """`revision` among `refs` (full name → number); `head` is the branch that HEAD points to, or empty.

    A branch goes before a tag of the same name, a name before a number.

    :raises StationError: `no_such_revision`.
    """
    if not refs:
        raise StationError("The repository has no commit yet.", "no_such_revision")
    if revision == "HEAD" and "HEAD" in refs:
        return Wanted(refs["HEAD"], "HEAD", head.removeprefix("refs/heads/"))
    for name in (f"refs/heads/{revision}", f"refs/tags/{revision}", f"refs/remotes/{revision}", revision):
        if name in refs and name.startswith("refs/"):
            return Wanted(refs[name], name, name.removeprefix("refs/heads/") if "/heads/" in name else "")
    if NUMBER.fullmatch(revision.lower()):
        return Wanted(revision.lower())
    raise not_there(revision, refs)


def not_there(revision: str, refs: Mapping[str, str]) -> StationError:
    branches = sorted(name.removeprefix("refs/heads/") for name in refs if name.startswith("refs/heads/"))
    known = ", ".join(branches[:10]) or "none"
    return StationError(
        f"The repository has no branch, tag or commit “{revision}”. Its branches: {known}.",
        "no_such_revision",
    )
