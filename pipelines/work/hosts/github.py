"""GitHub and GitHub Enterprise Server, as its REST API of 2022-11-28 is documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal
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
from pipelines.work.hosts.hooks import (
    Headers,
    HookSenders,
    IssueEvent,
    PushEvent,
    is_valid_hmac,
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
from pipelines.work.hosts.host_caller import HostCaller, error_text
from pipelines.work.hosts.page import HostPage
from pipelines.work.outgoing.guard import Guard

PROTECTS = frozenset(
    ("pull_request", "required_status_checks", "update", "required_deployments", "workflows", "code_scanning")
)
"""Kinds of rules for which nobody pushes to a branch."""
PULL = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { id isInMergeQueue } }
}"""
ENQUEUE = """mutation($id: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { state } }
}"""
MOST_PUSHES = 100
"""To one branch, the newest, of which is read who made them."""
ENDED_BADLY = frozenset(("failure", "cancelled", "timed_out", "startup_failure"))
ACTIONS = "github-actions"
DEQUEUE = "mutation($id: ID!) { dequeuePullRequest(input: {id: $id}) { mergeQueueEntry { state } } }"


class GitHub:
    key, name, request, sign = "github", "GitHub", "pull request", "#"
    servers = ("github.com",)

    def __init__(
        self, page: HostPage, token: str, guard: Guard, granted: Mapping[str, Any] | None = None
    ) -> None:
        """`granted`: what an app may do, of which its repository says nothing."""
        self._page, self._granted = page, granted
        self._repo = f"/repos/{page.quoted_path}"
        self._host = HostCaller(self.name, api_url(page), page.path, guard, request_headers(token))
        # GraphQL is /api/graphql beside /api/v3 of a server, /graphql of api.github.com
        self._graphs = replace(self._host, base=api_url(page).removesuffix("/v3"))

    async def can_push(self) -> bool:
        repository = await self._host.call("GET", self._repo)
        if self._granted is not None:
            return all(
                self._granted.get(permission) == "write" for permission in ("contents", "pull_requests")
            )
        return object_field(repository, "permissions").get("push") is True

    async def list_requests_between(self, head: str, base: str) -> list[OpenedRequest]:
        """An owner may have forks of its own, whose branches are called alike."""
        pulls = await self._host.list_all(
            f"{self._repo}/pulls", head=f"{self._page.owner}:{head}", base=base, state="all", per_page=100
        )
        return [self._opened_request(pull) for pull in pulls if not is_from_fork(pull)]

    async def open_request(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        payload = {"title": title, "head": head, "base": base, "body": body}
        try:
            return self._opened_request(await self._host.call("POST", f"{self._repo}/pulls", payload))
        except HostError as error:
            # 422 is any refusal; only the words tell this one.
            if error.status == 422 and "already exists" in str(error):
                raise AlreadyOpen(str(error), error.status) from error
            raise

    async def update_request_body(self, number: int, body: str) -> OpenedRequest:
        path = f"{self._repo}/pulls/{number}"
        return self._opened_request(await self._host.call("PATCH", path, {"body": body}))

    async def comments_since(self, kind: Thing, number: int, since: datetime) -> list[str]:
        path = f"{self._repo}/issues/{number}/comments"
        comments = await self._host.list_all(
            path, since=since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), per_page=100
        )
        return [text_field(comment, "body") for comment in comments]

    async def add_comment(self, kind: Thing, number: int, text: str) -> None:
        await self._host.call("POST", f"{self._repo}/issues/{number}/comments", {"body": text})

    async def set_status(self, commit: str, state: CommitState, description: str, url: str) -> None:
        status = {"state": state, "description": description[:140], "target_url": url, "context": CONTEXT}
        await self._host.call("POST", f"{self._repo}/statuses/{commit}", status)

    async def checks_of_commit(self, commit: str) -> list[HostCheck]:
        """Return the check runs of apps, the latest of each, and the statuses of a commit."""
        at = f"{self._repo}/commits/{commit}"
        runs = await self._host.list_all(f"{at}/check-runs", "check_runs", filter="latest", per_page=100)
        statuses = await self._host.list_all(f"{at}/status", "statuses", per_page=100)
        checks = [
            HostCheck(text_field(run, "name"), _run_state(run), text_field(run, "html_url")) for run in runs
        ]
        checks += [
            HostCheck(text_field(status, "context"), _check_state(status), text_field(status, "target_url"))
            for status in statuses
        ]
        return worst_foreign_checks(checks)

    async def required_checks(self, branch: str) -> list[str]:
        """Return the required checks by rules, and by the protection of the branch; whoever may not see one
        of them sees the other."""
        name, checks = quote(branch, safe=""), []
        for rule in await self._host.list_all(f"{self._repo}/rules/branches/{name}", per_page=100):
            if text_field(rule, "type") == "required_status_checks":
                checks += object_rows(object_field(rule, "parameters").get("required_status_checks"))
        protection = object_field(await self._host.call("GET", f"{self._repo}/branches/{name}"), "protection")
        old = object_field(protection, "required_status_checks").get("contexts")
        contexts = [text_field(check, "context") for check in checks] + (old if isinstance(old, list) else [])
        return [
            context
            for context in dict.fromkeys(contexts)
            # Our own status is not waited for.
            if isinstance(context, str) and context and context != CONTEXT
        ]

    async def enforced_checks(self, branch: str) -> list[str]:
        return await self.required_checks(branch)

    async def rerun_failed_checks_and_count(self, commit: str) -> int:
        """Run again the failed jobs alone of GitHub's own workflows, and the whole suite of other apps: how
        much of it they run again is up to them."""
        path = f"{self._repo}/commits/{commit}/check-suites"
        suites = [
            suite
            for suite in await self._host.list_all(path, "check_suites", per_page=100)
            if _has_ended_badly(suite)
        ]
        others = [suite for suite in suites if text_field(object_field(suite, "app"), "slug") != ACTIONS]
        again = [f"check-suites/{number_field(suite, 'id')}/rerequest" for suite in others]
        # The rest are of GitHub's own workflows, of which the failed jobs alone run again.
        if len(others) < len(suites):
            path = f"{self._repo}/actions/runs"
            runs = await self._host.list_all(path, "workflow_runs", head_sha=commit, per_page=100)
            again += [
                f"actions/runs/{number_field(run, 'id')}/rerun-failed-jobs"
                for run in runs
                if _has_ended_badly(run)
            ]
        for endpoint in again:
            await self._host.call("POST", f"{self._repo}/{endpoint}")
        return len(again)

    async def read_token_rights(self) -> HostToken:
        """Return the token's rights. Of a classic token the answer's headers name its scopes; of a
        fine-grained one GitHub says nothing."""
        repository, headers = await self._host.get_answer_and_headers(self._repo)
        branch = text_field(repository, "default_branch")
        if self._granted is not None:
            granted = tuple(f"{name}: {how}" for name, how in sorted(self._granted.items()))
            status = self._granted.get("statuses") == "write"
            merges = all(
                self._granted.get(permission) == "write" for permission in ("contents", "pull_requests")
            )
            return HostToken(merges, granted, status, merges, branch)
        writes = object_field(repository, "permissions").get("push") is True
        if "x-oauth-scopes" not in headers:
            unknown = None if writes else False
            return HostToken(writes, None, unknown, unknown, branch)
        scopes = tuple(filter(None, (scope.strip() for scope in headers["x-oauth-scopes"].split(","))))
        code = "repo" in scopes or ("public_repo" in scopes and repository.get("private") is False)
        return HostToken(
            writes, scopes, writes and (code or "repo:status" in scopes), writes and code, branch
        )

    async def branch_head_commit(self, branch: str) -> str:
        branch_info = await self._host.call("GET", f"{self._repo}/branches/{quote(branch, safe='')}")
        return text_field(object_field(branch_info, "commit"), "sha")

    async def pushers_to_branch_between(self, branch: str, since: str, until: str) -> list[str]:
        activities = await self._host.call(
            "GET", f"{self._repo}/activity", ref=f"refs/heads/{branch}", per_page=MOST_PUSHES
        )
        pushes = (
            ReportedPush(
                text_field(object_field(activity, "actor"), "login"),
                text_field(activity, "before"),
                text_field(activity, "after"),
            )
            for activity in object_rows(activities)
        )
        return pushers_between(pushes, since, until)

    async def landing_way(self, branch: str) -> Way:
        """A rule that only keeps the branch from being deleted or rewritten is no hindrance to a push."""
        name = quote(branch, safe="")
        rules = await self._host.list_all(f"{self._repo}/rules/branches/{name}", per_page=100)
        kinds = {text_field(rule, "type") for rule in rules}
        if "merge_queue" in kinds:
            return "queue"
        old = object_field(await self._host.call("GET", f"{self._repo}/branches/{name}"), "protection")
        return "merge" if kinds & PROTECTS or old.get("enabled") is True else "push"

    async def merge_status(self, number: int, landing_way: Way, base: str) -> MergeStatus:
        pull = await self._host.call("GET", f"{self._repo}/pulls/{number}")
        head = text_field(object_field(pull, "head"), "sha")
        if pull.get("merged") is True:
            return MergeStatus("merged", head, text_field(pull, "merge_commit_sha"))
        if text_field(pull, "state") != "open":
            return MergeStatus("closed", head)
        if landing_way == "queue" and await self._is_in_merge_queue(number):
            return MergeStatus("queued", head)
        if pull.get("mergeable") is None:
            return MergeStatus("waits", head, why="GitHub does not know yet whether it can be merged")
        if pull.get("draft") is True:
            return MergeStatus("refused", head, why="it is a draft")
        if pull.get("mergeable") is False:
            return MergeStatus("refused", head, why=f"it conflicts with {base}")
        return merge_status_of(await self.required_checks(base), await self.checks_of_commit(head), head)

    async def merge_request(
        self, number: int, head: str, landing_way: Way, squash: bool, message: str
    ) -> None:
        if landing_way == "queue":
            known = await self._pull_request_by_graphql(PULL, number=number)
            await self._pull_request_by_graphql(ENQUEUE, id=text_field(known, "id"), head=head)
            return
        title, _line, rest = message.partition("\n")
        body = {"sha": head, "merge_method": await self._merge_method(squash)}
        # A rebase makes no commit that could get a message.
        if body["merge_method"] != "rebase":
            body |= {"commit_title": title, "commit_message": rest.strip()}
        await self._host.call("PUT", f"{self._repo}/pulls/{number}/merge", body)

    async def leave_merge_queue(self, number: int, landing_way: Way) -> None:
        if landing_way == "queue" and await self._is_in_merge_queue(number):
            await self._pull_request_by_graphql(
                DEQUEUE, id=text_field(await self._pull_request_by_graphql(PULL, number=number), "id")
            )

    async def _is_in_merge_queue(self, number: int) -> bool:
        return (await self._pull_request_by_graphql(PULL, number=number)).get("isInMergeQueue") is True

    async def _merge_method(self, squash: bool) -> str:
        """The one that the line asks for, if the repository allows it; else the first that it does."""
        repository = await self._host.call("GET", self._repo)
        methods = ("squash", "merge", "rebase") if squash else ("merge", "squash", "rebase")
        keys = {"merge": "allow_merge_commit", "squash": "allow_squash_merge", "rebase": "allow_rebase_merge"}
        # A token that may not read the settings is told nothing: then the host says no at the merge
        return next((method for method in methods if repository.get(keys[method]) is not False), methods[0])

    async def _pull_request_by_graphql(self, query: str, **arguments: str | int) -> Mapping[str, Any]:
        """The pull request of an answer. :raises HostError: also for what GraphQL answers with 200"""
        owner, _slash, name = self._page.path.partition("/")
        variables = {"owner": owner, "name": name, **arguments} if "$owner" in query else arguments
        response = await self._graphs.call("POST", "/graphql", {"query": query, "variables": variables})
        if faults := response.get("errors") if isinstance(response, Mapping) else None:
            raise HostError(f"{self.name} refused it. It says: {error_text(faults)}", 422)
        return object_field(object_field(object_field(response, "data"), "repository"), "pullRequest")

    @staticmethod
    def is_signed(headers: Headers, body: bytes, secret: str) -> bool:
        # `sha256=`, then the digest
        way, _, signature = headers.get("x-hub-signature-256", "").partition("=")
        return way == "sha256" and is_valid_hmac(body, secret, signature)

    @staticmethod
    def issue_events(headers: Headers, payload: Any) -> list[IssueEvent]:
        """Return the news of an issue: one that is opened with labels is reported once per label."""
        if headers.get("x-github-event") != "issues":
            return []
        action = text_field(payload, "action")
        if action == "labeled":
            return [github_issue_event(payload, "label", text_field(object_field(payload, "label"), "name"))]
        if action == "assigned":
            return [
                github_issue_event(
                    payload, "assignee", text_field(object_field(payload, "assignee"), "login")
                )
            ]
        return []

    @staticmethod
    def senders_of_payload(payload: Any) -> HookSenders:
        return hook_senders(payload)

    @staticmethod
    def push_event(headers: Headers, payload: Any) -> PushEvent | None:
        return github_push_event_or_none(payload) if headers.get("x-github-event") == "push" else None

    def _opened_request(self, pull: Mapping[str, Any]) -> OpenedRequest:
        state: RequestState = "open" if pull.get("state") == "open" else "closed"
        if pull.get("merged_at"):
            state = "merged"
        which = number_field(pull, "number")
        url = safe_link(text_field(pull, "html_url"), f"{self._page}/pull/{which}")
        return OpenedRequest(which, url, state, text_field(pull, "title"), text_field(pull, "body"))


def _run_state(run: Mapping[str, Any]) -> CheckState:
    """Skipped and neutral count as passed, as for GitHub's own rule; every other end is none."""
    if text_field(run, "status") != "completed":
        return "pending"
    return "passed" if text_field(run, "conclusion") in ("success", "neutral", "skipped") else "failed"


def _has_ended_badly(run: Mapping[str, Any]) -> bool:
    """Return whether a check suite, or the run of a workflow, ended badly."""
    return text_field(run, "status") == "completed" and text_field(run, "conclusion") in ENDED_BADLY


def _check_state(status: Mapping[str, Any]) -> CheckState:
    state = text_field(status, "state")
    return "passed" if state == "success" else "pending" if state == "pending" else "failed"


def github_push_event_or_none(payload: Any) -> PushEvent | None:
    """Read a push from a body as GitHub, Gitea and Forgejo send it."""
    pusher, sender = object_field(payload, "pusher"), object_field(payload, "sender")
    logins = (text_field(sender, "login"), text_field(pusher, "login"))
    return parsed_push_event_or_none(
        payload,
        text_field(object_field(payload, "repository"), "full_name"),
        logins,
        (text_field(pusher, "email"),),
    )


def hook_senders(payload: Any) -> HookSenders:
    """Read the people of a body as GitHub, Gitea and Forgejo send it."""
    sender, pusher = object_field(payload, "sender"), object_field(payload, "pusher")
    authors = [
        object_field(object_field(payload, part), "user")
        for part in ("issue", "comment", "pull_request", "review")
    ]
    logins = [text_field(person, "login") for person in (sender, pusher, *authors)]
    return HookSenders(tuple(logins), (text_field(sender, "email"), text_field(pusher, "email")))


def github_issue_event(
    payload: Any, on: Literal["label", "assignee"], value: str, exact: bool = True
) -> IssueEvent:
    """Read an issue from a body as GitHub, Gitea and Forgejo send it."""
    issue, sender = object_field(payload, "issue"), object_field(payload, "sender")
    author = object_field(issue, "user")
    return IssueEvent(
        path=text_field(object_field(payload, "repository"), "full_name"),
        number=number_field(issue, "number"),
        url=text_field(issue, "html_url"),
        title=text_field(issue, "title"),
        body=text_field(issue, "body"),
        by=text_field(sender, "login"),
        on=on,
        value=value,
        at=time_field_or_none(issue, "updated_at"),
        author=text_field(author, "login"),
        addresses=tuple(filter(None, (text_field(sender, "email"), text_field(author, "email")))),
        exact=exact,
    )


def api_url(page: HostPage) -> str:
    return "https://api.github.com" if page.server in GitHub.servers else f"{page.origin}/api/v3"


def request_headers(token: str) -> dict[str, str]:
    own = {"authorization": f"Bearer {token}"} if token else {}
    return {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28", **own}
