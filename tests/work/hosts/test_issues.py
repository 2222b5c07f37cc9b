"""Issues of a host that start tasks, and what is told there: signed, each once, and deciding nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines.errors import Invalid
from pipelines.lines import issue_tasks
from pipelines.models import (
    GateVisit,
    HookReceipt,
    HostLink,
    HostNotice,
    IssueTrigger,
    Membership,
    Role,
    Task,
    Word,
)
from pipelines.work.host_notifications import tasks as telling
from pipelines.work.hosts.table import CLASSES
from tests.factories import World, station
from tests.pages.conftest import client_of
from tests.work.driving import Bench
from tests.work.hosts.conftest import kept, line, repository, run, to
from tests.work.hosts.servers import BY_KEY, TOKEN

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
every = pytest.mark.parametrize("hosted", list(BY_KEY), indirect=True)
one_then_every = pytest.mark.parametrize(
    "hosted",
    ["gitlab", *(pytest.param(key, marks=pytest.mark.wide) for key in BY_KEY if key != "gitlab")],
    indirect=True,
)
SECRET = "whsec_" + base64.b64encode(b"planted-canary-of-thirty-two-byt").decode()


@pytest.fixture
def wired(world: World, hosted: Any, settings: Any) -> Any:
    """The host sends its issues, signed, and the label `gateline` starts a line with one input."""
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    kept(world, "HOOK", SECRET)
    found = repository()
    found.hook_secret = "HOOK"
    found.save()
    version = world.line(
        stations=[station("work", to("completed", gates=["review"]))],
        gates=[
            {"key": "review", "name": "Code review", "offers": ["approve", "reject"], "on_reject": "fail"}
        ],
        inputs=[
            {"key": "request", "type": "long_text", "required": True},
            {"key": "issue", "type": "text"},
        ],
    )
    issue_tasks.add_issue_trigger(
        found, version.line.key, "label", "gateline", by=world.admin, now=timezone.now()
    )
    return hosted


def send(world: World, body: bytes, headers: dict[str, str]) -> Any:
    at = f"/api/owners/acme/projects/{world.project.key}/repositories/app/hook"
    return Client().post(at, body, content_type="application/json", headers=headers)


def tell() -> None:
    for notice in HostNotice.objects.order_by("pk"):
        telling.send_queued_notice(notice.pk)


def said(hosted: Any, kind: str, number: int) -> list[str]:
    key = kind if hosted.key == "gitlab" else "issue"
    return hosted.comments.get((key, number), [])  # type: ignore[no-any-return]


@every
def test_a_labelled_issue_starts_one_task_and_is_told(world: World, wired: Any) -> None:
    body, headers = wired.hook(SECRET, wired.labelled("gateline"))
    answer = send(world, body, headers)
    task = Task.objects.get()
    assert answer.status_code == 200, answer.content
    assert answer.json() == {"said": f"Issue #7 started {task.name}.", "task": task.name}
    assert (task.title, task.description) == ("Add a login", "With two fields.")
    assert task.inputs["request"] == "Add a login\n\nWith two fields."
    assert task.inputs["issue"].endswith("/issues/7") and task.requested_by.startswith("rosa on ")
    # What was sent already is refused; another label of the issue starts nothing beside it.
    again = send(world, body, headers)
    assert (again.status_code, again.json()["detail"]) == (409, "This delivery was taken already.")
    other = send(world, *wired.hook(SECRET, wired.labelled("gateline", title="Another")))
    assert "task" in other.json()["said"] and Task.objects.count() == 1
    tell()
    tell()
    [started] = said(wired, "issue", 7)
    assert f"[{task.name}](" in started and "was started for this" in started
    assert TOKEN not in str(wired.comments)
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/").content.decode()
    assert "/issues/7" in page and "#7" in page


@every
def test_nothing_comes_in_without_a_right_signature(world: World, wired: Any) -> None:
    body, headers = wired.hook(SECRET, wired.labelled("gateline"))
    forged = wired.hook(base64.b64encode(b"another").decode(), wired.labelled("gateline"))
    changed = body.replace(b"two fields", b"ten fields")
    for sent in ((body, {}), forged, (changed, headers)):
        assert send(world, *sent).status_code == 401
    at = f"/api/owners/acme/projects/{world.project.key}/repositories/none/hook"
    assert Client().post(at, body, content_type="application/json", headers=headers).status_code == 401
    assert not Task.objects.exists() and not HookReceipt.objects.exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"updated_at": "2020-01-01T00:00:00Z"}, "changed long ago"),
        ({"updated_at": "soon"}, "changed long ago"),
        ({"number": 2**70}, "Nothing here waits"),
        ({"title": "\0" * 400}, "started WI"),
    ],
)
def test_what_an_issue_says_is_taken_as_text(world: World, wired: Any, change: Any, why: str) -> None:
    told = wired.labelled("gateline", **change)
    assert why in send(world, *wired.hook(SECRET, told)).json()["said"]


def test_other_labels_places_and_bodies_start_nothing(world: World, wired: Any) -> None:
    elsewhere = {**wired.labelled("gateline"), "repository": {"full_name": "acme/other"}}
    for told in (wired.labelled("bug"), elsewhere, {"action": "labeled"}, [], "x", {"issue": 7}):
        assert send(world, *wired.hook(SECRET, told)).json()["task"] == ""
    assert send(world, *wired.hook(SECRET, wired.labelled("gateline"), "issue_comment")).json()["task"] == ""
    _body, headers = wired.hook(SECRET, {})
    made = wired.hook(SECRET, 1)[1]
    assert send(world, b"1", made).status_code == 200 and send(world, b"{", headers).status_code == 401
    # Who set it up has left: it starts nothing any more.
    Membership.objects.filter(user=world.admin).update(roles=[Role.VIEWER])
    late = wired.labelled("gateline", title="Late")
    assert "may not start" in send(world, *wired.hook(SECRET, late)).json()["said"]


def test_a_gitlab_delivery_has_to_be_of_now(world: World, hosted: Any) -> None:
    gitlab = BY_KEY["gitlab"](hosted.origin)
    body, headers = gitlab.hook(SECRET, gitlab.labelled("x"))
    signed = CLASSES["gitlab"].is_signed
    assert signed(headers, body, SECRET)
    for apart in (-6, 6):
        moment = timezone.now() + timezone.timedelta(minutes=apart)
        _body, then = gitlab.hook(SECRET, gitlab.labelled("x"), moment=moment)
        assert then != headers and not signed(then, body, SECRET)
    assert signed({"x-gitlab-token": "plain"}, body, "plain")


def test_a_malformed_signature_is_no_signature(hosted: Any) -> None:
    gitlab = BY_KEY["gitlab"](hosted.origin)
    body, headers = gitlab.hook(SECRET, gitlab.labelled("x"))
    for header in ("webhook-signature", "webhook-timestamp", "webhook-id"):
        for text in ("", "v1", "v1,", "v1,é", "v1,!", "v2,AAAA", "nan", "9" * 5000, ",,,", "\0"):
            assert not CLASSES["gitlab"].is_signed({**headers, header: text}, body, SECRET), (header, text)
    assert not CLASSES["gitlab"].is_signed(headers, body, "whsec_")
    assert not CLASSES["gitlab"].is_signed(headers, b"\xff" + body, SECRET)


@pytest.mark.wide
@one_then_every
def test_a_review_is_told_on_the_request_and_its_commit_has_a_status(
    world: World, bench: Bench, hosted: Any, settings: Any
) -> None:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    task = world.start(line(world), title="Fix it")
    run(bench, task)
    world.vote(task)
    run(bench, task)
    tell()
    head = hosted.origin.head(f"gateline/{task.name}-fix-it")
    assert [each["description"] for each in hosted.statuses[head]] == ["Waits for Last look"]
    # What somebody says there decides nothing here.
    hosted.comments.setdefault(("issue", 1), []).append("/approve")
    visit = GateVisit.objects.get(state=GateVisit.State.OPEN)
    world.vote(task, "send_back", reason="app.py:2: call it z, @team")
    run(bench, task)
    tell()
    assert GateVisit.objects.get(pk=visit.pk).word == Word.SEND_BACK
    comment = said(hosted, "request", 1)[-1]
    assert (
        "**`Last look`: sent back by `" in comment and "```text\napp.py:2: call it z, @team\n```" in comment
    )
    world.vote(task)
    tell()
    tell()
    assert world.status(task) == "completed" and hosted.statuses[head][-1]["state"] == "success"
    assert len([each for each in said(hosted, "request", 1) if "approved by" in each]) == 1
    page = client_of(world.operator).get(f"/p/acme/{world.project.key}/tasks/{task.name}/")
    assert HostLink.objects.get().url in page.content.decode()


@pytest.mark.wide
def test_a_comment_whose_answer_got_lost_stands_there_once(world: World, wired: Any) -> None:
    send(world, *wired.hook(SECRET, wired.labelled("gateline")))
    wired.lose = 1
    [notice] = HostNotice.objects.all()
    with pytest.raises(telling.HostAway):
        telling.send_queued_notice(notice.pk)
    assert HostNotice.objects.get().state == HostNotice.State.QUEUED
    at = f"/p/acme/{world.project.key}/settings/repositories/{repository().pk}/"
    assert "GitHub could not be reached" in client_of(world.admin).get(at).content.decode()
    telling.send_queued_notice(notice.pk)
    assert len(said(wired, "issue", 7)) == 1 and HostNotice.objects.get().state == HostNotice.State.SENT


def test_a_trigger_needs_a_line_that_an_issue_can_start(world: World, wired: Any) -> None:
    asks = world.line(
        key="asks",
        stations=[station("work", to("completed"))],
        inputs=[{"key": "count", "type": "number", "label": "How many", "required": True}],
    )

    def refused(line: str, on: str = "label", value: str = "x") -> str:
        with pytest.raises(Invalid) as why:
            issue_tasks.add_issue_trigger(repository(), line, on, value, by=world.admin, now=timezone.now())
        return f"{why.value.path}: {why.value.message}"

    assert "line: Its start form also asks for How many" in refused(asks.line.key)
    assert refused("nothing").startswith("line:") and refused("work", "moon").startswith(("on:", "line:"))


def test_triggers_are_set_up_on_the_page_of_the_repository(world: World, wired: Any) -> None:
    client, found = client_of(world.admin), repository()
    at = f"/p/acme/{world.project.key}/settings/repositories/{found.pk}/"
    send(world, *wired.hook(SECRET, wired.labelled("gateline")))
    text = client.get(at).content.decode()
    assert "/api/owners/acme/" in text and "started WI-" in text and "gateline" in text
    [known] = found.triggers.all()
    said = {"line": known.line.key, "on": "assignee", "value": "gateline-bot"}
    assert "gateline-bot" in client.post(f"{at}triggers/", said, follow=True).content.decode()
    twice = client.post(f"{at}triggers/", said)
    assert twice.status_code == 422 and "starts a task of this line already" in twice.content.decode()
    client.post(f"/p/acme/{world.project.key}/settings/triggers/{known.pk}/delete/")
    assert [each.value for each in found.triggers.all()] == ["gateline-bot"]


@pytest.mark.wide
def test_gitea_and_forgejo_say_which_label_is_new_where_they_can() -> None:
    """Newer ones name it: Gitea under `changes`, Forgejo as `label`, which is also what was taken away."""
    headers, gitea = {"x-gitea-event": "issues"}, CLASSES["gitea"]
    told = BY_KEY["gitea"](None).labelled("gateline")
    for more in (
        {"changes": {"added_labels": [{"name": "gateline"}], "removed_labels": None}},
        {"label": {"name": "gateline"}},
    ):
        heard = {each.value: each.exact for each in gitea.issue_events(headers, {**told, **more})}
        assert heard == {"bug": False, "gateline": True}
    for more in (
        {"label": {"name": "gone"}},
        {"changes": {"added_labels": None}},
        {"changes": 1, "label": []},
    ):
        assert not any(each.exact for each in gitea.issue_events(headers, {**told, **more}))


@pytest.mark.wide
def test_statements_of_the_page_do_not_grow_with_deliveries_and_triggers(world: World, wired: Any) -> None:
    found, now = repository(), timezone.now()
    [known] = found.triggers.all()
    link = HostLink.objects.create(
        task=world.start(known.line.live, inputs={"request": "x"}), repository=found, kind="request", number=1
    )
    client, counts = client_of(world.admin), []
    at = f"/p/acme/{world.project.key}/settings/repositories/{found.pk}/"
    for first, last in ((0, 10), (10, 1000)):
        each = range(first, last)
        HookReceipt.objects.bulk_create(
            HookReceipt(repository=found, digest=f"{n}", said="started", at=now, task=link.task) for n in each
        )
        IssueTrigger.objects.bulk_create(
            IssueTrigger(
                repository=found,
                line=known.line,
                on="label",
                value=f"l{n}",
                made_by=world.admin,
                created_at=now,
            )
            for n in each
        )
        HostNotice.objects.bulk_create(
            HostNotice(
                link=link, about=f"gate:{n}", state=HostNotice.State.FAILED, created_at=now, queued_at=now
            )
            for n in each
        )
        with CaptureQueriesContext(connection) as asked:
            assert client.get(at).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]


@every
def test_a_signed_push_is_heard(world: World, wired: Any) -> None:
    """As each host sends it: whose it is, by the login and the addresses."""
    commit = "1" * 40
    body, headers = wired.hook(SECRET, wired.push("gateline/WI-1", commit), event=wired.push_event)
    heard = CLASSES[wired.key].push_event(
        {key.lower(): value for key, value in headers.items()}, json.loads(body)
    )
    assert heard is not None
    assert (heard.path, heard.branch, heard.commit) == ("acme/app", "gateline/WI-1", commit)
    assert "rosa" in heard.logins and "rosa@example.com" in (*heard.addresses, *heard.authors)
    assert send(world, body, headers).json() == {"said": "No task works on this branch.", "task": ""}
    gone = wired.hook(SECRET, wired.push("gateline/WI-1", "0" * 40), event=wired.push_event)
    assert send(world, *gone).json()["said"] == "Nothing here waits for this."
