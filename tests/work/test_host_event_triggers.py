"""Webhooks that wait for one event of a host, filtered by branch, file, author and label."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.errors import Invalid
from pipelines.models import Task
from pipelines.work.triggers import host_events
from pipelines.work.triggers.host_events import read_event_or_none, refusal_of_event_or_empty
from tests.factories import World
from tests.work.test_webhooks import SECRET, log, send, webhook

USER = {"login": "Mona"}
ISSUE = {"title": "T", "user": USER, "labels": [{"name": "bug"}]}
REQUEST = {"user": USER, "base": {"ref": "main"}, "merged": False, "labels": [{"name": "urgent"}]}
PUSH = {
    "ref": "refs/heads/main",
    "commits": [{"added": ["docs/a.md"], "modified": ["src/b.py"], "removed": []}],
    "sender": USER,
}
CHECK = {"conclusion": "failure", "check_suite": {"head_branch": "main"}}
GITHUB = {
    "issue_opened": {"action": "opened", "issue": ISSUE, "sender": USER},
    "issue_labelled": {"action": "labeled", "issue": ISSUE, "label": {"name": "gateline"}, "sender": USER},
    "comment": {"action": "created", "issue": ISSUE, "comment": {"body": "/gateline fix it", "user": USER}},
    "request_opened": {"action": "opened", "pull_request": REQUEST},
    "pushed": PUSH,
    "merged": {"action": "closed", "pull_request": {**REQUEST, "merged": True}},
    "check_failed": {"action": "completed", "check_run": CHECK, "sender": USER},
}
GITEA = {
    **{key: body for key, body in GITHUB.items() if key != "check_failed"},
    "issue_labelled": {"action": "label_updated", "issue": ISSUE, "sender": USER},
    "check_failed": {"state": "failure", "context": "ci", "branches": [{"name": "main"}], "sender": USER},
}
ACTOR = {"username": "mona"}
GITLAB = {
    "issue_opened": {"object_kind": "issue", "object_attributes": {"action": "open"}, "user": ACTOR},
    "issue_labelled": {
        "object_kind": "issue",
        "object_attributes": {"action": "update"},
        "changes": {
            "labels": {"previous": [{"title": "bug"}], "current": [{"title": "bug"}, {"title": "gateline"}]}
        },
        "user": ACTOR,
    },
    "comment": {"object_kind": "note", "object_attributes": {"note": "/gateline fix it"}, "user": ACTOR},
    "request_opened": {
        "object_kind": "merge_request",
        "object_attributes": {"action": "open", "target_branch": "main"},
        "user": ACTOR,
    },
    "pushed": {
        "object_kind": "push",
        "user_username": "mona",
        **{key: PUSH[key] for key in ("ref", "commits")},
    },
    "merged": {
        "object_kind": "merge_request",
        "object_attributes": {"action": "merge", "target_branch": "main"},
        "user": ACTOR,
    },
    "check_failed": {
        "object_kind": "pipeline",
        "object_attributes": {"status": "failed", "ref": "main"},
        "user": ACTOR,
    },
}
BODIES = {"github": GITHUB, "gitea": GITEA, "gitlab": GITLAB}
CASES = [(host, key) for host, bodies in BODIES.items() for key in bodies]


def refused(host: str, body: Any, event: str, **filters: str) -> str:
    return refusal_of_event_or_empty({"signature": host, "event": event, **filters}, body)


def test_a_deleted_branch_is_no_push_and_an_edited_comment_no_order() -> None:
    for host in ("github", "gitea", "gitlab"):
        gone = {**BODIES[host]["pushed"], "after": "0" * 40, "commits": []}
        assert read_event_or_none(host, gone) is None
        assert read_event_or_none(host, {**gone, "after": "a" * 40}) is not None
    said = {"note": "/gateline fix it"}
    for action, starts in (("create", True), ("update", False)):
        body = {**GITLAB["comment"], "object_attributes": {**said, "action": action}}
        assert (refused("gitlab", body, "comment") == "") is starts


def test_a_label_that_an_issue_of_gitlab_begins_with_is_one_that_it_gets() -> None:
    opened = {**GITLAB["issue_opened"], "labels": [{"title": "gateline"}]}
    assert refused("gitlab", opened, "issue_labelled", label="gateline") == ""
    assert refused("gitlab", opened, "issue_opened") == ""
    assert refused("gitlab", opened, "issue_labelled", label="bug")


def test_each_host_tells_of_each_event() -> None:
    assert all(bodies.keys() == host_events.EVENTS.keys() for bodies in BODIES.values())


@pytest.mark.smoke(len(CASES))
@pytest.mark.parametrize(("host", "key"), CASES)
def test_a_body_is_one_event_and_no_other(host: str, key: str) -> None:
    body = BODIES[host][key]
    event = read_event_or_none(host, body)
    assert event is not None and event.key == key and event.author.lower() == "mona"
    assert [other for other in host_events.EVENTS if not refused(host, body, other)] == [key]


@pytest.mark.parametrize(
    ("key", "filters", "starts"),
    [
        ("pushed", {"branch": "main"}, True),
        ("pushed", {"branch": "release/*, ma*"}, True),
        ("pushed", {"branch": "Main"}, False),
        ("pushed", {"files": "docs/*"}, True),
        ("pushed", {"files": "*.py"}, True),
        ("pushed", {"files": "web/*"}, False),
        ("pushed", {"author": "MONA"}, True),
        ("pushed", {"author": "somebody"}, False),
        ("merged", {"branch": "next"}, False),
        ("merged", {"files": "*"}, False),
        ("issue_labelled", {"label": "Gateline"}, True),
        ("issue_labelled", {"label": "bug"}, False),
        ("check_failed", {"branch": "main"}, True),
    ],
)
@pytest.mark.smoke(13)
def test_a_filter_lets_through_what_it_names(key: str, filters: dict[str, str], starts: bool) -> None:
    assert (refused("github", GITHUB[key], key, **filters) == "") is starts


@pytest.mark.parametrize(
    "body",
    [
        {"action": "created", "issue": ISSUE, "comment": {"body": "/gatelines", "user": USER}},
        {"action": "created", "issue": ISSUE, "comment": {"body": "see /gateline", "user": USER}},
        {"action": "edited", "issue": ISSUE, "comment": {"body": "/gateline", "user": USER}},
        {"action": "closed", "pull_request": REQUEST},
        {"action": "completed", "check_run": {"conclusion": "success"}},
        {"ref": "refs/tags/v1", "commits": []},
        {"action": ["opened"], "issue": []},
        [],
        None,
        "text",
        {"object_kind": 7, "object_attributes": [], "changes": {"labels": 3}},
        {"ref": "refs/heads/a", "commits": [None, {"added": [7, None]}]},
    ],
)
@pytest.mark.parametrize("host", list(BODIES))
def test_what_is_no_such_event_starts_nothing_and_breaks_nothing(host: str, body: Any) -> None:
    for event in ("issue_opened", "comment", "request_opened", "merged", "check_failed"):
        assert refused(host, body, event)


@pytest.mark.django_db
@pytest.mark.moves
def test_the_others_are_ignored_and_say_why(world: World) -> None:
    trigger = webhook(
        world,
        options={
            "signature": "github",
            "event": "issue_opened",
            "inputs": {"request": "issue.title"},
            "title": "",
        },
    )
    assert send(trigger, GITHUB["pushed"]).status_code == 200
    assert send(trigger, GITHUB["issue_opened"]).status_code == 202
    assert [outcome for outcome, _detail in log(trigger)] == ["ignored", "started"]
    assert "It tells of: commits are pushed." in log(trigger)[0][1]
    assert Task.objects.get().inputs["request"] == "T"


@pytest.mark.django_db
@pytest.mark.moves
def test_only_a_member_gives_orders_by_a_comment(world: World) -> None:
    trigger = webhook(
        world,
        options={
            "signature": "github",
            "event": "comment",
            "inputs": {"request": "comment.body"},
            "title": "",
        },
    )
    assert send(trigger, GITHUB["comment"]).status_code == 200
    assert "Mona is no member of this project" in log(trigger)[0][1]
    user = {"login": world.operator.username.upper()}
    body = {**GITHUB["comment"], "comment": {"body": "/gateline mend the door", "user": user}}
    assert send(trigger, body).status_code == 202
    task = Task.objects.get()
    assert task.inputs["request"] == "/gateline mend the door"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"event": "gone"}, "options.event"),
        ({"event": ["pushed"]}, "options.event"),
        ({"event": "pushed", "signature": "standard"}, "options.event"),
        ({"branch": "main"}, "options.event"),
        ({"event": "pushed", "branch": "x" * 501}, "options.branch"),
        ({"event": "pushed", "files": "a\0"}, "options.files"),
    ],
)
def test_an_event_that_cannot_come_is_not_saved(world: World, options: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as fault:
        webhook(world, options={"signature": "github", **options}, secret=SECRET)
    assert path in [problem.path for problem in fault.value.problems]
