"""“Inbox”: what a person does in place, and who is told that it is too late."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from tests.factories import World
from tests.reviews.inbox_items import (
    act,
    approval,
    escalation,
    found,
    held,
    in_vain,
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
    assert "Answered" in answer.content.decode()
    assert answer.headers["HX-Trigger"] == "gl:inbox"
    assert world.job(task).feedback == "Blue"
    assert found(world.operator) == []


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


def test_without_scripts_a_form_leads_back_to_the_page(world: World) -> None:
    question(world)
    (one,) = found(world.operator)
    assert act(world.operator, one, "answer", htmx=False, text="").status_code == 422
    answer = act(world.operator, one, "answer", htmx=False, text="Blue")
    assert answer.headers["Location"] == reverse("needs-me")


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
