"""The door to simulation: walk a line through a scenario, and say where it did not go as expected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.expect import Failure, compare
from pipelines.routing.simulate.scenario import Expect, ScenarioScript
from pipelines.routing.simulate.state import SimulatedTask, StepRecord, StepRefused, begin
from pipelines.routing.simulate.walk import take


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """Result of a scenario. `steps`: those that were performed; it holds if nothing failed."""

    scenario: ScenarioScript
    steps: tuple[StepRecord, ...]
    walk: SimulatedTask | None
    failures: tuple[Failure, ...]

    @property
    def holds(self) -> bool:
        return not self.failures

    @property
    def taken(self) -> tuple[str, ...]:
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
            "rules": list(self.taken),
            "end": self.walk.end if self.walk else "",
            "status": self.walk.status if self.walk else "",
        }
        return {**document, "steps": [step.to_dict() for step in self.steps]} if traces else document


def expectation(result: ScenarioResult) -> Expect:
    """Everything that a walk showed, as what is expected of the next one. It was walked: there is a `walk`."""
    assert result.walk is not None
    end = result.walk.end if result.walk.over else None
    return Expect(path=result.path, rules=result.taken, end=end, status=result.walk.status)


def run(line: ParsedLine, scenario: ScenarioScript) -> ScenarioResult:
    """Walk the line by `decide`, step by step. A step that cannot happen ends the walk, and is named."""
    try:
        walk = begin(line, scenario)
    except Malformed as fault:
        return ScenarioResult(scenario, (), None, (Failure(None, str(fault)),))
    records = [StepRecord(walk, line.start, entered=(line.start,))]
    refused: tuple[Failure, ...] = ()
    for number, step in enumerate(scenario.steps, 1):
        try:
            record = take(line, walk, step)
        except StepRefused as why:
            refused = (Failure(number, str(why)),)
            break
        walk = record.walk
        records.append(replace(record, number=number))
    # A refused step ended the walk early, so its end is not held against what is expected.
    return ScenarioResult(scenario, tuple(records), walk, refused or compare(scenario.expect, records, walk))


def run_all(line: ParsedLine, scenarios: Iterable[ScenarioScript]) -> tuple[ScenarioResult, ...]:
    return tuple(run(line, scenario) for scenario in scenarios)
