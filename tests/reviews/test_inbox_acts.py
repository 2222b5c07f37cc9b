"""“Inbox”: what a person does in place, and who is told that it is too late."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Artifact, Blob, Job
from pipelines.work import logs
from tests.factories import World, station
from tests.pages.conftest import at
from tests.reviews.conftest import gated
from tests.reviews.inbox_items import (
    act,
    approval,
    escalation,
    evaluation,
    found,
    held,
    in_vain,
    late,
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


def test_a_choice_is_a_button_that_answers(world: World) -> None:
    task = world.start(world.line(stations=["sort", "ship"], key="asks"))
    choices = 'Which “colour”?\n- blue & <b>\n- red "dark"'
    world.report(task, {"result": "blocked", "blockers": [choices], "summary": "Two colours are left."})
    (one,) = found(world.operator)
    address = reverse("need-act", args=[one.need.kind, one.need.key])
    for page_with_it in (address, at(world, "task", task.name)):
        shown = as_(world.operator).get(page_with_it).content.decode()
        assert 'value="blue &amp; &lt;b&gt;"' in shown
        assert 'value="red &quot;dark&quot;"' in shown and "Another answer" in shown
    act(world.operator, one, "answer", text='red "dark"')
    assert world.job(task).feedback == 'red "dark"'


def test_an_evaluation_is_answered_by_the_button_of_its_word(world: World) -> None:
    task = evaluation(world)
    (one,) = found(world.operator)
    for page_with_it in (
        reverse("need-act", args=["evaluation", one.need.key]),
        at(world, "task", task.name),
    ):
        shown = as_(world.operator).get(page_with_it).content.decode()
        for word in ("yes", "no"):
            assert f'name="answer" value="{word}"' in " ".join(shown.split())
    assert act(world.operator, one, "answer", text="Fine").status_code == 422, "no word, no answer"
    act(world.operator, one, "answer", answer="yes", text="Fine")
    assert world.at(task) == ["ship"]


def test_the_facts_of_the_task_stand_beside_what_is_asked(world: World) -> None:
    note = {"key": "note", "type": "text", "label": "Note", "required": False}
    task = world.start(
        world.line(stations=["sort", "ship"], key="asks", inputs=[note]),
        description="For the shop window.",
        inputs={"note": "Before noon"},
    )
    asked = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which colour?"}}
    world.report(task, {"result": "success", "signals": [asked]})
    (one,) = found(world.operator)
    address = reverse("need-act", args=[one.need.kind, one.need.key])
    first = as_(world.operator).get(address).content.decode().partition("The task so far")[2]
    assert "For the shop window." in first and "Before noon" in first and first.count(">none<") == 2
    act(world.operator, one, "answer", text="Blue")
    job = world.started(task)
    name, text = (
        storages["artifacts"].save("tests/shelves", ContentFile(b"Blue is on shelf 4")),
        "shelves.txt",
    )
    blob = Blob.objects.create(digest="a" * 64, size=18, name=name, created_at=timezone.now())
    Artifact.objects.create(task=task, job=job, name=text, media_type="text/plain", blob=blob)
    world.report(task, {"result": "success", "signals": [asked]})
    (again,) = found(world.operator)
    second = as_(world.operator).get(reverse("need-act", args=[again.need.kind, again.need.key]))
    shown = second.content.decode().partition("The task so far")[2]
    assert "Which colour?" in shown and ">Blue</span>" in shown and ">none<" not in shown
    assert text in shown and "Blue is on shelf 4" in shown


def test_earlier_answers_without_a_question_and_files_too_long_to_be_read_there(world: World) -> None:
    task = world.start(world.line(stations=["sort", "ship"], key="asks"))
    world.report(task, {"result": "blocked", "summary": "No shelf is free."})
    (one,) = found(world.operator)
    act(world.operator, one, "answer", text="Take the cellar")
    job = world.started(task)
    blob = Blob.objects.create(digest="b" * 64, size=40_000, name="long", created_at=timezone.now())
    Artifact.objects.create(task=task, job=job, name="plan.txt", media_type="text/plain", blob=blob)
    world.report(task, {"result": "blocked", "summary": "It is full, too."})
    (again,) = found(world.operator)
    page_of_item = as_(world.operator).get(reverse("need-act", args=["blocked", again.need.key]))
    shown = page_of_item.content.decode().partition("The task so far")[2]
    assert "Take the cellar" in shown and "plan.txt" in shown and "39.1" in shown


def test_the_page_of_a_task_offers_to_run_late_work_again(world: World) -> None:
    client, hidden = as_(world.operator), {}
    for minutes in (0, 3):
        task = late(world)
        begun = timezone.now() - timedelta(minutes=minutes)
        Job.objects.filter(task=task).update(started_at=begun)
        shown = client.get(at(world, "task", task.name)).content.decode()
        button = shown.partition("data-after=")[2].partition("Run again")[0]
        hidden[minutes] = "hidden\n" in button.partition("<input")[0]
        assert "is stopped, and count starts anew" in button
    assert hidden == {0: True, 3: False}, "it appears when the time is over"
    token = world.token(task)
    moved = client.post(at(world, "task-move", task.name, token.pk), {"token_version": token.version})
    assert moved.status_code == 302 and world.job(task).visit == 2
    assert (
        "data-after="
        not in as_(world.viewer).get(at(world, "task", task.name)).content.decode().partition("<dl")[0]
    )


def test_late_work_runs_again_by_one_click(world: World) -> None:
    task = late(world)
    before = world.job(task)
    (one,) = found(world.operator)
    assert (one.need.kind, one.need.task, one.need.key) == ("late", task, str(world.token(task).pk))
    address = reverse("need-act", args=["late", one.need.key])
    shown = as_(world.operator).get(address).content.decode()
    assert "If it hangs, run it again: what runs is stopped" in shown and "Shelf 1 of 40" in shown
    assert as_(world.viewer).get(address).status_code == 403
    assert as_(world.stranger).get(address).status_code == 404
    answer = act(world.operator, one, "again")
    assert answer.headers["HX-Redirect"] == at(world, "task", task.name)
    again = world.job(task)
    assert (again.pk != before.pk, again.station, again.state, again.visit) == (True, "count", "queued", 2)
    before.refresh_from_db()
    assert before.result == "cancelled"
    assert found(world.operator) == []
    assert act(world.operator, one, "again").status_code == 409, "whoever comes second is told"


def test_late_work_of_one_branch_is_one_item_and_runs_again_alone(world: World) -> None:
    both = {"id": "both", "to": ["count", "sort"]}
    limits = {"expected": "1m"}
    slow = station("count", {"id": "c", "to": "ship"}, kind="command", work={"argv": ["true"]}, limits=limits)
    join = {"wait_for": ["count", "sort"], "aggregation": "all-pass"}
    stations = [
        station("open", both),
        slow,
        station("sort", {"id": "s", "to": "ship"}),
        station("ship", join=join),
    ]
    task = world.start(world.line(stations=stations, key="branches"))
    world.report(task)
    for key in ("count", "sort"):
        job = world.started(task, key)
        Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(minutes=3))
    (one,) = found(world.operator)
    assert one.need.place == "count"
    sort = world.job(task, "sort")
    act(world.operator, one, "again")
    assert world.job(task, "sort").pk == sort.pk and world.job(task, "count").visit == 2


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
    assert "<textarea" in shown.partition("<details")[0], "the form stands there"


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
    assert one.need.sentence.text == "The dictionary is gone. No rule of french took this outcome."
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
