"""A test of a line, made of what happened to a task."""

from __future__ import annotations

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.lines import scenarios
from pipelines.models import Scenario, Task
from pipelines.queries.scenario_recording import scenario_recorded_from_task
from tests.factories import World, document, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

AGAIN = {"id": "again", "label": "Try again", "when": {"result": "failure"}, "to": "build", "max_retries": 1}
ON = {"id": "on", "label": "Built", "when": {"result": "success"}, "to": "ship", "gates": ["look"]}
CHECKS = {"all": [{"field": "task.priority", "operator": "equals", "value": "medium"}]}
GATES = [{"key": "look", "name": "A look", "checks": CHECKS}]
INPUTS = [{"key": "who", "type": "text"}, {"key": "password", "type": "secret"}]
LINE = document(stations=[station("build", AGAIN, ON), station("ship")], gates=GATES, inputs=INPUTS)


@pytest.fixture
def task(world: World) -> Task:
    """Failed once, sent back once, approved, shipped."""
    task = world.start(world.line(LINE), inputs={"who": "Ada"})
    world.report(task, {"result": "failure"})
    world.report(task, {"result": "success", "output": {"text": "Hello"}})
    world.vote(task, "send_back", reason="Shorter")
    world.report(task, {"result": "success", "output": {"text": "Hi"}})
    world.vote(task, "approve")
    world.report(task)
    task.refresh_from_db()
    return task


def test_it_says_what_happened_and_holds(world: World, task: Task) -> None:
    made = scenario_recorded_from_task(task, "one")
    assert made.rest == ""
    assert [step.kind for step in made.scenario.steps] == [
        "outcome",
        "outcome",
        "gates",
        "outcome",
        "gates",
        "outcome",
    ]
    assert made.scenario.steps[2].gates == {"look": {"decision": "send_back", "reason": "Shorter"}}
    assert made.scenario.inputs == {"who": "Ada"}
    assert made.scenario.task == {"priority": "medium"}
    assert made.scenario.expect.path == ("build", "build", "build", "ship")
    assert made.scenario.expect.end == task.end == "completed"
    scenarios.store_scenario(task.line, made.scenario.to_dict(), world.designer, timezone.now())
    assert scenarios.run_stored_scenarios(task.line, now=timezone.now()).failed_count == 0


@pytest.mark.wide
def test_a_button_of_the_tasks_page_keeps_it_and_opens_it_on_the_canvas(
    world: World, task: Task, signed_in: As
) -> None:
    client = signed_in(world.designer)
    assert "Create scenario" in text(client.get(at(world, "task", task.name)))
    assert "Create scenario" not in text(signed_in(world.operator).get(at(world, "task", task.name)))
    answer = client.post(at(world, "task-test", task.name), {"record": "yes"})
    kept = Scenario.objects.get()
    assert kept.source == "recorded"
    assert kept.name.startswith(task.name)
    assert answer["Location"] == f"{at(world, 'line-draw', task.line.key)}?test={kept.key}"


def test_answers_and_retries_by_hand_are_steps(world: World) -> None:
    asks = station("build", {"id": "ask", "when": {"result": "failure"}, "to": "@blocked"}, ON)
    task = world.start(world.line(document(stations=[asks, station("ship")], gates=[GATES[0]])))
    world.report(task, {"result": "failure"})
    token = task.tokens.get()
    engine.answer_blocked_token(
        token.pk, user=world.operator, token_version=token.version, text="Use the other one"
    )
    world.report(task, {"result": "failure"})
    token.refresh_from_db()
    engine.move_or_retry_by_hand(
        token.pk, user=world.operator, token_version=token.version, reason="Once more"
    )
    world.report(task)
    made = scenario_recorded_from_task(task, "one")
    assert made.rest == ""
    kinds = [step.kind for step in made.scenario.steps]
    assert kinds == ["outcome", "answer", "outcome", "retry", "outcome"]
    assert made.scenario.steps[1].answer == "Use the other one"
    assert made.scenario.expect.status == "awaiting_review"


def test_a_cancelled_task_says_where_its_test_ends(world: World, signed_in: As) -> None:
    task = world.start(world.line(LINE))
    world.report(task, {"result": "failure"})
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="No more")
    made = scenario_recorded_from_task(task, "one")
    assert len(made.scenario.steps) == 1
    assert made.rest == "The task was then cancelled by hand."
    client = signed_in(world.designer)
    page = client.post(at(world, "task-test", task.name), {"record": "yes"}, follow=True)
    assert made.rest in text(page)


def test_branches_name_their_station(world: World) -> None:
    fork = {"id": "both", "to": ["left", "right"]}
    ends = {"id": "done", "to": "completed"}
    stations = [
        station("build", fork),
        station("left", {**ends, "id": "l"}),
        station("right", {**ends, "id": "r"}),
    ]
    task = world.start(world.line(document(stations=stations)))
    world.report(task)
    world.report(task, station="right")
    world.report(task, station="left")
    made = scenario_recorded_from_task(task, "one")
    assert made.rest == ""
    assert [step.at for step in made.scenario.steps] == [None, "right", None]
    assert made.scenario.expect.status == "completed"
