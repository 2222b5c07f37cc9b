"""Results of scenarios as text for people and as JSON for machines, the same for every user interface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.coverage import Coverage, shown_by_all
from pipelines.routing.simulate.generate import Generated
from pipelines.routing.simulate.run import ScenarioResult, run_all
from pipelines.routing.simulate.scenario import ScenarioScript


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """`line`: what was run, in the words of who asked."""

    line: str
    results: tuple[ScenarioResult, ...]
    coverage: Coverage

    @property
    def failed(self) -> int:
        return sum(not result.holds for result in self.results)

    @property
    def holds(self) -> bool:
        """Return whether there are results, and none failed: no scenario proves nothing."""
        return bool(self.results) and not self.failed

    def problems(self, min_coverage: float = 0) -> list[str]:
        """Return why the report as a whole does not hold; empty if it does."""
        percent = self.coverage.percent
        few = f"{percent:.1f}% of the rules are taken, fewer than {min_coverage:g}%"
        return [
            *([] if self.results else ["there are no scenarios"]),
            *([f"{self.failed} of {len(self.results)} scenarios failed"] if self.failed else []),
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
        return "\n".join([*(line for result in self.results for line in _told(result)), *self._sums()])

    def _sums(self) -> list[str]:
        coverage = self.coverage.to_dict()
        counts = f"{len(self.results) - self.failed} of {len(self.results)} scenarios hold."
        rules = _sum("Rules taken", coverage["rules"], "taken", "never_taken", "never taken")
        return [
            counts,
            f"{rules} ({coverage['percent']}%)",
            _sum("Stations visited", coverage["stations"], "visited", "never_visited", "never visited"),
            _sum("Gates opened", coverage["gates"], "opened", "never_opened", "never opened"),
            f"Policy applied: {', '.join(coverage['policy']) or 'never'}",
        ]


def _told(result: ScenarioResult) -> list[str]:
    head = f"{'ok  ' if result.holds else 'FAIL'}  {result.scenario.key}"
    name = f": {result.scenario.name}" if result.scenario.name != result.scenario.key else ""
    return [head + name, *(f"      {failure}" for failure in result.failures)]


def _sum(words: str, coverage: dict[str, Any], yes: str, no: str, missing: str) -> str:
    left = f"; {missing}: {', '.join(coverage[no])}" if coverage[no] else ""
    return f"{words}: {len(coverage[yes])} of {coverage['all']}{left}"


def report(line: ParsedLine, scenarios: Iterable[ScenarioScript], name: str = "") -> ScenarioReport:
    """Run them all."""
    results = run_all(line, scenarios)
    return ScenarioReport(name or line.key, results, Coverage.of(line, shown_by_all(results)))


def told_generated(generated: Generated) -> str:
    """Return a text about the generated scenarios, and the rules without one, with the reason."""
    count = f"{len(generated.scenarios)} scenarios generated."
    missing: Sequence[str] = [str(gap) for gap in generated.missing]
    return "\n".join([count, *(f"none for {gap}" for gap in missing)])
