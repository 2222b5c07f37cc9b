"""What Gateline asks of a host: the same words for GitHub, GitLab, Gitea and Forgejo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pipelines.work.hosts.hooks import Headers, IssueHeard, PushHeard

RequestState = Literal["open", "closed", "merged"]
CommitState = Literal["pending", "success", "failure"]
Thing = Literal["issue", "request"]


CheckState = Literal["pending", "passed", "failed"]


@dataclass(frozen=True)
class HostCheck:
    """What a host says of one check of a commit, the last time that it ran."""

    name: str
    state: CheckState
    url: str = ""


@dataclass(frozen=True)
class OpenedRequest:
    """A pull or merge request as its host has it."""

    number: int
    url: str
    state: RequestState
    title: str
    body: str


class Host(Protocol):
    """One repository on its host. Every call may raise HostError."""

    key: str
    name: str
    request: str
    """What it calls a request: pull request, merge request."""
    sign: str
    """Before the number of a request: # or !"""

    async def look(self) -> bool:
        """It is there; whether the token may push."""

    async def requests(self, head: str, base: str) -> list[OpenedRequest]:
        """From one branch to another, in whatever state; open ones are never left out."""

    async def open(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        """:raises AlreadyOpen: there is one that is open"""

    async def update(self, number: int, body: str) -> OpenedRequest: ...

    async def comments(self, kind: Thing, number: int, since: datetime) -> list[str]:
        """Texts of what was said of an issue or a request since then, as far as can be told more."""

    async def comment(self, kind: Thing, number: int, text: str) -> None: ...

    async def set_status(self, commit: str, state: CommitState, said: str, url: str) -> None:
        """Of Gateline, on a commit: the last one counts."""

    async def checks(self, commit: str) -> list[HostCheck]:
        """Of a commit, each by its name once, but for ours."""

    async def required(self, branch: str) -> list[str]:
        """Names of the checks that it requires before anything is merged into a branch."""

    @staticmethod
    def signed(headers: Headers, body: bytes, secret: str, now: datetime) -> bool:
        """Whether this came from who knows the secret."""

    @staticmethod
    def heard(headers: Headers, said: Any) -> list[IssueHeard]:
        """What it says of an issue; nothing of all else."""

    @staticmethod
    def pushed(headers: Headers, said: Any) -> PushHeard | None:
        """The branch that was pushed; None of all else."""


CONTEXT = "gateline"
"""The name of our status."""


def checked(found: Iterable[HostCheck]) -> list[HostCheck]:
    """Each name once: where two checks have the same, the worst of them counts. Ours is not waited for."""
    worst: dict[str, HostCheck] = {}
    for each in found:
        known = worst.get(each.name)
        if each.name and each.name != CONTEXT and (known is None or BAD[each.state] > BAD[known.state]):
            worst[each.name] = each
    return list(worst.values())


BAD: Mapping[CheckState, int] = {"passed": 0, "pending": 1, "failed": 2}


def text(said: Any, key: str) -> str:
    """A text of an answer; "" where it is missing or null."""
    found = said.get(key) if isinstance(said, Mapping) else None
    return found if isinstance(found, str) else ""


def number(said: Any, key: str) -> int:
    found = said.get(key) if isinstance(said, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def inner(said: Any, key: str) -> Mapping[str, Any]:
    found = said.get(key) if isinstance(said, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def rows(said: Any) -> list[Mapping[str, Any]]:
    return [each for each in said if isinstance(each, Mapping)] if isinstance(said, list) else []


def differs(source: int, target: int) -> bool:
    """Whether they are two repositories; one that is not said may be anybody's."""
    return source != target or not source


def of_fork(said: Mapping[str, Any]) -> bool:
    """Whether a pull request comes from another repository, or from one that is gone: anybody may name a branch there
    like ours. As GitHub, Gitea and Forgejo say it."""
    ids = [number(inner(inner(said, each), "repo"), "id") for each in ("head", "base")]
    return differs(ids[0], ids[1])


def link(said: str, otherwise: str) -> str:
    """An address that a page may link to."""
    return said if said.startswith(("https://", "http://")) and len(said) <= 1000 else otherwise
