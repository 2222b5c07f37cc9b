"""GitHub and GitHub Enterprise Server, as its REST API of 2022-11-28 is documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote

from pipelines.work.hosts.answers import inner, link, number, of_fork, rows, text
from pipelines.work.hosts.calling import HostCaller, told
from pipelines.work.hosts.errors import AlreadyOpen, HostError
from pipelines.work.hosts.hooks import Headers, IssueHeard, PushHeard, hexed, moment, push_heard
from pipelines.work.hosts.host import (
    CONTEXT,
    CheckState,
    CommitState,
    HostCheck,
    HostToken,
    MergeStanding,
    OpenedRequest,
    PushTold,
    RequestState,
    Thing,
    Way,
    checked,
    pushers_between,
    waiting,
)
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
        self._repo = f"/repos/{page.quoted}"
        self._host = HostCaller(self.name, api_of(page), page.path, guard, headers(token))
        self._graphs = replace(self._host, base=api_of(page).removesuffix("/v3"))

    async def look(self) -> bool:
        said = await self._host.call("GET", self._repo)
        if self._granted is not None:
            return all(self._granted.get(each) == "write" for each in ("contents", "pull_requests"))
        return inner(said, "permissions").get("push") is True

    async def requests(self, head: str, base: str) -> list[OpenedRequest]:
        """An owner may have forks of its own, whose branches are called alike."""
        found = await self._host.listed(
            f"{self._repo}/pulls", head=f"{self._page.owner}:{head}", base=base, state="all", per_page=100
        )
        return [self._request(each) for each in found if not of_fork(each)]

    async def open(self, head: str, base: str, title: str, body: str) -> OpenedRequest:
        said = {"title": title, "head": head, "base": base, "body": body}
        try:
            return self._request(await self._host.call("POST", f"{self._repo}/pulls", said))
        except HostError as error:
            if error.status == 422 and "already exists" in str(error):
                raise AlreadyOpen(str(error), error.status) from error
            raise

    async def update(self, number: int, body: str) -> OpenedRequest:
        path = f"{self._repo}/pulls/{number}"
        return self._request(await self._host.call("PATCH", path, {"body": body}))

    async def comments(self, kind: Thing, number: int, since: datetime) -> list[str]:
        path = f"{self._repo}/issues/{number}/comments"
        found = await self._host.listed(
            path, since=since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), per_page=100
        )
        return [text(each, "body") for each in found]

    async def comment(self, kind: Thing, number: int, text: str) -> None:
        await self._host.call("POST", f"{self._repo}/issues/{number}/comments", {"body": text})

    async def set_status(self, commit: str, state: CommitState, said: str, url: str) -> None:
        status = {"state": state, "description": said[:140], "target_url": url, "context": CONTEXT}
        await self._host.call("POST", f"{self._repo}/statuses/{commit}", status)

    async def checks(self, commit: str) -> list[HostCheck]:
        """HostCheck runs of apps, the latest of each, and statuses."""
        at = f"{self._repo}/commits/{commit}"
        runs = await self._host.listed(f"{at}/check-runs", "check_runs", filter="latest", per_page=100)
        statuses = await self._host.listed(f"{at}/status", "statuses", per_page=100)
        found = [HostCheck(text(each, "name"), _ran(each), text(each, "html_url")) for each in runs]
        found += [
            HostCheck(text(each, "context"), _state(each), text(each, "target_url")) for each in statuses
        ]
        return checked(found)

    async def required(self, branch: str) -> list[str]:
        """By rules, and by the protection of the branch; who may not see one of them sees the other."""
        name, found = quote(branch, safe=""), []
        for rule in await self._host.listed(f"{self._repo}/rules/branches/{name}", per_page=100):
            if text(rule, "type") == "required_status_checks":
                found += rows(inner(rule, "parameters").get("required_status_checks"))
        protection = inner(await self._host.call("GET", f"{self._repo}/branches/{name}"), "protection")
        old = inner(protection, "required_status_checks").get("contexts")
        named = [text(each, "context") for each in found] + (old if isinstance(old, list) else [])
        return [each for each in dict.fromkeys(named) if isinstance(each, str) and each and each != CONTEXT]

    async def demanded(self, branch: str) -> list[str]:
        return await self.required(branch)

    async def rerun(self, commit: str) -> int:
        """Of its own workflows the failed jobs alone, of other apps the whole suite: how much of it they run again is
        up to them."""
        path = f"{self._repo}/commits/{commit}/check-suites"
        suites = [
            each for each in await self._host.listed(path, "check_suites", per_page=100) if _ended_badly(each)
        ]
        others = [each for each in suites if text(inner(each, "app"), "slug") != ACTIONS]
        again = [f"check-suites/{number(each, 'id')}/rerequest" for each in others]
        if len(others) < len(suites):
            path = f"{self._repo}/actions/runs"
            runs = await self._host.listed(path, "workflow_runs", head_sha=commit, per_page=100)
            again += [
                f"actions/runs/{number(each, 'id')}/rerun-failed-jobs" for each in runs if _ended_badly(each)
            ]
        for each in again:
            await self._host.call("POST", f"{self._repo}/{each}")
        return len(again)

    async def token(self) -> HostToken:
        """Of a classic token the answer's headers name its scopes; of a fine-grained one GitHub says nothing."""
        said, headers = await self._host.asked(self._repo)
        branch = text(said, "default_branch")
        if self._granted is not None:
            granted = tuple(f"{name}: {how}" for name, how in sorted(self._granted.items()))
            status = self._granted.get("statuses") == "write"
            merges = all(self._granted.get(each) == "write" for each in ("contents", "pull_requests"))
            return HostToken(merges, granted, status, merges, branch)
        writes = inner(said, "permissions").get("push") is True
        if "x-oauth-scopes" not in headers:
            unknown = None if writes else False
            return HostToken(writes, None, unknown, unknown, branch)
        scopes = tuple(filter(None, (each.strip() for each in headers["x-oauth-scopes"].split(","))))
        code = "repo" in scopes or ("public_repo" in scopes and said.get("private") is False)
        return HostToken(
            writes, scopes, writes and (code or "repo:status" in scopes), writes and code, branch
        )

    async def tip(self, branch: str) -> str:
        said = await self._host.call("GET", f"{self._repo}/branches/{quote(branch, safe='')}")
        return text(inner(said, "commit"), "sha")

    async def pushers(self, branch: str, since: str, until: str) -> list[str]:
        said = await self._host.call(
            "GET", f"{self._repo}/activity", ref=f"refs/heads/{branch}", per_page=MOST_PUSHES
        )
        pushes = (
            PushTold(text(inner(each, "actor"), "login"), text(each, "before"), text(each, "after"))
            for each in rows(said)
        )
        return pushers_between(pushes, since, until)

    async def way(self, branch: str) -> Way:
        """A rule that only keeps the branch from being deleted or rewritten is no hindrance to a push."""
        name = quote(branch, safe="")
        rules = await self._host.listed(f"{self._repo}/rules/branches/{name}", per_page=100)
        kinds = {text(each, "type") for each in rules}
        if "merge_queue" in kinds:
            return "queue"
        old = inner(await self._host.call("GET", f"{self._repo}/branches/{name}"), "protection")
        return "merge" if kinds & PROTECTS or old.get("enabled") is True else "push"

    async def standing(self, number: int, way: Way, base: str) -> MergeStanding:
        said = await self._host.call("GET", f"{self._repo}/pulls/{number}")
        head = text(inner(said, "head"), "sha")
        if said.get("merged") is True:
            return MergeStanding("merged", head, text(said, "merge_commit_sha"))
        if text(said, "state") != "open":
            return MergeStanding("closed", head)
        if way == "queue" and await self._queued(number):
            return MergeStanding("queued", head)
        if said.get("mergeable") is None:
            return MergeStanding("waits", head, why="GitHub does not know yet whether it can be merged")
        if said.get("draft") is True:
            return MergeStanding("refused", head, why="it is a draft")
        if said.get("mergeable") is False:
            return MergeStanding("refused", head, why=f"it conflicts with {base}")
        return waiting(await self.required(base), await self.checks(head), head)

    async def merge(self, number: int, head: str, way: Way, squash: bool, said: str) -> None:
        if way == "queue":
            known = await self._graph(PULL, number=number)
            await self._graph(ENQUEUE, id=text(known, "id"), head=head)
            return
        title, _line, rest = said.partition("\n")
        body = {"sha": head, "merge_method": await self._method(squash)}
        if body["merge_method"] != "rebase":
            body |= {"commit_title": title, "commit_message": rest.strip()}
        await self._host.call("PUT", f"{self._repo}/pulls/{number}/merge", body)

    async def withdraw(self, number: int, way: Way) -> None:
        if way == "queue" and await self._queued(number):
            await self._graph(DEQUEUE, id=text(await self._graph(PULL, number=number), "id"))

    async def _queued(self, number: int) -> bool:
        return (await self._graph(PULL, number=number)).get("isInMergeQueue") is True

    async def _method(self, squash: bool) -> str:
        """The one that the line asks for, if the repository allows it; else the first that it does."""
        said = await self._host.call("GET", self._repo)
        wanted = ("squash", "merge", "rebase") if squash else ("merge", "squash", "rebase")
        keys = {"merge": "allow_merge_commit", "squash": "allow_squash_merge", "rebase": "allow_rebase_merge"}
        return next((each for each in wanted if said.get(keys[each]) is not False), wanted[0])

    async def _graph(self, query: str, **given: str | int) -> Mapping[str, Any]:
        """The pull request of an answer. :raises HostError: also for what GraphQL answers with 200"""
        owner, _slash, name = self._page.path.partition("/")
        variables = {"owner": owner, "name": name, **given} if "$owner" in query else given
        said = await self._graphs.call("POST", "/graphql", {"query": query, "variables": variables})
        if faults := said.get("errors") if isinstance(said, Mapping) else None:
            raise HostError(f"{self.name} refused it. It says: {told(faults)}", 422)
        return inner(inner(inner(said, "data"), "repository"), "pullRequest")

    @staticmethod
    def signed(headers: Headers, body: bytes, secret: str) -> bool:
        way, _, said = headers.get("x-hub-signature-256", "").partition("=")
        return way == "sha256" and hexed(body, secret, said)

    @staticmethod
    def heard(headers: Headers, said: Any) -> list[IssueHeard]:
        """Of an issue that is opened with labels it tells each label by itself."""
        if headers.get("x-github-event") != "issues":
            return []
        action = text(said, "action")
        if action == "labeled":
            return [issue_heard(said, "label", text(inner(said, "label"), "name"))]
        if action == "assigned":
            return [issue_heard(said, "assignee", text(inner(said, "assignee"), "login"))]
        return []

    @staticmethod
    def pushed(headers: Headers, said: Any) -> PushHeard | None:
        return branch_pushed(said) if headers.get("x-github-event") == "push" else None

    def _request(self, said: Mapping[str, Any]) -> OpenedRequest:
        state: RequestState = "open" if said.get("state") == "open" else "closed"
        if said.get("merged_at"):
            state = "merged"
        which = number(said, "number")
        url = link(text(said, "html_url"), f"{self._page}/pull/{which}")
        return OpenedRequest(which, url, state, text(said, "title"), text(said, "body"))


def _ran(said: Mapping[str, Any]) -> CheckState:
    """Skipped and neutral count as passed, as for GitHub's own rule; every other end is none."""
    if text(said, "status") != "completed":
        return "pending"
    return "passed" if text(said, "conclusion") in ("success", "neutral", "skipped") else "failed"


def _ended_badly(said: Mapping[str, Any]) -> bool:
    """Of a check suite, or the run of a workflow."""
    return text(said, "status") == "completed" and text(said, "conclusion") in ENDED_BADLY


def _state(said: Mapping[str, Any]) -> CheckState:
    state = text(said, "state")
    return "passed" if state == "success" else "pending" if state == "pending" else "failed"


def branch_pushed(said: Any) -> PushHeard | None:
    """Of a body as GitHub, Gitea and Forgejo send it."""
    pusher, sender = inner(said, "pusher"), inner(said, "sender")
    logins = (text(sender, "login"), text(pusher, "login"))
    return push_heard(said, text(inner(said, "repository"), "full_name"), logins, (text(pusher, "email"),))


def issue_heard(said: Any, on: Literal["label", "assignee"], value: str, exact: bool = True) -> IssueHeard:
    """Of a body as GitHub, Gitea and Forgejo send it."""
    issue, sender = inner(said, "issue"), inner(said, "sender")
    author = inner(issue, "user")
    return IssueHeard(
        path=text(inner(said, "repository"), "full_name"),
        number=number(issue, "number"),
        url=text(issue, "html_url"),
        title=text(issue, "title"),
        body=text(issue, "body"),
        by=text(sender, "login"),
        on=on,
        value=value,
        at=moment(issue, "updated_at"),
        author=text(author, "login"),
        addresses=tuple(filter(None, (text(sender, "email"), text(author, "email")))),
        exact=exact,
    )


def api_of(page: HostPage) -> str:
    return "https://api.github.com" if page.server in GitHub.servers else f"{page.origin}/api/v3"


def headers(token: str) -> dict[str, str]:
    own = {"authorization": f"Bearer {token}"} if token else {}
    return {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28", **own}
