"""Interface of a host, what Gateline asks of it: the same words for GitHub, GitLab, Gitea and Forgejo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from pipelines.work.hosts.hooks import Headers, HookSenders, IssueEvent, PushEvent

RequestState = Literal["open", "closed", "merged"]
CommitState = Literal["pending", "success", "failure"]
Thing = Literal["issue", "request"]


CheckState = Literal["pending", "passed", "failed"]


@dataclass(frozen=True)
class HostCheck:
    """Last run of one check of a commit, as a host reports it."""

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


@dataclass(frozen=True)
class HostToken:
    """Rights of a token, as a host reports them. `scopes`: None where it says nothing of them. `status`,
    `merge`: whether it may set a status and merge; None where only trying shows it."""

    writes: bool
    scopes: tuple[str, ...] | None
    status: bool | None
    merge: bool | None
    default_branch: str


Way = Literal["push", "merge", "queue"]
MergeState = Literal["ready", "waits", "queued", "merged", "closed", "refused"]


@dataclass(frozen=True)
class MergeStatus:
    """State of a request to be merged. `waits`: for its checks, or until the host knows; `why`: in its words,
    or the rule by name. `head`: what it merges; `commit`: what it landed as."""

    state: MergeState
    head: str
    commit: str = ""
    why: str = ""


class Host(Protocol):
    """Repository on its host. Every call may raise HostError."""

    key: str
    name: str
    request: str
    """What it calls a request: pull request, merge request."""
    sign: str
    """Before the number of a request: # or !"""

    async def can_push(self) -> bool:
        """Return whether the token may push. :raises HostError: the repository cannot be read"""

    async def list_requests_between(self, head: str, base: str) -> list[OpenedRequest]:
        """Return the requests from one branch to another, in whatever state; open ones are never left out."""

    async def open_request(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        """:raises AlreadyOpen: there is one that is open"""

    async def update_request_body(self, number: int, body: str) -> OpenedRequest: ...

    async def comments_since(self, kind: Thing, number: int, since: datetime) -> list[str]:
        """Texts of what was said of an issue or a request since then, as far as can be told more."""

    async def add_comment(self, kind: Thing, number: int, text: str) -> None: ...

    async def set_status(self, commit: str, state: CommitState, description: str, url: str) -> None:
        """Set the status of Gateline on a commit: the last one counts."""

    async def checks_of_commit(self, commit: str) -> list[HostCheck]:
        """Return the checks of a commit, each by its name once, except ours."""

    async def required_checks(self, branch: str) -> list[str]:
        """Names of the checks that it requires before anything is merged into a branch."""

    async def enforced_checks(self, branch: str) -> list[str]:
        """Return the checks that the host itself enforces for a branch, without those that Gateline waits for
        where nothing is required."""

    async def rerun_failed_checks_and_count(self, commit: str) -> int:
        """Ask it to run again what failed of a commit; of how many suites, runs or pipelines that was. What others
        report as a status it cannot run. :raises HostError: it does not, in its words"""

    async def read_token_rights(self) -> HostToken:
        """Found out by reading alone."""

    async def branch_head_commit(self, branch: str) -> str:
        """The commit of a branch."""

    async def pushers_to_branch_between(self, branch: str, since: str, until: str) -> list[str]:
        """User names of who pushed to a branch since it stood at one commit, and until it stood at another, as the host
        authenticated them; nobody where it does not tell of that."""

    async def landing_way(self, branch: str) -> Way:
        """Return how something lands on a branch: by a push, or, where it is protected, by the host's merge
        call or queue."""

    async def merge_status(self, number: int, landing_way: Way, base: str) -> MergeStatus: ...

    async def merge_request(
        self, number: int, head: str, landing_way: Way, squash: bool, message: str
    ) -> None:
        """Merge a request, or put it into the queue, if its branch still ends with `head`. `message`: of the
        commit, where one is made. :raises HostError: the rule that forbids it, as the host says it"""

    async def leave_merge_queue(self, number: int, merge_way: Way) -> None:
        """Out of the queue, if it is there."""

    @staticmethod
    def is_signed(headers: Headers, body: bytes, secret: str) -> bool:
        """Return whether the sender of this knows the secret."""

    @staticmethod
    def issue_events(headers: Headers, payload: Any) -> list[IssueEvent]:
        """Return the host's news of an issue; nothing for any other event."""

    @staticmethod
    def senders_of_payload(payload: Any) -> HookSenders:
        """Return the people of a delivery, whatever event it tells of."""

    @staticmethod
    def push_event(headers: Headers, payload: Any) -> PushEvent | None:
        """The branch that was pushed; None of all else."""


CONTEXT = "gateline"
"""The name of our status."""


@dataclass(frozen=True)
class ReportedPush:
    """Push to a branch, as its host reports it."""

    login: str
    before: str
    after: str


def pushers_between(pushes: Iterable[ReportedPush], since: str, until: str) -> list[str]:
    """Return the pushers of these pushes, the newest first: nobody where the last one is not there yet."""
    logins: list[str] = []
    inside = False
    for push in pushes:
        # Newest first: pushes after `until` are passed over
        inside = inside or push.after == until
        # This push led to `since` itself, and belongs to what was before
        if inside and push.after == since:
            break
        if inside and push.login:
            logins.append(push.login)
        if inside and push.before == since:
            break
    return list(dict.fromkeys(logins))


def worst_foreign_checks(checks: Iterable[HostCheck]) -> list[HostCheck]:
    """Return the checks with each name once: where two share a name, the worse one counts. Gateline's own
    check is left out."""
    worst: dict[str, HostCheck] = {}
    for check in checks:
        known = worst.get(check.name)
        if check.name and check.name != CONTEXT and (known is None or BAD[check.state] > BAD[known.state]):
            worst[check.name] = check
    return list(worst.values())


BAD: Mapping[CheckState, int] = {"passed": 0, "pending": 1, "failed": 2}


def merge_status_of(required: Iterable[str], checks: Iterable[HostCheck], head: str) -> MergeStatus:
    """Return the merge status that follows from the required checks of a commit: ready, waiting or refused."""
    known = {check.name: check.state for check in checks}
    failed = [name for name in required if known.get(name) == "failed"]
    if failed:
        return MergeStatus("refused", head, why=f"{', '.join(failed)} failed")
    # A required check that has not reported yet is waited for like one that runs
    left = [name for name in required if known.get(name, "pending") == "pending"]
    return (
        MergeStatus("waits", head, why=f"waits for {', '.join(left)}") if left else MergeStatus("ready", head)
    )
