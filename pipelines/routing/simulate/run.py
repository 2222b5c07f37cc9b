"""The door to simulation: walk a line through a scenario, and say where it did not go as expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.expectations import ExpectationFailure, failed_expectations
from pipelines.routing.simulate.scenario import Expectation, ScenarioScript
from pipelines.routing.simulate.state import SimulatedTask, StepRecord, StepRefused, start_task
from pipelines.routing.simulate.walk_steps import take_step


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """Result of a scenario. `steps`: those that were performed; it holds if nothing failed."""

    scenario: ScenarioScript
    steps: tuple[StepRecord, ...]
    walk: SimulatedTask | None
    failures: tuple[ExpectationFailure, ...]

    @property
    def holds(self) -> bool:
        return not self.failures

    @property
    def matched_rules(self) -> tuple[str, ...]:
        """Ids of the rules that were taken, in order."""
        return tuple(rule for step in self.steps for rule in step.rules)

    @property
    def path(self) -> tuple[str, ...]:
        """Every station entered, in order."""
        return tuple(station for step in self.steps for station in step.entered)

    def to_dict(self, *, traces: bool = True) -> dict[str, Any]:
        """`traces`: with every step's decision, its trace and the position after it."""
        document: dict[str, Any] = {
            "key": self.scenario.key,
            "name": self.scenario.name,
            "holds": self.holds,
            "failures": [failure.to_dict() for failure in self.failures],
            "path": list(self.path),
            "rules": list(self.matched_rules),
            "end": self.walk.end if self.walk else "",
            "status": self.walk.status if self.walk else "",
        }
        return {**document, "steps": [step.to_dict() for step in self.steps]} if traces else document


def expectation_of_same_walk(result: ScenarioResult) -> Expectation:
    """Everything that a walk showed, as what is expected of the next one. It was walked: there is a `walk`."""
    assert result.walk is not None
    end = result.walk.end if result.walk.is_over else None
    return Expectation(path=result.path, rules=result.matched_rules, end=end, status=result.walk.status)


def run_scenario_until_refused(line: ParsedLine, scenario: ScenarioScript) -> ScenarioResult:
    """Walk the line by `decide`, step by step. A step that cannot happen ends the walk, and is named."""
    try:
        walk = start_task(line, scenario)
    except Malformed as fault:
        return ScenarioResult(scenario, (), None, (ExpectationFailure(None, str(fault)),))
    records = [StepRecord(walk, line.start, entered=(line.start,))]
    refused: tuple[ExpectationFailure, ...] = ()
    for number, step in enumerate(scenario.steps, 1):
        try:
            record = take_step(line, walk, step)
        except StepRefused as why:
            refused = (ExpectationFailure(number, str(why)),)
            break
        walk = record.walk
        records.append(replace(record, number=number))
    # A refused step ended the walk early, so its end is not held against what is expected.
    return ScenarioResult(
        scenario, tuple(records), walk, refused or failed_expectations(scenario.expect, records, walk)
    )


def run_scenarios(line: ParsedLine, scenarios: Iterable[ScenarioScript]) -> tuple[ScenarioResult, ...]:
    return tuple(run_scenario_until_refused(line, scenario) for scenario in scenarios)
