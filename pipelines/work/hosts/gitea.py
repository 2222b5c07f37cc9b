"""Gitea and Forgejo, as version 1 of their API is documented: both speak the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from pipelines.work.hosts.answers import (
    is_from_fork,
    number_field,
    object_field,
    object_rows,
    safe_link,
    text_field,
)
from pipelines.work.hosts.errors import AlreadyOpen, HostError
from pipelines.work.hosts.github import github_issue_event, github_push_event_or_none, hook_senders
from pipelines.work.hosts.hooks import Headers, HookSenders, IssueEvent, PushEvent, is_valid_hmac
from pipelines.work.hosts.host import (
    CONTEXT,
    CheckState,
    CommitState,
    HostCheck,
    HostToken,
    MergeStatus,
    OpenedRequest,
    RequestState,
    Thing,
    Way,
    worst_foreign_checks,
)
from pipelines.work.hosts.host_caller import HostCaller
from pipelines.work.hosts.page import HostPage
from pipelines.work.outgoing.guard import Guard

LIMIT = 50
NO_MERGE = "Gateline does not use the merge call of Gitea and Forgejo yet."


class Gitea:
    key, name, request, sign = "gitea", "Gitea or Forgejo", "pull request", "#"
    servers = ("gitea.com", "codeberg.org")

    def __init__(self, page: HostPage, token: str, guard: Guard) -> None:
        self._page = page
        self._repo = f"/repos/{page.quoted_path}"
        own = {"authorization": f"token {token}"} if token else {}
        self._host = HostCaller(self.name, f"{page.origin}/api/v1", page.path, guard, own)

    async def can_push(self) -> bool:
        return object_field(await self._host.call("GET", self._repo), "permissions").get("push") is True

    async def list_requests_between(self, head: str, base: str) -> list[OpenedRequest]:
        """It gives any one of those from one branch to another, and cannot list them: where there is one that is not
        open, all of the repository are looked through, the latest first."""
        path = f"{self._repo}/pulls"
        try:
            one = await self._host.call("GET", f"{path}/{quote(base, safe='')}/{quote(head, safe='')}")
        except HostError as error:
            # There was never one between these branches.
            if error.status == 404:
                return []
            raise
        if text_field(one, "state") == "open" and not is_from_fork(one):
            return [self._opened_request(one)]
        pulls = await self._host.list_all(
            path, state="all", sort="recentupdate", base_branch=base, limit=LIMIT
        )
        return [self._opened_request(pull) for pull in pulls if _is_between(pull, head, base)]

    async def open_request(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        payload = {"head": head, "base": base, "title": title, "body": body}
        try:
            return self._opened_request(await self._host.call("POST", f"{self._repo}/pulls", payload))
        except HostError as error:
            if error.status == 409:
                raise AlreadyOpen(str(error), error.status) from error
            raise

    async def update_request_body(self, number: int, body: str) -> OpenedRequest:
        return self._opened_request(
            await self._host.call("PATCH", f"{self._repo}/pulls/{number}", {"body": body})
        )

    async def comments_since(self, kind: Thing, number: int, since: datetime) -> list[str]:
        path = f"{self._repo}/issues/{number}/comments"
        return [
            text_field(comment, "body")
            for comment in object_rows(await self._host.call("GET", path, since=_utc_second_text(since)))
        ]

    async def add_comment(self, kind: Thing, number: int, text: str) -> None:
        await self._host.call("POST", f"{self._repo}/issues/{number}/comments", {"body": text})

    async def set_status(self, commit: str, state: CommitState, description: str, url: str) -> None:
        status = {"state": state, "description": description[:255], "target_url": url, "context": CONTEXT}
        await self._host.call("POST", f"{self._repo}/statuses/{commit}", status)

    async def checks_of_commit(self, commit: str) -> list[HostCheck]:
        statuses = await self._host.list_all(f"{self._repo}/commits/{commit}/status", "statuses", limit=LIMIT)
        return worst_foreign_checks(
            HostCheck(text_field(status, "context"), _check_state(status), text_field(status, "target_url"))
            for status in statuses
        )

    async def required_checks(self, branch: str) -> list[str]:
        branch_info = await self._host.call("GET", f"{self._repo}/branches/{quote(branch, safe='')}")
        contexts = branch_info.get("status_check_contexts") if isinstance(branch_info, Mapping) else None
        if not isinstance(contexts, list) or branch_info.get("enable_status_check") is not True:
            return []
        return [
            # Our own status is not waited for.
            context
            for context in contexts
            if isinstance(context, str) and context and context != CONTEXT
        ]

    async def enforced_checks(self, branch: str) -> list[str]:
        return await self.required_checks(branch)

    async def rerun_failed_checks_and_count(self, commit: str) -> int:
        """Return 0: the statuses that Gitea knows of a commit are set by others."""
        return 0

    async def read_token_rights(self) -> HostToken:
        """It says nothing of scopes to a token that has no scope to read them."""
        repository = await self._host.call("GET", self._repo)
        writes = object_field(repository, "permissions").get("push") is True
        return HostToken(
            writes,
            None,
            None if writes else False,
            None if writes else False,
            text_field(repository, "default_branch"),
        )

    async def branch_head_commit(self, branch: str) -> str:
        branch_info = await self._host.call("GET", f"{self._repo}/branches/{quote(branch, safe='')}")
        return text_field(object_field(branch_info, "commit"), "id")

    async def pushers_to_branch_between(self, branch: str, since: str, until: str) -> list[str]:
        """Only its webhook tells of that."""
        return []

    async def landing_way(self, branch: str) -> Way:
        """Its merge call is not built yet: what a rule refuses of a push is said."""
        return "push"

    async def merge_status(self, number: int, landing_way: Way, base: str) -> MergeStatus:
        raise HostError(NO_MERGE)

    async def merge_request(
        self, number: int, head: str, landing_way: Way, squash: bool, message: str
    ) -> None:
        raise HostError(NO_MERGE)

    async def leave_merge_queue(self, number: int, landing_way: Way) -> None:
        raise HostError(NO_MERGE)

    @staticmethod
    def is_signed(headers: Headers, body: bytes, secret: str) -> bool:
        signature = headers.get("x-gitea-signature") or headers.get("x-forgejo-signature") or ""
        return is_valid_hmac(body, secret, signature)

    @staticmethod
    def issue_events(headers: Headers, payload: Any) -> list[IssueEvent]:
        """It says which labels an issue has, and only newer ones which of them are new."""
        if (headers.get("x-gitea-event") or headers.get("x-forgejo-event")) != "issues":
            return []
        action, issue = text_field(payload, "action"), object_field(payload, "issue")
        labels = [text_field(label, "name") for label in object_rows(issue.get("labels"))]
        people = [text_field(assignee, "login") for assignee in object_rows(issue.get("assignees"))]
        events: list[IssueEvent] = []
        if action in ("opened", "label_updated"):
            added = object_rows(object_field(payload, "changes").get("added_labels")) + object_rows(
                [payload.get("label")]
            )
            new = [text_field(label, "name") for label in added]
            events += [github_issue_event(payload, "label", label, exact=label in new) for label in labels]
        if action in ("opened", "assigned"):
            events += [github_issue_event(payload, "assignee", person, exact=False) for person in people]
        return events

    @staticmethod
    def senders_of_payload(payload: Any) -> HookSenders:
        return hook_senders(payload)

    @staticmethod
    def push_event(headers: Headers, payload: Any) -> PushEvent | None:
        event = headers.get("x-gitea-event") or headers.get("x-forgejo-event")
        return github_push_event_or_none(payload) if event == "push" else None

    def _opened_request(self, pull: Mapping[str, Any]) -> OpenedRequest:
        state: RequestState = "open" if pull.get("state") == "open" else "closed"
        if pull.get("merged") is True:
            state = "merged"
        which = number_field(pull, "number")
        url = safe_link(text_field(pull, "html_url"), f"{self._page}/pulls/{which}")
        return OpenedRequest(which, url, state, text_field(pull, "title"), text_field(pull, "body"))


def _check_state(status: Mapping[str, Any]) -> CheckState:
    """A warning is no success."""
    state = text_field(status, "status")
    return "passed" if state == "success" else "pending" if state == "pending" else "failed"


def _utc_second_text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_between(pull: Mapping[str, Any], head: str, base: str) -> bool:
    """`ref` is no branch any more once that was deleted; `label` stays its name."""
    ours = (
        text_field(object_field(pull, "head"), "label"),
        text_field(object_field(pull, "base"), "ref"),
    ) == (head, base)
    return ours and not is_from_fork(pull)
