"""Probe of what a connection to a repository can do: each fact with the time that it took, each failure with
its reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipelines.work.git.commits import TASK_BRANCHES, is_branch
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import ZERO, FetchTooLarge, References, Remote
from pipelines.work.git.repository_overview import MOST_FETCHED, read_overview
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.ecosystems import RepositoryFiles

Check = Literal["reach", "branch", "push", "files", "programs", "hosts", "host"]
SECONDS = 10.0
"""For which a server may be silent."""
MOST_REASONS = 3


@dataclass(frozen=True)
class ConnectionFact:
    """`said`: the fact. `commit`: of a branch. `warning`: what will not work all the same, with its remedy."""

    said: str = ""
    commit: str = ""
    warning: str = ""


@dataclass(frozen=True)
class ConnectionCheck:
    """`ok` None: it was not looked at, since something before it failed. `said`: the fact, or why not. `commit`,
    `warning`: as of the fact."""

    check: Check
    ok: bool | None
    said: str = ""
    commit: str = ""
    seconds: float = 0.0
    warning: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Probe:
    """The checks of one repository, one after the other, without changing anything: what one found, the next ones go
    by. `branch`: "" is the one of HEAD, or that of `settled` in a folder in which somebody works; `pushes`: whether
    pushing matters; `wanted`: names on top whose texts are read into `files`, which is None where they were not looked
    at."""

    remote: Remote
    branch: str
    pushes: bool
    wanted: Collection[str] = ()
    files: RepositoryFiles | None = None
    commit: str = ""
    settled: str = ""

    def run_all_checks(self) -> list[ConnectionCheck]:
        checks = self.connection_checks()
        checks.append(
            run_timed_check("files", self._read_overview_or_refuse)
            if self.commit
            else ConnectionCheck("files", None)
        )
        return checks

    def connection_checks(self) -> list[ConnectionCheck]:
        """The checks for which no files are fetched."""
        self.references = References({})
        checks = [run_timed_check("reach", self._references_fact)]
        reached = bool(checks[0].ok)
        checks.append(
            run_timed_check("branch", self._default_branch_fact)
            if reached
            else ConnectionCheck("branch", None)
        )
        if self.pushes:
            checks.append(
                run_timed_check("push", self._push_right_fact) if reached else ConnectionCheck("push", None)
            )
        return checks

    def _references_fact(self) -> ConnectionFact:
        self.references = self.remote.read_references()
        return ConnectionFact(str(len(self.references.branches)))

    def _default_branch_fact(self) -> ConnectionFact:
        references = self.references
        self.settled = self.remote.clone_branch()
        name = self.branch or self.settled or references.head
        commit = references.branch_commit(name)
        if not references.refs:
            raise GitRefused("The repository is empty. Push a first commit to it.")
        if not name:
            raise GitRefused("The repository does not say which branch is its default. Name one.")
        if not is_branch(name) or not commit:
            some = ", ".join(references.branches[:5])
            raise GitRefused(f"There is no branch {name}. The repository has: {some}.")
        # A SHA-1 has 40 hexadecimal digits, a SHA-256 64.
        if len(commit) != len(ZERO):
            raise GitRefused(
                "The repository names its objects by SHA-256, which is not taken. Connect one that does by SHA-1."
            )
        self.branch, self.commit = name, commit
        return ConnectionFact(name, commit)

    def _push_right_fact(self) -> ConnectionFact:
        if reason := self.remote.push_refusal():
            raise GitRefused(reason)
        if self.commit:
            self.remote.check_not_checked_out(self.branch)
        if not self.references.branch_commit(TASK_BRANCHES):
            return ConnectionFact()
        return ConnectionFact(
            warning=f"A branch is called {TASK_BRANCHES}: git takes none below that name beside it, so the branches of "
            "tasks cannot be pushed. Rename it, or name other branches in the settings of the line."
        )

    def _read_overview_or_refuse(self) -> ConnectionFact:
        try:
            overview = read_overview(self.remote, self.commit, self.wanted)
        except FetchTooLarge:
            return ConnectionFact(
                warning=f"More than {MOST_FETCHED // 1024**2} MB are not looked at: what is not taken is told "
                "by the first station, and its commands are not proposed. Enter them."
            )
        if overview.reasons:
            more = len(overview.reasons) - MOST_REASONS
            raise GitRefused(
                " ".join(
                    [*overview.reasons[:MOST_REASONS], *([f"So it is with {more} more."] if more > 0 else [])]
                )
            )
        self.files = overview.files
        return ConnectionFact(str(overview.count))


def run_timed_check(name: Check, look: Callable[[], ConnectionFact]) -> ConnectionCheck:
    began = time.monotonic()
    try:
        fact = look()
    except GitRefused as error:
        return ConnectionCheck(name, False, str(error), seconds=round(time.monotonic() - began, 1))
    seconds = round(time.monotonic() - began, 1)
    return ConnectionCheck(
        name,
        True,
        escaped_for_storage(fact.said),
        escaped_for_storage(fact.commit),
        seconds,
        escaped_for_storage(fact.warning),
    )
