"""What a connection to a repository can do: each fact with the time that it took, each failure with why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pipelines.work.git.commits import is_branch
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import References, Remote
from pipelines.work.results.text import escaped

Check = Literal["reach", "branch", "push", "host"]
SECONDS = 10.0
"""For which a server may be silent."""


@dataclass(frozen=True)
class ConnectionCheck:
    """`ok` None: it was not looked at, since something before it failed. `said`: the fact, or why not. `commit`: of a
    branch."""

    check: Check
    ok: bool | None
    said: str = ""
    commit: str = ""
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def probe(remote: Remote, branch: str, pushes: bool) -> list[ConnectionCheck]:
    """Without changing anything. `branch`: "" is the one of HEAD; `pushes`: whether pushing matters."""
    asked: list[References] = []

    def reach() -> tuple[str, str]:
        asked.append(remote.references())
        return str(len(asked[0].branches)), ""

    def default() -> tuple[str, str]:
        refs = asked[0]
        name = branch or refs.head
        if not refs.refs:
            raise GitRefused("The repository is empty. Push a first commit to it.")
        if not name:
            raise GitRefused("The repository does not say which branch is its default. Name one.")
        if not is_branch(name) or not refs.branch(name):
            raise GitRefused(
                f"There is no branch {name}. The repository has: {', '.join(refs.branches[:5])}."
            )
        return name, refs.branch(name)

    def push() -> tuple[str, str]:
        if why := remote.may_push():
            raise GitRefused(why)
        return "", ""

    checks: list[tuple[Check, Callable[[], tuple[str, str]]]] = [("reach", reach), ("branch", default)]
    found: list[ConnectionCheck] = []
    if pushes:
        checks.append(("push", push))
    for name, look in checks:
        if found and not found[0].ok:
            found.append(ConnectionCheck(name, None))
            continue
        found.append(_timed(name, look))
    return found


def _timed(name: Check, look: Callable[[], tuple[str, str]]) -> ConnectionCheck:
    began = time.monotonic()
    try:
        said, commit = look()
    except GitRefused as error:
        return ConnectionCheck(name, False, str(error), seconds=round(time.monotonic() - began, 1))
    return ConnectionCheck(name, True, escaped(said), escaped(commit), round(time.monotonic() - began, 1))
