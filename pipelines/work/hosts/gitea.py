"""Gitea and Forgejo, as version 1 of their API is documented: both speak the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from pipelines.work.hosts.answers import inner, link, number, of_fork, rows, text
from pipelines.work.hosts.calling import HostCaller
from pipelines.work.hosts.errors import AlreadyOpen, HostError
from pipelines.work.hosts.github import branch_pushed, issue_heard
from pipelines.work.hosts.hooks import Headers, IssueHeard, PushHeard, hexed
from pipelines.work.hosts.host import (
    CONTEXT,
    CheckState,
    CommitState,
    HostCheck,
    HostToken,
    MergeStanding,
    OpenedRequest,
    RequestState,
    Thing,
    Way,
    checked,
)
from pipelines.work.hosts.page import HostPage
from pipelines.work.outgoing.guard import Guard

LIMIT = 50
NO_MERGE = "Gateline does not use the merge call of Gitea and Forgejo yet."


class Gitea:
    key, name, request, sign = "gitea", "Gitea or Forgejo", "pull request", "#"
    servers = ("gitea.com", "codeberg.org")

    def __init__(self, page: HostPage, token: str, guard: Guard) -> None:
        self._page = page
        self._repo = f"/repos/{page.quoted}"
        own = {"authorization": f"token {token}"} if token else {}
        self._host = HostCaller(self.name, f"{page.origin}/api/v1", page.path, guard, own)

    async def look(self) -> bool:
        return inner(await self._host.call("GET", self._repo), "permissions").get("push") is True

    async def requests(self, head: str, base: str) -> list[OpenedRequest]:
        """It gives any one of those from one branch to another, and cannot list them: where there is one that is not
        open, all of the repository are looked through, the latest first."""
        path = f"{self._repo}/pulls"
        try:
            one = await self._host.call("GET", f"{path}/{quote(base, safe='')}/{quote(head, safe='')}")
        except HostError as error:
            if error.status == 404:
                return []
            raise
        if text(one, "state") == "open" and not of_fork(one):
            return [self._request(one)]
        found = await self._host.listed(path, state="all", sort="recentupdate", base_branch=base, limit=LIMIT)
        return [self._request(each) for each in found if _between(each, head, base)]

    async def open(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        said = {"head": head, "base": base, "title": title, "body": body}
        try:
            return self._request(await self._host.call("POST", f"{self._repo}/pulls", said))
        except HostError as error:
            if error.status == 409:
                raise AlreadyOpen(str(error), error.status) from error
            raise

    async def update(self, number: int, body: str) -> OpenedRequest:
        return self._request(await self._host.call("PATCH", f"{self._repo}/pulls/{number}", {"body": body}))

    async def comments(self, kind: Thing, number: int, since: datetime) -> list[str]:
        path = f"{self._repo}/issues/{number}/comments"
        return [text(each, "body") for each in rows(await self._host.call("GET", path, since=_second(since)))]

    async def comment(self, kind: Thing, number: int, text: str) -> None:
        await self._host.call("POST", f"{self._repo}/issues/{number}/comments", {"body": text})

    async def set_status(self, commit: str, state: CommitState, said: str, url: str) -> None:
        status = {"state": state, "description": said[:255], "target_url": url, "context": CONTEXT}
        await self._host.call("POST", f"{self._repo}/statuses/{commit}", status)

    async def checks(self, commit: str) -> list[HostCheck]:
        found = await self._host.listed(f"{self._repo}/commits/{commit}/status", "statuses", limit=LIMIT)
        return checked(
            HostCheck(text(each, "context"), _state(each), text(each, "target_url")) for each in found
        )

    async def required(self, branch: str) -> list[str]:
        said = await self._host.call("GET", f"{self._repo}/branches/{quote(branch, safe='')}")
        named = said.get("status_check_contexts") if isinstance(said, Mapping) else None
        if not isinstance(named, list) or said.get("enable_status_check") is not True:
            return []
        return [each for each in named if isinstance(each, str) and each and each != CONTEXT]

    async def demanded(self, branch: str) -> list[str]:
        return await self.required(branch)

    async def rerun(self, commit: str) -> int:
        """What it knows of a commit are statuses, which others set."""
        return 0

    async def token(self) -> HostToken:
        """It says nothing of scopes to a token that has no scope to read them."""
        said = await self._host.call("GET", self._repo)
        writes = inner(said, "permissions").get("push") is True
        return HostToken(
            writes, None, None if writes else False, None if writes else False, text(said, "default_branch")
        )

    async def tip(self, branch: str) -> str:
        said = await self._host.call("GET", f"{self._repo}/branches/{quote(branch, safe='')}")
        return text(inner(said, "commit"), "id")

    async def pushers(self, branch: str, since: str, until: str) -> list[str]:
        """Only its webhook tells of that."""
        return []

    async def way(self, branch: str) -> Way:
        """Its merge call is not built yet: what a rule refuses of a push is said."""
        return "push"

    async def standing(self, number: int, way: Way, base: str) -> MergeStanding:
        raise HostError(NO_MERGE)

    async def merge(self, number: int, head: str, way: Way, squash: bool, said: str) -> None:
        raise HostError(NO_MERGE)

    async def withdraw(self, number: int, way: Way) -> None:
        raise HostError(NO_MERGE)

    @staticmethod
    def signed(headers: Headers, body: bytes, secret: str) -> bool:
        said = headers.get("x-gitea-signature") or headers.get("x-forgejo-signature") or ""
        return hexed(body, secret, said)

    @staticmethod
    def heard(headers: Headers, said: Any) -> list[IssueHeard]:
        """It says which labels an issue has, and only newer ones which of them are new."""
        if (headers.get("x-gitea-event") or headers.get("x-forgejo-event")) != "issues":
            return []
        action, issue = text(said, "action"), inner(said, "issue")
        labels = [text(each, "name") for each in rows(issue.get("labels"))]
        people = [text(each, "login") for each in rows(issue.get("assignees"))]
        found: list[IssueHeard] = []
        if action in ("opened", "label_updated"):
            added = rows(inner(said, "changes").get("added_labels")) + rows([said.get("label")])
            new = [text(each, "name") for each in added]
            found += [issue_heard(said, "label", each, exact=each in new) for each in labels]
        if action in ("opened", "assigned"):
            found += [issue_heard(said, "assignee", each, exact=False) for each in people]
        return found

    @staticmethod
    def pushed(headers: Headers, said: Any) -> PushHeard | None:
        event = headers.get("x-gitea-event") or headers.get("x-forgejo-event")
        return branch_pushed(said) if event == "push" else None

    def _request(self, said: Mapping[str, Any]) -> OpenedRequest:
        state: RequestState = "open" if said.get("state") == "open" else "closed"
        if said.get("merged") is True:
            state = "merged"
        which = number(said, "number")
        url = link(text(said, "html_url"), f"{self._page}/pulls/{which}")
        return OpenedRequest(which, url, state, text(said, "title"), text(said, "body"))


def _state(said: Mapping[str, Any]) -> CheckState:
    """A warning is no success."""
    state = text(said, "status")
    return "passed" if state == "success" else "pending" if state == "pending" else "failed"


def _second(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _between(said: Mapping[str, Any], head: str, base: str) -> bool:
    """`ref` is no branch any more once that was deleted; `label` stays its name."""
    ours = (text(inner(said, "head"), "label"), text(inner(said, "base"), "ref")) == (head, base)
    return ours and not of_fork(said)
