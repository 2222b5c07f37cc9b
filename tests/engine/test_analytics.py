"""What the recorded decisions say of a line, counted in the database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.queries import analytics
from pipelines.queries.analytics import AppliedPolicy, LineInsights, RuleNumbers, StationNumbers
from tests.factories import World, document, station
from tests.fixtures.older import published_before

pytestmark = pytest.mark.django_db

HIGH = {"output": {"path": "$.high", "op": "gt", "value": 0}}
REVIEW = {"key": "review", "name": "Human review"}
RULES: list[dict[str, Any]] = [
    {"id": "bad", "when": {"result": "failure"}, "to": "fix"},
    {"id": "high", "when": HIGH, "to": "fix", "gates": ["review"]},
]
DEAD = {"id": "worse", "when": {"all": [{"result": "failure"}, {"failure_type": "crash"}]}, "to": "failed"}


def checked(world: World, *more: dict[str, Any]) -> Any:
    stations = [station("check", *RULES, *more), station("fix", kind="manual")]
    return world.line(document(stations, key="app-check", gates=[REVIEW]))


def numbers(world: World, number: int | None = None) -> LineInsights:
    found = analytics.line_insights_or_none(world.project.lines.get(), number)
    assert found is not None
    return found


def of(found: LineInsights, key: str = "check") -> StationNumbers:
    return next(each for each in found.stations if each.key == key)


def rules(found: LineInsights) -> dict[str, RuleNumbers]:
    return {rule.id: rule for rule in of(found).rules}


@pytest.mark.moves
def test_each_rule_says_how_often_it_was_tested_and_taken(world: World) -> None:
    version = checked(world)
    for outcome in ({"result": "failure"}, {"result": "failure"}, {"result": "success"}):
        world.report(world.start(version), outcome)
    found = numbers(world)
    assert (found.tasks, of(found).outcomes) == (3, 3)
    assert {key: (r.number, r.tested, r.taken) for key, r in rules(found).items()} == {
        "bad": (1, 3, 2),
        "high": (2, 1, 0),
    }
    assert rules(found)["bad"].share == pytest.approx(2 / 3)
    assert rules(found)["bad"].last_taken is not None


@pytest.mark.moves
def test_never_taken_but_reachable_is_told_apart_from_cannot_be_taken(world: World) -> None:
    stations = [station("check", *RULES, DEAD), station("fix", kind="manual")]
    version = published_before(world, document(stations, key="app-check", gates=[REVIEW]))
    world.report(world.start(version), {"result": "success"})
    high, worse = rules(numbers(world))["high"].never, rules(numbers(world))["worse"].never
    assert high is not None and worse is not None
    assert (high.tasks, high.can, high.witness["outcome"]) == (
        1,
        True,
        {"result": "success", "output": {"high": 1}},
    )
    assert (worse.tasks, worse.can, worse.killers) == (1, False, ("bad",))


@pytest.mark.moves
def test_a_rule_behind_a_gate_is_taken_once_it_was_approved_and_tested_once(world: World) -> None:
    version = checked(world)
    task = world.start(version)
    world.report(task, {"result": "success", "output": {"high": 2}})
    waiting = rules(numbers(world))["high"]
    world.vote(task, "approve", by=world.reviewer)
    passed = rules(numbers(world))["high"]
    assert (waiting.tested, waiting.taken) == (1, 0)
    assert (passed.tested, passed.taken) == (1, 1)


@pytest.mark.moves
def test_what_a_person_rejected_was_not_taken(world: World) -> None:
    version = checked(world)
    task = world.start(version)
    world.report(task, {"result": "success", "output": {"high": 2}})
    world.vote(task, "reject", by=world.reviewer, reason="Not yet.")
    found = numbers(world)
    (gate,) = found.gates
    assert rules(found)["high"].taken == 0
    assert (gate.visits, gate.open, gate.words) == (1, 0, {"reject": 1})
    assert gate.deciding is not None and gate.deciding.count == 1
    assert of(found).gates is not None


@pytest.mark.moves
def test_the_policy_is_counted_where_no_rule_took_it(world: World) -> None:
    version = checked(world)
    world.report(world.start(version), {"result": "success"})
    found = numbers(world)
    assert found.policy == (AppliedPolicy("no_match: default", 1),)
    assert of(found).policy == found.policy


@pytest.mark.moves
def test_times_are_those_of_the_jobs(world: World) -> None:
    version = checked(world)
    for _ in range(3):
        world.report(world.start(version), {"result": "failure"})
    check = of(numbers(world))
    assert check.working is not None and check.waiting is not None
    assert (check.working.count, check.waiting.count) == (3, 3)
    assert 0 <= check.working.median <= check.working.p90


@pytest.mark.moves
def test_versions_are_counted_apart_and_together(world: World) -> None:
    first = checked(world)
    world.report(world.start(first), {"result": "failure"})
    second = checked(world, {"id": "new", "when": {"result": "success"}, "to": "completed"})
    world.report(world.start(second), {"result": "success"})
    world.report(world.start(second), {"result": "failure"})
    assert [numbers(world, n).tasks for n in (1, 2)] == [1, 2]
    assert [rules(numbers(world, n))["bad"].taken for n in (1, 2)] == [1, 1]
    together = rules(numbers(world))
    assert (together["bad"].taken, together["new"].taken) == (2, 1)
    assert together["high"].never is not None and together["high"].never.tasks == 3


@pytest.mark.moves
def test_a_rule_counts_only_the_tasks_of_versions_that_have_it(world: World) -> None:
    world.report(world.start(checked(world)), {"result": "failure"})
    checked(world, {"id": "new", "when": {"result": "success"}, "to": "completed"})
    never = rules(numbers(world))["new"].never
    assert never is not None and (never.tasks, never.can) == (0, True)


def test_a_line_without_tasks_has_numbers_of_nothing(world: World) -> None:
    checked(world)
    found = numbers(world)
    assert (found.tasks, found.decisions, found.policy) == (0, 0, ())
    assert [rule.tested for rule in of(found).rules] == [0, 0]


def test_there_are_no_numbers_of_a_version_that_there_is_not(world: World) -> None:
    line = checked(world).line
    assert analytics.line_insights_or_none(line, 7) is None
    assert analytics.line_insights_or_none(line, 10**12) is None


@pytest.mark.moves
def test_the_tasks_of_another_line_do_not_count(world: World) -> None:
    checked(world)
    other = world.line(document([station("check", *RULES), "fix"], key="other", gates=[REVIEW]))
    world.report(world.start(other), {"result": "failure"})
    line = world.project.lines.get(key="app-check")
    assert analytics.line_insights_or_none(line).tasks == 0
