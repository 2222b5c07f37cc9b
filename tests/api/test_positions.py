"""What people do to a position of a task over HTTP, and what the task shows of where it is and was."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.models import Task
from tests.api.conftest import Api, Apis
from tests.factories import World, station
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


def path(task: Task, call: str = "") -> str:
    return f"/stages/{task.line.key}/tasks/{task.name}" + (f"/{call}" if call else "")


def position(api: Api, task: Task) -> dict[str, Any]:
    answer = api.get(path(task, "positions"))
    assert answer.status_code == 200, answer.content
    [found] = answer.json()
    return dict(found)


def manual(world: World) -> Task:
    """`check` is done by a person, again and again until it goes on."""
    form = [{"key": "found", "type": "number", "label": "Faults found", "required": True}]
    rules = [
        {"id": "again", "when": {"output": {"path": "found", "op": "gt", "value": 0}}, "to": "check"},
        {"id": "on", "to": "ship"},
    ]
    check = station("check", *rules, kind="manual", work={"form": form})
    return world.start(world.line(stations=[check, "ship"]))


def test_a_manual_station_is_completed_once_for_what_was_seen(world: World, api: Apis) -> None:
    task, operator = manual(world), api.as_(world.operator)
    seen = position(operator, task)
    assert (seen["station"], seen["manual"]) == ("check", True)
    assert [(each["key"], each["type"], each["required"]) for each in seen["fields"]] == [
        ("found", "number", True)
    ]
    report = {"version": seen["version"], "outcome": {"result": "success", "output": {"found": 2}}}
    done = operator.post(path(task, "complete"), report)
    assert done.status_code == 200, done.content
    again = position(operator, task)
    assert again["version"] > seen["version"]
    # The same report again is about the visit before: it says nothing of this one.
    assert operator.post(path(task, "complete"), report).status_code == 409
    assert task.jobs.exclude(state="done").get().visit == 2
    wrong = {"version": again["version"], "outcome": {"result": "success", "output": {"found": "two"}}}
    refused = operator.post(path(task, "complete"), wrong)
    assert refused.status_code == 400
    assert [each["path"] for each in refused.json()["errors"]] == ["outcome.output.found"]
    last = {"version": again["version"], "outcome": {"result": "success", "output": {"found": 0}}}
    assert operator.post(path(task, "complete"), last).json()["columnId"] == "ship"
    assert operator.post(path(task, "complete"), last).status_code == 409


def test_a_report_with_a_key_is_answered_alike_when_it_comes_again(world: World, api: Apis) -> None:
    task, operator = manual(world), api.as_(world.operator)
    report = {"version": position(operator, task)["version"]}
    report |= {"outcome": {"result": "success", "output": {"found": 1}}}
    first = operator.post(path(task, "complete"), report, key="k1")
    assert first.status_code == 200, first.content
    again = operator.post(path(task, "complete"), report, key="k1")
    assert (again.status_code, again.content) == (200, first.content)


def test_a_question_is_answered(world: World, api: Apis) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    asks = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which branch?"}}
    world.report(task, {"result": "success", "signals": [asks]})
    operator = api.as_(world.operator)
    seen = position(operator, task)
    assert (seen["status"], seen["question"], seen["answers"]) == ("blocked", "Which branch?", [])
    blank = operator.post(path(task, "answer"), {"version": seen["version"], "text": " "})
    assert (blank.status_code, blank.json()["errors"][0]["path"]) == (400, "text")
    said = {"version": seen["version"], "text": "main"}
    assert operator.post(path(task, "answer"), said).json()["status"] == "queued"
    assert world.job(task).feedback == "main"
    assert operator.post(path(task, "answer"), said).status_code == 409


def test_a_condition_is_answered_with_one_of_its_words(world: World, api: Apis) -> None:
    rules = [
        {"id": "yes", "when": {"agentic": {"question": "Is it safe?"}, "answer": "yes"}, "to": "ship"},
        {"id": "no", "to": "failed"},
    ]
    document = {"stations": [station("build", *rules), "ship"], "flags": {"agentic_conditions": True}}
    task = world.start(world.line(**document))
    world.report(task)
    operator = api.as_(world.operator)
    seen = position(operator, task)
    assert (seen["question"], seen["answers"]) == ("Is it safe?", ["yes", "no"])
    body = {"version": seen["version"], "word": "perhaps"}
    assert operator.post(path(task, "answer"), body).status_code == 400
    answered = operator.post(path(task, "answer"), body | {"word": "yes"})
    assert (answered.status_code, answered.json()["columnId"]) == (200, "ship")


def test_what_is_queued_is_held_and_released(world: World, api: Apis) -> None:
    task, operator = world.start(world.line()), api.as_(world.operator)
    blank = operator.post(path(task, "hold"), {"reason": " "})
    assert (blank.status_code, blank.json()["errors"][0]["path"]) == (400, "reason")
    held = operator.post(path(task, "hold"), {"reason": "Wait for the freeze."})
    assert (held.status_code, held.json()["status"]) == (200, "held")
    assert operator.post(path(task, "hold"), {"reason": "Again."}).status_code == 409
    stale = position(operator, task)["version"] - 1
    assert operator.post(path(task, "release"), {"version": stale}).status_code == 409
    assert operator.post(path(task, "release"), {}).json()["status"] == "queued"
    assert operator.post(path(task, "release"), {}).status_code == 409


def needing(world: World, *requires: str) -> Task:
    build = station("build", {"id": "on", "to": "ship"}, requires=list(requires))
    task = world.start(world.line(stations=[build, "ship"]))
    world.report(task)
    assert world.status(task) == "held"
    return task


def test_missing_metadata_is_supplied(world: World, api: Apis) -> None:
    task, operator = needing(world, "metadata:ticket"), api.as_(world.operator)
    seen = position(operator, task)
    assert (seen["missing"], [each["key"] for each in seen["fields"]]) == (["metadata:ticket"], ["ticket"])
    body = {"version": seen["version"], "metadata": {"ticket": "T-1"}}
    given = operator.post(path(task, "metadata"), body)
    assert (given.status_code, given.json()["columnId"]) == (200, "ship")
    assert given.json()["context"]["ticket"] == "T-1"
    assert operator.post(path(task, "metadata"), body).status_code == 409


def test_a_missing_handoff_is_added(world: World, api: Apis) -> None:
    task, operator = needing(world, "handoff"), api.as_(world.operator)
    seen = position(operator, task)
    wrong = operator.post(path(task, "handoff"), {"version": seen["version"], "handoff": {"x": 1}})
    assert wrong.status_code == 400
    document = {
        "change_summary": {"what_changed": "a", "files_touched": ["a.py"], "rationale": "b"},
        "evidence": {
            "prompt_reference": "p",
            "contract_version": "1",
            "test_evidence": {},
            "security_scan_result": "pass",
        },
        "ai_metadata": {},
    }
    given = operator.post(path(task, "handoff"), {"version": seen["version"], "handoff": document})
    assert given.json()["columnId"] == "ship", given.content


def test_of_several_positions_one_is_named(world: World, api: Apis) -> None:
    split = station("split", {"id": "both", "to": ["left", "right"]})
    task = world.start(world.line(stations=[split, "left", "right"]))
    world.report(task)
    operator = api.as_(world.operator)
    unclear = operator.post(path(task, "hold"), {"reason": "r"})
    assert unclear.status_code == 400
    assert "left" in unclear.json()["errors"][0]["hint"]
    assert operator.post(path(task, "hold"), {"reason": "r", "station": "left"}).status_code == 200
    found = {each["station"]: each for each in operator.get(path(task, "positions")).json()}
    assert {key: each["status"] for key, each in found.items()} == {"left": "held", "right": "queued"}
    body = {"reason": "r", "position": found["right"]["id"]}
    assert operator.post(path(task, "hold"), body).status_code == 200
    assert operator.post(path(task, "hold"), body | {"position": 2**62}).status_code == 409


def test_a_machine_gives_no_word_of_its_own(world: World, api: Apis) -> None:
    task = manual(world)
    body = {"version": world.token(task).version, "outcome": {"result": "success", "output": {"found": 0}}}
    assert api.machine("read", "report").post(path(task, "complete"), body).status_code == 403
    assert api.as_(world.operator, "read").post(path(task, "complete"), body).status_code == 403


# What a task shows


def test_a_stuck_task_shows_its_error(world: World, api: Apis) -> None:
    only = {"id": "never", "when": {"verdict": "fail"}, "to": "ship"}
    line = {"stations": [station("build", only), "ship"], "policy": {"no_match": "stuck"}}
    task = world.start(world.line(**line))
    world.report(task)
    viewer = api.as_(world.viewer)
    for told in (viewer.get(path(task)).json(), viewer.get("/stages/line/tasks").json()[0]):
        assert (told["status"], told["error"]) == ("stuck", "NoValidTransition")
    assert position(viewer, task)["error"] == "NoValidTransition"


def test_a_task_shows_why_it_was_rejected_cancelled_or_failed(world: World, api: Apis) -> None:
    line = gated()
    line["stations"][0]["rules"][0]["when"] = {"result": "success"}
    version = world.line(**line)
    rejected, cancelled, failed, mute = (world.start(version) for _ in range(4))
    world.report(rejected)
    world.vote(rejected, "reject", reason="Too early.")
    operator = api.as_(world.operator)
    assert operator.post(path(cancelled, "cancel"), {"reason": "Not needed."}).status_code == 200
    world.report(failed, {"result": "failure", "summary": "Two tests failed."})
    world.report(mute, {"result": "failure", "failure_type": "template_error"})
    reasons = {each["id"]: each["reason"] for each in operator.get("/stages/release/tasks").json()}
    assert reasons == {
        rejected.name: "Too early.",
        cancelled.name: "Not needed.",
        failed.name: "Two tests failed.",
        mute.name: "template_error",
    }
    assert operator.get(path(failed)).json()["reason"] == "Two tests failed."


def test_a_task_shows_its_station_visits_with_outcome_and_output(world: World, api: Apis) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    outcome = {
        "result": "success",
        "exit_code": 0,
        "summary": "Built",
        "output": {"files": 3},
        "comment": "c",
    }
    world.report(task, outcome)
    viewer = api.as_(world.viewer)
    built, open_one = viewer.get(path(task, "visits")).json()
    assert (built["station"], built["visit"], built["result"], built["exit_code"]) == (
        "build",
        1,
        "success",
        0,
    )
    assert (built["summary"], built["output"]) == ("Built", {"files": 3})
    assert built["outcome"] == {key: value for key, value in outcome.items() if key != "output"}
    assert (open_one["station"], open_one["state"], open_one["outcome"]) == ("ship", "queued", None)
    assert viewer.get(path(task, f"visits?after={built['id']}")).json() == [open_one]
    assert viewer.get(path(task, f"visits/{built['id']}")).json() == built
    for nowhere in (0, 2**63, built["id"] + 1_000):
        assert viewer.get(path(task, f"visits/{nowhere}")).status_code == 404


def test_a_large_output_is_read_alone(world: World, api: Apis) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, {"result": "success", "output": {"text": "x" * 70_000}})
    viewer = api.as_(world.viewer)
    built = viewer.get(path(task, "visits")).json()[0]
    assert (built["omitted"], built["outcome"], built["output"]) == (True, None, None)
    whole = viewer.get(path(task, f"visits/{built['id']}")).json()
    assert (whole["omitted"], len(whole["output"]["text"])) == (False, 70_000)


@pytest.mark.wide
def test_a_list_of_tasks_costs_the_same_statements_however_many(world: World, api: Apis) -> None:
    version, viewer = world.line(key="release"), api.as_(world.viewer)

    def statements(number: int) -> int:
        for _ in range(number):
            world.report(world.start(version), {"result": "failure", "summary": "s"})
        with CaptureQueriesContext(connection) as found:
            assert viewer.get("/stages/release/tasks").status_code == 200
        return len(found)

    viewer.get("/stages/release/tasks")
    assert statements(2) == statements(12)
