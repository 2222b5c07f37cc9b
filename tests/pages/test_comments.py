"""Comments on the parts of a line: who may say and change what, that nothing is lost or doubled."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone

from pipelines.engine.invariants.immutability import cross_project_key_violations
from pipelines.lines import comments, drafts
from pipelines.lines.publishing import create_line, publish_draft, save_draft
from pipelines.models import Comment, Line, User
from pipelines.ports import observers
from pipelines.ports.observers import LineHint
from tests.factories import World, document
from tests.pages.conftest import As, door

pytestmark = pytest.mark.django_db
Say = Callable[..., HttpResponse]


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)


@pytest.fixture
def say(world: World, signed_in: As, line: Line) -> Say:
    """Posts a comment as this person, on a station unless told otherwise."""

    def post(by: User, text: str = "Why twice?", **more: Any) -> HttpResponse:
        body = {"id": str(uuid.uuid4()), "text": text, "kind": "station", "key": "build", **more}
        return signed_in(by).post(door(world, "/comments"), json.dumps(body), content_type="application/json")

    return post


@pytest.fixture
def change(world: World, signed_in: As, line: Line) -> Say:
    def send(by: User, comment: str, **more: Any) -> HttpResponse:
        where = door(world, f"/comments/{comment}")
        if not more:
            return signed_in(by).delete(where)
        return signed_in(by).patch(where, json.dumps(more), content_type="application/json")

    return send


def first(answer: HttpResponse) -> dict[str, Any]:
    """The first thread, once this was answered."""
    assert answer.status_code in (200, 201, 204), answer.content
    return comments.threads_oldest_first(Line.objects.get(key="drawn"))[0]


def test_whoever_may_look_may_speak(world: World, say: Say) -> None:
    thread = first(say(world.viewer))
    assert (thread["text"], thread["kind"], thread["key"]) == ("Why twice?", "station", "build")
    assert thread["by"] == {"id": world.viewer.pk, "name": str(world.viewer)}


def test_what_is_sent_twice_is_there_once(world: World, say: Say, line: Line) -> None:
    pk = str(uuid.uuid4())
    say(world.viewer, id=pk)
    assert say(world.viewer, id=pk).status_code == 201
    assert [str(each.pk) for each in Comment.objects.all()] == [pk]
    assert say(world.designer, id=pk).status_code == 409


def test_an_answer_takes_the_place_of_its_thread_and_has_no_answers(world: World, say: Say) -> None:
    thread = first(say(world.viewer))
    answered = first(say(world.designer, "Because.", parent=thread["id"], kind="gate", key="else"))
    assert [(a["text"], a["kind"], a["key"]) for a in answered["replies"]] == [
        ("Because.", "station", "build")
    ]
    assert say(world.viewer, "Why?", parent=answered["replies"][0]["id"]).status_code == 400


def test_only_who_wrote_it_edits_and_deletes_it(world: World, say: Say, change: Say) -> None:
    pk = first(say(world.viewer))["id"]
    assert change(world.admin, pk, text="Mine now", revision=1).status_code == 403
    assert change(world.admin, pk).status_code == 403
    edited = first(change(world.viewer, pk, text="Why thrice?", revision=1))
    assert (edited["text"], edited["revision"]) == ("Why thrice?", 2)
    assert edited["edited"]


def test_an_edit_of_what_was_changed_meanwhile_is_refused(world: World, say: Say, change: Say) -> None:
    pk = first(say(world.viewer))["id"]
    change(world.viewer, pk, text="One", revision=1)
    assert change(world.viewer, pk, text="Two", revision=1).status_code == 409
    assert first(change(world.viewer, pk, text="One", revision=1))["revision"] == 2


def test_a_thread_is_resolved_by_anybody_and_opened_again(world: World, say: Say, change: Say) -> None:
    thread = first(say(world.viewer))
    reply = first(say(world.viewer, "So?", parent=thread["id"]))["replies"][0]
    resolved = first(change(world.designer, thread["id"], resolved=True))
    assert resolved["resolved_by"] == {"id": world.designer.pk, "name": str(world.designer)}
    assert say(world.viewer, "But", parent=thread["id"]).status_code == 409
    assert first(change(world.viewer, thread["id"], resolved=True))["revision"] == resolved["revision"]
    assert first(change(world.viewer, thread["id"], resolved=False))["resolved"] is None
    assert change(world.viewer, reply["id"], resolved=True).status_code == 400


def test_a_deleted_thread_keeps_its_answers_but_not_its_words(world: World, say: Say, change: Say) -> None:
    pk = first(say(world.viewer, "A secret"))["id"]
    say(world.designer, "Careful!", parent=pk)
    left = first(change(world.viewer, pk))
    assert (left["text"], left["by"], left["deleted"]) == ("", None, True)
    assert [each["text"] for each in left["replies"]] == ["Careful!"]
    assert not Comment.objects.filter(text__contains="secret").exists()
    assert change(world.designer, left["replies"][0]["id"]).status_code == 204
    assert comments.threads_oldest_first(Line.objects.get(key="drawn")) == []


def test_it_belongs_to_the_line_and_not_to_a_draft(world: World, say: Say, line: Line) -> None:
    say(world.viewer)
    other = save_draft(line, document(["ship"], key="drawn"), world.designer, 1)
    version = publish_draft(other, user=world.admin, based_on=2)
    assert [each["key"] for each in comments.threads_oldest_first(line)] == ["build"]
    assert "Why twice?" not in json.dumps(version.document)


def test_markup_stays_text(world: World, say: Say, signed_in: As) -> None:
    said = "</script><b onclick=alert(1)>&amp;"
    assert first(say(world.viewer, said))["text"] == said
    answer = signed_in(world.viewer).get(door(world, "/comments"))
    assert answer["Content-Type"].startswith("application/json")
    assert answer.json()[0]["text"] == said


@pytest.mark.parametrize(
    "body",
    [
        {"text": ""},
        {"text": " \n "},
        {"text": "x" * 4_001},
        {"text": "a\0b"},
        {"text": 3},
        {"kind": "nonsense"},
        {"key": "build", "kind": "line"},
        {"key": ""},
        {"key": "k" * 201},
        {"id": "no uuid"},
        {"parent": "no uuid"},
    ],
)
def test_what_is_no_comment_is_refused_with_its_place(world: World, say: Say, body: dict[str, Any]) -> None:
    answer = say(world.viewer, **body)
    assert answer.status_code == 400
    assert next(iter(body)) in [each["path"] for each in answer.json()["errors"]]
    assert not Comment.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b'{"text": "\\ud800"}',
        b"[]",
        b"null",
        b'{"do": "explode"}',
        b'{"text": "a", "revision": -1}',
        b'{"text": "a", "resolved": true}',
    ],
)
def test_any_other_body_is_refused(world: World, signed_in: As, say: Say, body: bytes) -> None:
    pk = first(say(world.viewer))["id"]
    client = signed_in(world.viewer)
    assert client.post(door(world, "/comments"), body, "application/json").status_code == 400
    assert client.patch(door(world, f"/comments/{pk}"), body, "application/json").status_code == 400


def test_there_is_a_limit(world: World, say: Say, change: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "MOST", 2)
    pk = first(say(world.viewer))["id"]
    say(world.viewer)
    assert say(world.viewer).status_code == 409
    change(world.viewer, pk)
    assert say(world.viewer).status_code == 201


def test_a_thread_of_another_line_cannot_be_answered_or_changed(
    world: World, say: Say, change: Say, line: Line
) -> None:
    other = create_line(world.project, "other", "Other", document(key="other"), world.designer)
    foreign = comments.write_comment(other, world.viewer, "Here", timezone.now(), kind="line")
    assert say(world.viewer, parent=str(foreign.pk)).status_code == 404
    assert change(world.viewer, str(foreign.pk)).status_code == 404


def test_each_change_is_hinted_once_it_is_committed(
    world: World, line: Line, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[LineHint] = []
    monkeypatch.setattr(observers, "_configured_hint_sink_or_none", lambda: heard.extend)
    with django_capture_on_commit_callbacks(execute=True):
        row = comments.write_comment(line, world.viewer, "One", timezone.now(), kind="line")
        assert heard == []
    with django_capture_on_commit_callbacks(execute=True):
        comments.resolve_thread(line, row.pk, world.viewer, True, timezone.now())
    assert [(hint.line_id, hint.what, hint.number) for hint in heard] == [
        (line.pk, "comments", 1),
        (line.pk, "comments", 2),
    ]


def test_it_goes_with_its_part_to_another_key_and_back(world: World, say: Say, line: Line) -> None:
    say(world.viewer)
    first = line.draft

    def keyed(key: str, *renamed: tuple[str, str, str]) -> list[str]:
        line.refresh_from_db()
        stations = [{**line.draft["stations"][0], "key": key}, *line.draft["stations"][1:]]
        changed = {**line.draft, "stations": stations}
        number = line.draft_number
        drafts.save_or_merge_draft(
            line, changed, world.designer, based_on=number, base=line.draft, renamed=renamed
        )
        return [each["key"] for each in comments.threads_oldest_first(line)]

    steps = (("station", "build", "make"), ("station", "make", "compile"))
    assert keyed("compile", *steps) == ["compile"]
    assert keyed("build", ("station", "compile", "build")) == ["build"]
    # A key that the stored draft still has, or has not, is no rename.
    assert keyed("build", ("station", "build", "ship")) == ["build"]
    assert keyed("other", ("station", "build", "elsewhere")) == ["build"]
    assert first["stations"][0]["key"] == "build"


@pytest.mark.broken
def test_an_answer_that_left_its_thread_is_found(world: World, line: Line) -> None:
    thread = comments.write_comment(line, world.viewer, "One", timezone.now(), kind="line")
    reply = comments.write_comment(line, world.viewer, "Two", timezone.now(), parent=thread.pk)
    with transaction.atomic():
        Comment.objects.filter(pk=reply.pk).update(kind="station", key="build")
    assert [each.message for each in cross_project_key_violations(None)] == [
        "answer at another place than its thread"
    ]
