"""Clients, servers of the tests and webhooks against what others published of the hosts. Each exchange of every test
with a host is held as its server ends (`servers.host`); here is what it finds, and what real clients and bodies say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gitlab
import pytest
from pyforgejo import PyforgejoApi
from pyforgejo.types.comment import Comment
from pyforgejo.types.issue import Issue
from pyforgejo.types.pull_request import PullRequest
from pyforgejo.types.repository import Repository
from pyforgejo.types.user import User

from pipelines.work.hosts.github import GitHub
from pipelines.work.triggers.host_events import read_event_or_none
from tests.published.forgejo import type_faults
from tests.published.github import EXAMPLES, FILE, example_hooks, hook_faults
from tests.published.gitlab import TYPES as GITLAB_TYPES
from tests.published.gitlab import gitlab_hook_faults
from tests.published.operations import Exchange
from tests.published.packages import NotFetched, published_file
from tests.published.table import exchange_faults
from tests.work.hosts.servers import BY_KEY, PATH, TOKEN, host
from tests.work.remotes import RemoteRepository, remote
from tests.work.test_host_event_triggers import GITEA, GITHUB, GITLAB

PULLS, MERGES = f"/repos/{PATH}/pulls", "/projects/acme%2Fapp/merge_requests"
OPENED = {"head": "fix", "base": "main", "title": "Fix", "body": "It is 42."}
FILES = [("@octokit/openapi", FILE), ("@octokit/openapi-webhooks", FILE), EXAMPLES, GITLAB_TYPES]
GITHUB_EVENTS = {
    "issue_opened": "issues",
    "issue_labelled": "issues",
    "comment": "issue_comment",
    "request_opened": "pull_request",
    "pushed": "push",
    "merged": "pull_request",
    "check_failed": "check_run",
}
FORGEJO_PARTS = {
    "issue": Issue,
    "pull_request": PullRequest,
    "repository": Repository,
    "comment": Comment,
    "sender": User,
    "pusher": User,
}
"""Of the bodies of webhooks its description has the parts alone."""


@pytest.fixture(autouse=True)
def packages() -> None:
    """The other tests of hosts do without them."""
    for name, path in FILES:
        try:
            published_file(name, path)
        except NotFetched as error:
            pytest.skip(str(error))


@pytest.fixture
def origin(tmp_path: Path) -> RemoteRepository:
    return remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})


def wrong(key: str, method: str, path: str, status: int = 200, reply: Any = None, **more: Any) -> str:
    """The faults of one exchange, as one text."""
    query, body = more.get("query", {}), more.get("body")
    return "\n".join(exchange_faults(key, [Exchange(method, path, query, body, status, reply)]))


@pytest.mark.parametrize(("key", "path"), [("github", PULLS), ("gitea", PULLS), ("gitlab", MERGES)])
def test_a_call_that_nobody_published_is_found(key: str, path: str) -> None:
    assert "no such operation" in wrong(key, "GET", "/nowhere")
    assert "no such operation" in wrong(key, "DELETE", path)
    assert "query heads: nobody" in wrong(key, "GET", path, reply=[], query={"heads": "x"})
    assert "body titel: nobody" in wrong(key, "POST", path, 201, {}, body={"titel": "x"}).replace(
        "body.", "body "
    )


@pytest.mark.parametrize(("key", "left_out"), [("github", "head"), ("gitlab", "source_branch")])
def test_a_body_that_lacks_what_is_required_is_found(key: str, left_out: str) -> None:
    body = OPENED if key == "github" else {"source_branch": "fix", "target_branch": "main", "title": "Fix"}
    path = PULLS if key == "github" else MERGES
    assert wrong(key, "POST", path, 201, {}, body=body) == ""
    less = {name: value for name, value in body.items() if name != left_out}
    assert f"body.{left_out}: is required" in wrong(key, "POST", path, 201, {}, body=less)


@pytest.mark.parametrize("key", ["github", "gitea"])
def test_an_answer_of_other_types_is_found(key: str) -> None:
    one = f"{PULLS}/7"
    assert wrong(key, "GET", one, reply={"number": 7, "state": "open", "head": {"ref": "fix"}}) == ""
    assert "reply.number" in wrong(key, "GET", one, reply={"number": "seven"})
    assert "reply.head.branch: nobody" in wrong(key, "GET", one, reply={"head": {"branch": "fix"}})
    assert "merged_by: " in wrong(key, "GET", PULLS, reply=[{"merged_by": "rosa"}])


def test_a_status_and_a_word_that_github_did_not_publish_are_found() -> None:
    assert "status 204" in wrong("github", "GET", f"{PULLS}/7", 204)
    assert "'merged' is none of" in wrong("github", "GET", f"{PULLS}/7", reply={"state": "merged"})
    sorted_by = {"sort": "age"}
    assert "query sort: 'age' is none of" in wrong("github", "GET", PULLS, reply=[], query=sorted_by)


# Webhooks


@pytest.mark.parametrize("key", GITHUB)
def test_the_events_of_github_that_start_a_task_are_as_published(key: str) -> None:
    assert hook_faults(GITHUB_EVENTS[key], GITHUB[key]) == []


def test_the_webhooks_of_the_github_server_are_as_published() -> None:
    server = BY_KEY["github"](None)
    assert hook_faults("issues", server.labelled("gateline")) == []
    assert hook_faults("push", server.push("main", "1" * 40)) == []
    assert hook_faults("push", {**server.push("main", "1" * 40), "branch": "main"}) == [
        "branch: nobody published it"
    ]
    assert hook_faults("issues", {"action": "named"}) == ["no webhook issues-named is published"]


def test_the_parts_of_forgejos_webhooks_are_as_published() -> None:
    server = BY_KEY["gitea"](None)
    bodies = [*GITEA.values(), server.labelled("gateline"), server.push("main", "1" * 40)]
    parts = [
        (kind, body[name], name) for body in bodies for name, kind in FORGEJO_PARTS.items() if name in body
    ]
    assert len(parts) > 10
    assert [fault for kind, part, name in parts for fault in type_faults(kind, part, name)] == []


def test_the_webhooks_of_gitlab_are_as_published() -> None:
    server = BY_KEY["gitlab"](None)
    for body in (*GITLAB.values(), server.labelled("gateline"), server.push("main", "1" * 40)):
        assert gitlab_hook_faults(body) == []
    assert gitlab_hook_faults({**server.push("main", "1" * 40), "sender": {}, "ref": 1}) == [
        "WebhookPushEventSchema.ref: 1 is no string",
        "WebhookPushEventSchema.sender: nobody published it",
    ]


def test_an_answer_that_gitlab_did_not_publish_is_found() -> None:
    reply = {"iid": "7", "state": "opened", "colour": "red"}
    assert wrong("gitlab", "GET", f"{MERGES}/7", reply=reply).count("\n") == 1
    assert "MergeRequestSchema.colour: nobody published it" in wrong("gitlab", "GET", MERGES, reply=[reply])


def test_each_issue_that_github_shows_is_read() -> None:
    examples = [payload for name, payload in example_hooks() if name == "issues"]
    events = {
        payload["action"]: event
        for payload in examples
        for event in GitHub.issue_events({"x-github-event": "issues"}, payload)
    }
    assert sorted(events) == ["assigned", "labeled"], "the others start nothing"
    for payload in examples:
        for event in GitHub.issue_events({"x-github-event": "issues"}, payload):
            issue = payload["issue"]
            read = (event.path, event.number, event.url, event.title, event.by, event.author)
            assert read == (
                payload["repository"]["full_name"],
                issue["number"],
                issue["html_url"],
                issue["title"],
                payload["sender"]["login"],
                issue["user"]["login"],
            )
            assert event.value == (payload.get("label") or {}).get(
                "name", payload.get("assignee", {}).get("login")
            )


def test_each_push_that_github_shows_is_read() -> None:
    pushes = [payload for name, payload in example_hooks() if name == "push"]
    to_branches = [each for each in pushes if each["ref"].startswith("refs/heads/") and not each["deleted"]]
    assert to_branches
    for payload in pushes:
        event = GitHub.push_event({"x-github-event": "push"}, payload)
        assert (event is not None) == (payload in to_branches)
        if event is not None:
            assert (event.path, event.commit) == (payload["repository"]["full_name"], payload["after"])
            assert payload["sender"]["login"] in event.logins and payload["ref"].endswith(event.branch)


def test_no_example_of_github_is_taken_for_another_event() -> None:
    """Of all events that there are, by their bodies alone."""
    told = {
        (name, payload.get("action"), event.key)
        for name, payload in example_hooks()
        if (event := read_event_or_none("github", payload)) is not None
    }
    assert told == {
        ("check_run", "completed", "check_failed"),
        ("issues", "labeled", "issue_labelled"),
        ("issues", "opened", "issue_opened"),
        ("pull_request", "opened", "request_opened"),
        ("pull_request", "reopened", "request_opened"),
        ("push", None, "pushed"),
    }


# Clients that others wrote, before the servers of the tests


def test_python_gitlab_reads_the_gitlab_server(origin: RemoteRepository) -> None:
    origin.add({"app.py": b"x = 2\n"}, "Change", branch="fix")
    with host("gitlab", origin) as server:
        projects = gitlab.Gitlab(server.server.url, oauth_token=TOKEN).projects
        assert projects.get(PATH).default_branch == "main"
        project = projects.get(PATH, lazy=True)
        branches = {"source_branch": "fix", "target_branch": "main"}
        made = project.mergerequests.create({**branches, "title": "Fix", "description": "d"})
        [listed] = project.mergerequests.list(state="all", **branches, get_all=True)
        assert (listed.iid, listed.state, listed.sha) == (made.iid, "opened", origin.head("fix"))
        project.mergerequests.get(1).notes.create({"body": "Looked at."})
        assert [note.body for note in listed.notes.list(sort="desc", get_all=True)] == ["Looked at."]
        commit = project.branches.get("main").commit["id"]
        assert commit == origin.head()
        assert project.events.list(action="pushed", sort="desc", get_all=True) == []
        listed.description = "In the second round."
        listed.save()
        assert project.mergerequests.get(1).description == "In the second round."


def test_pyforgejo_reads_the_gitea_server(origin: RemoteRepository) -> None:
    head = origin.add({"app.py": b"x = 2\n"}, "Change", branch="fix")
    owner, name = PATH.split("/")
    with host("gitea", origin) as server:
        client = PyforgejoApi(base_url=f"{server.server.url}/api/v1", api_key=f"token {TOKEN}")
        assert client.repository.repo_get(owner, name).default_branch == "main"
        made = client.repository.repo_create_pull_request(owner, name, **OPENED | {"head": "fix"})
        assert (made.number, made.state, made.merged, made.head.sha) == (1, "open", False, head)
        client.repository.repo_create_status(
            owner, name, head, context="gateline", state="success", target_url="https://x/1"
        )
        server.checks = {"unit": "success"}
        combined = client.repository.repo_get_combined_status_by_ref(owner, name, head)
        assert [(each.context, each.status) for each in combined.statuses] == [("unit", "success")]
