"""“Inbox”: what a person does in place, and who is told that it is too late."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.work import logs
from tests.factories import World, station
from tests.pages.conftest import at
from tests.reviews.conftest import gated
from tests.reviews.inbox_items import (
    act,
    approval,
    escalation,
    found,
    held,
    in_vain,
    manual,
    missing,
    page,
    question,
    stuck,
)
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


def test_a_question_is_answered_in_place(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    answer = act(world.operator, one, "answer", text="Blue")
    assert answer.status_code == 200
    assert world.job(task).feedback == "Blue"
    assert found(world.operator) == []
    assert answer.headers["HX-Redirect"] == at(world, "task", task.name), "nothing is left: the task moves"


def test_after_an_act_the_next_item_opens(world: World) -> None:
    question(world), stuck(world), held(world)
    first, second, third = found(world.operator)
    for one, following in ((second, third), (third, first)):
        answer = act(world.operator, one, one.verbs[0].key)
        assert answer.headers["HX-Redirect"] == reverse(
            "need-act", args=[following.need.kind, following.need.key]
        )


def test_after_a_manual_station_the_next_item_opens_or_the_task(world: World) -> None:
    task, other = manual(world), question(world)
    for left in (found(world.operator)[1], None):
        job, client = world.job(task), as_(world.operator)
        form = {"token_version": job.token.version, "result": "success"}
        answer = client.post(at(world, "job-complete", task.name, job.pk) + "?fragment=form", form)
        here = answer.headers["HX-Redirect"]
        shown = client.get(here, follow=True)
        if left is not None:
            assert shown.context["need"].key == left.need.key
            assert f"Completed: {task.name}" in shown.content.decode()
            act(world.operator, left, "answer", text="Blue")
            task = manual(world)
        else:
            assert shown.redirect_chain[-1][0] == at(world, "task", task.name)
    assert client.get(reverse("needs-me"), {"after-task": "9" * 40}).status_code == 302
    assert as_(world.stranger).get(here, follow=True).redirect_chain == [(reverse("needs-me"), 302)]
    assert world.status(other) == "queued"


def test_an_open_item_is_drawn_anew_only_when_something_else_is_asked(world: World) -> None:
    task = stuck(world)
    (one,) = found(world.operator)
    address, client = reverse("need-act", args=[one.need.kind, one.need.key]), as_(world.operator)
    seen = f"{one.need.version}-{one.need.status}"
    assert client.get(address, {"fragment": "item", "seen": seen}).status_code == 204
    assert "Retry" in client.get(address, {"fragment": "item", "seen": "0-stuck"}).content.decode()
    act(world.admin, one, "retry")
    gone = client.get(address, {"fragment": "item", "seen": seen})
    assert (gone.status_code, "This no longer needs you" in gone.content.decode()) == (200, True)
    assert "Retry" not in gone.content.decode()
    assert as_(world.stranger).get(address, {"fragment": "item", "seen": seen}).status_code == 404
    assert world.status(task) == "queued"


def test_a_blank_answer_is_said_in_place_and_keeps_the_form_open(world: World) -> None:
    question(world)
    (one,) = found(world.operator)
    answer = act(world.operator, one, "answer", text="  ")
    shown = answer.content.decode()
    assert answer.status_code == 422
    assert f'id="need-{one.need.id}"' in shown
    assert "<details" in shown and " open>" in shown


def test_who_comes_second_is_told_so_and_keeps_the_text(world: World) -> None:
    question(world)
    (one,) = found(world.operator)
    act(world.operator, one, "answer", text="Blue")
    answer = act(world.admin, one, "answer", text="Green, after much thought")
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert answer.headers["HX-Retarget"] == f"#need-{one.need.id}"
    assert "Somebody was faster" in shown
    assert "Green, after much thought" in shown


def test_a_stale_page_decides_nothing(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    answer = act(world.operator, one, "answer", text="Blue", token_version=one.need.version - 1)
    assert answer.status_code == 409
    assert "Blue" in answer.content.decode()
    assert world.status(task) == "blocked"


def test_calls_of_tools_are_approved_or_denied_in_one_word(world: World) -> None:
    first, second = approval(world), approval(world)
    one, two = found(world.operator)
    assert act(world.operator, one, "approve").status_code == 200
    assert act(world.operator, two, "deny", reason="ok, but not now").status_code == 200
    assert [world.job(task).feedback for task in (first, second)] == ["approve", "Denied: ok, but not now"]


def test_a_stuck_task_is_retried_or_cancelled_and_no_reason_is_asked(world: World) -> None:
    tasks = [stuck(world) for _ in range(3)]
    one, two, three = found(world.operator)
    assert act(world.operator, one, "retry").status_code == 200
    assert act(world.operator, two, "cancel", reason="Not wanted").status_code == 200
    assert act(world.operator, three, "cancel").status_code == 200
    assert [world.status(task) for task in tasks] == ["queued", "cancelled", "cancelled"]
    tasks[1].refresh_from_db()
    assert tasks[1].reason == "Not wanted"


def test_what_somebody_holds_is_released(world: World) -> None:
    task = held(world)
    (one,) = found(world.operator)
    assert act(world.operator, one, "release").status_code == 200
    assert world.status(task) == "queued"


def test_what_waits_in_vain_is_released_or_cancelled(world: World) -> None:
    task = in_vain(world)
    (one,) = found(world.operator)
    assert [verb.key for verb in one.verbs] == ["release", "cancel"]
    assert act(world.operator, one, "release").status_code == 200
    assert world.status(task) == "queued"


@pytest.mark.wide
def test_missing_metadata_is_filled_in_and_the_task_goes_on_by_itself(world: World) -> None:
    task = missing(world)
    (one,) = found(world.operator)
    assert "Risk tier" in page(world.operator)
    wrong: dict[str, Any] = {"metadata.AI-Usage": "Wrote the tests", "metadata.risk": "huge"}
    refused = act(world.operator, one, "supply", **wrong)
    shown = refused.content.decode()
    assert (refused.status_code, world.status(task)) == (422, "held")
    assert "has to be one of: low, high" in shown and "Wrote the tests" in shown
    assert act(world.operator, one, "supply", **{"metadata.risk": " "}).status_code == 422
    assert act(world.operator, one, "supply", **{"metadata.AI-Usage": "Wrote the tests"}).status_code == 200
    (left,) = found(world.operator)
    assert [each.key for each in left.need.about["metadata"]] == ["risk"]
    assert act(world.operator, left, "supply", **{"metadata.risk": "low"}).status_code == 200
    task.refresh_from_db()
    assert (world.at(task), task.inputs, task.context) == (
        ["ship"],
        {"risk": "low"},
        {"AI-Usage": "Wrote the tests"},
    )


def test_a_verb_that_is_not_offered_does_nothing(world: World) -> None:
    task = stuck(world)
    (one,) = found(world.operator)
    for verb in ("release", "draw", "", "x"):
        assert act(world.operator, one, verb, reason="x").status_code == 422
    assert world.status(task) == "stuck"


def test_without_scripts_a_form_leads_on_as_well(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    assert act(world.operator, one, "answer", htmx=False, text="").status_code == 422
    answer = act(world.operator, one, "answer", htmx=False, text="Blue")
    assert answer.headers["Location"] == at(world, "task", task.name)


def test_what_one_may_not_act_on_is_forbidden_and_what_one_may_not_see_is_not_there(world: World) -> None:
    task = question(world)
    (one,) = found(world.operator)
    assert act(world.viewer, one, "answer", text="x").status_code == 403
    assert act(world.stranger, one, "answer", text="x").status_code == 404
    client = as_(world.operator)
    for kind, key in (("question", "x"), ("question", "9" * 30), ("gate", "7"), ("nothing", "1")):
        assert client.post(reverse("need-act", args=[kind, key])).status_code == 404
    assert world.status(task) == "blocked"


def test_who_is_not_of_the_role_is_not_asked_about_an_escalation(world: World) -> None:
    task = escalation(world)
    assert [one.need.kind for one in found(world.operator)] == []
    (one,) = found(world.admin)
    assert (one.need.kind, one.need.task) == ("escalation", task)
    assert act(world.operator, one, "resolve", word="cancel", reason="x").status_code == 409
    assert act(world.admin, one, "resolve", word="cancel", reason="Not wanted").status_code == 200
    assert world.status(task) == "cancelled"


def test_work_that_was_sent_back_is_corrected_and_not_typed_anew(world: World) -> None:
    fields = [{"key": "notes", "type": "long_text", "label": "Notes"}, {"key": "done", "type": "yes_no"}]
    write = station(
        "write",
        {"id": "on", "to": "ship", "gates": ["review"]},
        kind="manual",
        work={"instructions": "Write.", "form": fields},
    )
    task = world.start(world.line(**{**gated(offers=["approve", "send_back"]), "stations": [write, "ship"]}))
    job, client = world.job(task), as_(world.operator)
    typed = {"outcome.output.notes": "Frist draft", "summary": "Wrote it", "result": "success"}
    address = at(world, "job-complete", task.name, job.pk)
    assert client.post(address, {"token_version": job.token.version, **typed}).status_code == 302
    world.vote(task, "send_back", reason="First is misspelt.")
    again = client.get(at(world, "job-complete", task.name, world.job(task).pk)).content.decode()
    assert "Sent back" in again and "First is misspelt." in again and "Message from the sender" not in again
    assert "Frist draft" in again and "Wrote it" in again


def test_a_stuck_branch_shows_what_it_did_and_not_what_ended_last(world: World) -> None:
    both, join = {"id": "both", "to": ["german", "french"]}, {"wait_for": ["german", "french"]}
    done = {"when": {"result": "success"}, "to": "print"}
    branches = [station(key, {"id": key, **done}) for key in ("german", "french")]
    line = {"key": "catalogue", "policy": {"no_match": "stuck", "on_failure": "stuck"}}
    task = world.start(
        world.line(stations=[station("layout", both), *branches, station("print", join=join)], **line)
    )
    world.report(task)
    french = world.started(task, "french")
    log = logs.Writer(french.pk, french.attempt)
    log.append_chunk("0.1\tPage 31\n0.2\tThe dictionary is gone\n", timezone.now())
    world.report(task, {"result": "failure"}, station="french")
    world.report(task, {"result": "success", "summary": "48 pages"}, station="german")
    (one,) = found(world.operator)
    assert one.need.sentence.text == "No rule of french took this outcome: The dictionary is gone."
    shown = as_(world.operator).get(reverse("need-act", args=[one.need.kind, one.need.key])).content.decode()
    work = shown.partition("dossier-body")[2]
    assert "Page 31" in work and work.index("<h2>french</h2>") < work.index("Path")
    assert "<h2>german</h2>" not in work
    panel = as_(world.viewer).get(reverse("needs-me"), {"fragment": "first"}).content.decode()
    assert "The dictionary is gone." in panel, "whoever cannot retry it reads on Home why it is stuck"


def test_a_verdict_that_says_blocked_is_not_shown_as_success(world: World) -> None:
    task = world.start(world.line(stations=["describe", "ship"], key="pages"))
    world.report(task, {"exit_code": 0, "verdict": "blocked", "summary": "Two years or five?"})
    (one,) = found(world.operator)
    shown = as_(world.operator).get(reverse("need-act", args=[one.need.kind, one.need.key])).content.decode()
    assert "succeeded" not in shown and shown.count(">blocked</") >= 2
