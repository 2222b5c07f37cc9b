"""GitLab, as version 4 of its REST API is documented."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from pipelines.work.hosts import standard_webhooks
from pipelines.work.hosts.answers import (
    is_other_repository,
    number_field,
    object_field,
    object_rows,
    safe_link,
    text_field,
)
from pipelines.work.hosts.errors import AlreadyOpen, HostError
from pipelines.work.hosts.hooks import (
    Headers,
    HookSenders,
    IssueEvent,
    PushEvent,
    parsed_push_event_or_none,
    time_field_or_none,
)
from pipelines.work.hosts.host import (
    CONTEXT,
    CheckState,
    CommitState,
    HostCheck,
    HostToken,
    MergeStatus,
    OpenedRequest,
    ReportedPush,
    RequestState,
    Thing,
    Way,
    merge_status_of,
    pushers_between,
    worst_foreign_checks,
)
from pipelines.work.hosts.host_caller import HostCaller
from pipelines.work.hosts.page import HostPage
from pipelines.work.outgoing.guard import Guard

# GitLab locks a request while it merges it: it is neither closed nor merged yet
STATES: Mapping[str, RequestState] = {"opened": "open", "locked": "open", "merged": "merged"}
# GitLab's number of the role from which a member may push
DEVELOPER = 30
MOST_PUSHES = 100
"""The newest of a project, of which is read who made them."""
PIPELINE = "pipeline"
"""The name of a whole pipeline among the checks."""
# Values of `detailed_merge_status` while GitLab itself has not finished looking
UNKNOWN = frozenset(("unchecked", "checking", "preparing", "approvals_syncing"))
CHECKS = frozenset(("ci_still_running", "ci_must_pass", "status_checks_must_pass"))
RULES: Mapping[str, str] = {
    "not_approved": "its rules ask for an approval there",
    "discussions_not_resolved": "threads of the merge request are not resolved",
    "draft_status": "it is a draft",
    "conflict": "it conflicts with the branch",
    "need_rebase": "it has to be rebased",
    "requested_changes": "a reviewer requested changes",
    "merge_request_blocked": "another merge request comes first",
}
"""What `detailed_merge_status` says, by rule."""
LONGEST_URL = 255
"""Of the link of a status."""


class GitLab:
    key, name, request, sign = "gitlab", "GitLab", "merge request", "!"
    servers = ("gitlab.com",)

    def __init__(self, page: HostPage, token: str, guard: Guard) -> None:
        self._page = page
        # The whole path is one part of the address: its slashes are escaped, too
        self._project = f"/projects/{quote(page.path, safe='')}"
        # A public project can be read without a token
        own = {"authorization": f"Bearer {token}"} if token else {}
        self._host = HostCaller(self.name, f"{page.origin}/api/v4", page.path, guard, own)

    async def can_push(self) -> bool:
        permissions = object_field(await self._host.call("GET", self._project), "permissions")
        levels = (
            number_field(object_field(permissions, access_kind), "access_level")
            for access_kind in ("project_access", "group_access")
        )
        return max(levels) >= DEVELOPER

    async def list_requests_between(self, head: str, base: str) -> list[OpenedRequest]:
        """A fork may have a branch of that name too: what comes from there is not ours."""
        path = f"{self._project}/merge_requests"
        merge_requests = await self._host.list_all(
            path, source_branch=head, target_branch=base, state="all", per_page=100
        )
        return [
            self._opened_request(merge_request)
            for merge_request in merge_requests
            if not _is_from_fork(merge_request)
        ]

    async def open_request(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        payload = {"source_branch": head, "target_branch": base, "title": title, "description": body}
        try:
            return self._opened_request(
                await self._host.call("POST", f"{self._project}/merge_requests", payload)
            )
        except HostError as error:
            # Conflict: a request between these two branches is open already
            if error.status == 409:
                raise AlreadyOpen(str(error), error.status) from error
            raise

    async def update_request_body(self, number: int, body: str) -> OpenedRequest:
        path = f"{self._project}/merge_requests/{number}"
        return self._opened_request(await self._host.call("PUT", path, {"description": body}))

    async def comments_since(self, kind: Thing, number: int, since: datetime) -> list[str]:
        """The latest hundred: it does not take a time."""
        notes = await self._host.call("GET", self._path_of_notes(kind, number), sort="desc", per_page=100)
        return [text_field(note, "body") for note in object_rows(notes)]

    async def add_comment(self, kind: Thing, number: int, text: str) -> None:
        await self._host.call("POST", self._path_of_notes(kind, number), {"body": text})

    def _path_of_notes(self, kind: Thing, number: int) -> str:
        return f"{self._project}/{'issues' if kind == 'issue' else 'merge_requests'}/{number}/notes"

    async def set_status(self, commit: str, state: CommitState, description: str, url: str) -> None:
        gitlab_state = {"pending": "pending", "success": "success", "failure": "failed"}[state]
        status = {"state": gitlab_state, "description": description[:255], "name": CONTEXT}
        # A status without its link is better than none: GitLab would refuse a longer one
        if len(url) <= LONGEST_URL:
            status["target_url"] = url
        try:
            await self._host.call("POST", f"{self._project}/statuses/{commit}", status)
        except HostError as error:
            # Pending already: it keeps its first words until it ends.
            if "Cannot transition status" not in str(error):
                raise

    async def checks_of_commit(self, commit: str) -> list[HostCheck]:
        """The jobs and statuses of a commit, and as `pipeline` its latest pipeline."""
        path = f"{self._project}/repository/commits/{commit}/statuses"
        statuses = await self._host.list_all(path, per_page=100)
        jobs = [
            HostCheck(text_field(status, "name"), _check_state(status), text_field(status, "target_url"))
            for status in statuses
        ]
        pipelines = await self._pipelines(commit)
        latest = [
            HostCheck(PIPELINE, _check_state(pipeline), text_field(pipeline, "web_url"))
            for pipeline in pipelines[:1]
        ]
        others = [job for job in jobs if job.name != CONTEXT]
        if len(others) < len(jobs) and others and all(job.state == "passed" for job in others):
            # Our own status is a job of the pipeline: that would wait for us, and we for it.
            latest = [
                replace(check, state="passed") for check in latest if check.state == "pending"
            ] or latest
        return worst_foreign_checks([*jobs, *latest])

    async def required_checks(self, branch: str) -> list[str]:
        """GitLab names no checks: what has to pass is the pipeline."""
        return [PIPELINE]

    async def enforced_checks(self, branch: str) -> list[str]:
        project = await self._host.call("GET", self._project)
        return [PIPELINE] if project.get("only_allow_merge_if_pipeline_succeeds") is True else []

    async def rerun_failed_checks_and_count(self, commit: str) -> int:
        """The failed and cancelled jobs of its latest pipeline."""
        latest = (await self._pipelines(commit))[:1]
        again = [
            number_field(job, "id") for job in latest if text_field(job, "status") in ("failed", "canceled")
        ]
        for job_id in again:
            await self._host.call("POST", f"{self._project}/pipelines/{job_id}/retry")
        return len(again)

    async def _pipelines(self, commit: str) -> list[Mapping[str, Any]]:
        """The latest first."""
        path = f"{self._project}/pipelines"
        return object_rows(await self._host.call("GET", path, sha=commit, order_by="id", sort="desc"))

    async def read_token_rights(self) -> HostToken:
        """A token that may not read about itself, such as one of a job, has no scopes to tell."""
        project = await self._host.call("GET", self._project)
        permissions = object_field(project, "permissions")
        levels = (
            number_field(object_field(permissions, access_kind), "access_level")
            for access_kind in ("project_access", "group_access")
        )
        level = max(levels)
        try:
            own = await self._host.call("GET", "/personal_access_tokens/self")
            scopes: tuple[str, ...] | None = tuple(
                scope for scope in own.get("scopes", ()) if isinstance(scope, str)
            )
        except HostError as error:
            if error.status not in (401, 403, 404):
                raise
            scopes = None
        may = level >= DEVELOPER and (None if scopes is None else "api" in scopes)
        return HostToken(level >= DEVELOPER, scopes, may, may, text_field(project, "default_branch"))

    async def branch_head_commit(self, branch: str) -> str:
        path = f"{self._project}/repository/branches/{quote(branch, safe='')}"
        return text_field(object_field(await self._host.call("GET", path), "commit"), "id")

    async def pushers_to_branch_between(self, branch: str, since: str, until: str) -> list[str]:
        """Return the pushers, from the last pushes to the whole project: GitLab lists them by branch nowhere."""
        events = await self._host.call(
            "GET", f"{self._project}/events", action="pushed", per_page=MOST_PUSHES, sort="desc"
        )
        pushes = (
            ReportedPush(
                text_field(event, "author_username"),
                text_field(data, "commit_from"),
                text_field(data, "commit_to"),
            )
            for event in object_rows(events)
            if text_field(data := object_field(event, "push_data"), "ref") == branch
            and text_field(data, "ref_type") == "branch"
        )
        return pushers_between(pushes, since, until)

    async def landing_way(self, branch: str) -> Way:
        path = f"{self._project}/repository/branches/{quote(branch, safe='')}"
        if (await self._host.call("GET", path)).get("protected") is not True:
            return "push"
        project = await self._host.call("GET", self._project)
        return "queue" if project.get("merge_trains_enabled") is True else "merge"

    async def merge_status(self, number: int, landing_way: Way, base: str) -> MergeStatus:
        merge_request = await self._host.call("GET", f"{self._project}/merge_requests/{number}")
        head, state = text_field(merge_request, "sha"), text_field(merge_request, "state")
        if state == "merged":  # by fast-forward there is no commit of its own
            landed = (
                text_field(merge_request, key) for key in ("merge_commit_sha", "squash_commit_sha", "sha")
            )
            return MergeStatus("merged", head, next(filter(None, landed), ""))
        if state == "closed":
            return MergeStatus("closed", head)
        if landing_way == "queue" and await self._in_train(number):
            return MergeStatus("queued", head)
        why = text_field(merge_request, "detailed_merge_status")
        if state == "locked" or why in UNKNOWN:
            return MergeStatus("waits", head, why="GitLab does not know yet whether it can be merged")
        if why in CHECKS:
            merge_status = merge_status_of([PIPELINE], await self.checks_of_commit(head), head)
            return (
                # GitLab still waits although no check of ours does: its word counts
                MergeStatus("waits", head, why=merge_status.why or why)
                if merge_status.state == "ready"
                else merge_status
            )
        # Empty where this GitLab does not tell `detailed_merge_status`: then only merging shows it
        if why not in ("mergeable", ""):
            return MergeStatus("refused", head, why=RULES.get(why, why.replace("_", " ")))
        return MergeStatus("ready", head)

    async def merge_request(
        self, number: int, head: str, landing_way: Way, squash: bool, message: str
    ) -> None:
        if landing_way == "queue":
            path = f"{self._project}/merge_trains/merge_requests/{number}"
            await self._host.call("POST", path, {"sha": head, "squash": squash})
            return
        # The message of a squash has another name in the API
        message_key = "squash_commit_message" if squash else "merge_commit_message"
        body = {"sha": head, "squash": squash, message_key: message}
        await self._host.call("PUT", f"{self._project}/merge_requests/{number}/merge", body)

    async def leave_merge_queue(self, number: int, landing_way: Way) -> None:
        """Off the train: it has no call of its own for that, and cancels what would merge by itself."""
        if landing_way == "queue" and await self._in_train(number):
            path = f"{self._project}/merge_requests/{number}/cancel_merge_when_pipeline_succeeds"
            await self._host.call("POST", path)

    async def _in_train(self, number: int) -> bool:
        try:
            train_entry = await self._host.call(
                "GET", f"{self._project}/merge_trains/merge_requests/{number}"
            )
        except HostError as error:
            # Not on the train, or there is none
            if error.status == 404:
                return False
            raise
        return text_field(train_entry, "status") in ("idle", "fresh", "stale", "merging")

    @staticmethod
    def is_signed(headers: Headers, body: bytes, secret: str) -> bool:
        """Return whether the sender knows the secret: by a signing token (`whsec_…`); a secret token alone is
        sent along, and signs nothing."""
        if secret.startswith(standard_webhooks.PREFIX):
            return standard_webhooks.is_signed(headers, body, secret)
        return hmac.compare_digest(secret.encode(), headers.get("x-gitlab-token", "").encode())

    @staticmethod
    def issue_events(headers: Headers, payload: Any) -> list[IssueEvent]:
        if text_field(payload, "object_kind") != "issue":
            return []
        issue, changes = object_field(payload, "object_attributes"), object_field(payload, "changes")
        if text_field(issue, "action") == "open":
            labels, people = (
                _row_texts(payload, "labels", "title"),
                _row_texts(payload, "assignees", "username"),
            )
        else:
            # A change tells all labels, old ones too: only what was added now is a trigger
            labels = _added_row_texts(object_field(changes, "labels"), "title")
            people = _added_row_texts(object_field(changes, "assignees"), "username")
        triggers: list[tuple[Literal["label", "assignee"], str]] = [("label", label) for label in labels]
        triggers += [("assignee", person) for person in people]
        return [
            IssueEvent(
                path=text_field(object_field(payload, "project"), "path_with_namespace"),
                number=number_field(issue, "iid"),
                url=text_field(issue, "url"),
                title=text_field(issue, "title"),
                body=text_field(issue, "description"),
                by=text_field(object_field(payload, "user"), "username"),
                on=on,
                value=value,
                at=time_field_or_none(issue, "updated_at"),
                author=_issue_author(payload),
                addresses=tuple(filter(None, (text_field(object_field(payload, "user"), "email"),))),
            )
            for on, value in triggers
        ]

    @staticmethod
    def senders_of_payload(payload: Any) -> HookSenders:
        user = object_field(payload, "user")
        logins = (text_field(user, "username"), text_field(payload, "user_username"), _issue_author(payload))
        are_all = bool(_issue_author(payload)) or not number_field(
            object_field(payload, "object_attributes"), "author_id"
        )
        return HookSenders(logins, (text_field(user, "email"), text_field(payload, "user_email")), are_all)

    @staticmethod
    def push_event(headers: Headers, payload: Any) -> PushEvent | None:
        if text_field(payload, "object_kind") != "push":
            return None
        path = text_field(object_field(payload, "project"), "path_with_namespace")
        return parsed_push_event_or_none(
            payload, path, (text_field(payload, "user_username"),), (text_field(payload, "user_email"),)
        )

    def _opened_request(self, merge_request: Mapping[str, Any]) -> OpenedRequest:
        which = number_field(merge_request, "iid")
        url = safe_link(text_field(merge_request, "web_url"), f"{self._page}/-/merge_requests/{which}")
        state = STATES.get(text_field(merge_request, "state"), "closed")
        return OpenedRequest(
            which, url, state, text_field(merge_request, "title"), text_field(merge_request, "description")
        )


def _check_state(status: Mapping[str, Any]) -> CheckState:
    """Return the state of a check: one that may fail has passed as soon as it ended, or while it waits for
    somebody to start it."""
    state, may_fail = text_field(status, "status"), status.get("allow_failure") is True
    if state in ("success", "skipped"):
        return "passed"
    if state in ("failed", "canceled"):
        return "passed" if may_fail else "failed"
    return "passed" if state == "manual" and may_fail else "pending"


def _is_from_fork(merge_request: Mapping[str, Any]) -> bool:
    return is_other_repository(
        number_field(merge_request, "source_project_id"), number_field(merge_request, "target_project_id")
    )


def _issue_author(payload: Any) -> str:
    """The user name of who wrote an issue. GitLab tells a number: it is that of who acts, or of an assignee, or ""."""
    author = number_field(object_field(payload, "object_attributes"), "author_id")
    assignees = payload.get("assignees") if isinstance(payload, Mapping) else None
    people = [object_field(payload, "user"), *object_rows(assignees)]
    return next(
        (
            text_field(person, "username")
            for person in people
            if author and number_field(person, "id") == author
        ),
        "",
    )


def _row_texts(payload: Any, key: str, name: str) -> list[str]:
    return [
        text_field(row, name)
        for row in object_rows(payload.get(key) if isinstance(payload, Mapping) else None)
    ]


def _added_row_texts(change: Mapping[str, Any], name: str) -> list[str]:
    before = _row_texts(change, "previous", name)
    return [entry for entry in _row_texts(change, "current", name) if entry not in before]
