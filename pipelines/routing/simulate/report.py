"""Results of scenarios as text for people and as JSON for machines, the same for every user interface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.coverage import Coverage, parts_covered_by_all
from pipelines.routing.simulate.run import ScenarioResult, run_scenarios
from pipelines.routing.simulate.scenario import ScenarioScript
from pipelines.routing.simulate.scenario_generation import GeneratedScenarios


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """`line`: what was run, in the words of who asked."""

    line: str
    results: tuple[ScenarioResult, ...]
    coverage: Coverage

    @property
    def failed_count(self) -> int:
        return sum(not result.holds for result in self.results)

    @property
    def holds(self) -> bool:
        """Return whether there are results, and none failed: no scenario proves nothing."""
        return bool(self.results) and not self.failed_count

    def problems(self, min_coverage: float = 0) -> list[str]:
        """Return why the report as a whole does not hold; empty if it does."""
        percent = self.coverage.percent
        few = f"{percent:.1f}% of the rules are taken, fewer than {min_coverage:g}%"
        return [
            *([] if self.results else ["there are no scenarios"]),
            *([f"{self.failed_count} of {len(self.results)} scenarios failed"] if self.failed_count else []),
            *([few] if percent < min_coverage else []),
        ]

    def to_dict(self, *, traces: bool = True) -> dict[str, Any]:
        return {
            "line": self.line,
            "holds": self.holds,
            "scenarios": [result.to_dict(traces=traces) for result in self.results],
            "coverage": self.coverage.to_dict(),
        }

    def to_json(self) -> str:
        return jsontext.dumps(self.to_dict())

    def to_text(self) -> str:
        return "\n".join(
            [*(line for result in self.results for line in _result_lines(result)), *self._summary_lines()]
        )

    def _summary_lines(self) -> list[str]:
        coverage = self.coverage.to_dict()
        number = len(self.results)
        scenarios = singular_or_plural("scenario", "scenarios", number)
        counts = f"{number - self.failed_count} of {number} {scenarios} passed."
        rules = _coverage_line("Rules taken", coverage["rules"], "taken", "never_taken", "never taken")
        return [
            counts,
            f"{rules} ({coverage['percent']}%)",
            _coverage_line(
                "Stations visited", coverage["stations"], "visited", "never_visited", "never visited"
            ),
            _coverage_line("Gates opened", coverage["gates"], "opened", "never_opened", "never opened"),
            f"Policy applied: {', '.join(coverage['policy']) or 'never'}",
        ]


def _result_lines(result: ScenarioResult) -> list[str]:
    head = f"{'ok  ' if result.holds else 'FAIL'}  {result.scenario.key}"
    name = f": {result.scenario.name}" if result.scenario.name != result.scenario.key else ""
    return [head + name, *(f"      {failure}" for failure in result.failures)]


def _coverage_line(words: str, coverage: dict[str, Any], yes: str, no: str, missing: str) -> str:
    left = f"; {missing}: {', '.join(coverage[no])}" if coverage[no] else ""
    return f"{words}: {len(coverage[yes])} of {coverage['all']}{left}"


def run_and_report_scenarios(
    line: ParsedLine, scenarios: Iterable[ScenarioScript], name: str = ""
) -> ScenarioReport:
    """Run them all."""
    results = run_scenarios(line, scenarios)
    return ScenarioReport(name or line.key, results, Coverage.of(line, parts_covered_by_all(results)))


def generation_report_text(generated: GeneratedScenarios) -> str:
    """Return a text about the generated scenarios, and the rules without one, with the reason."""
    number = len(generated.scenarios)
    count = f"{number} {singular_or_plural('scenario', 'scenarios', number)} generated."
    missing: Sequence[str] = [str(gap) for gap in generated.missing]
    return "\n".join([count, *(f"none for {gap}" for gap in missing)])
