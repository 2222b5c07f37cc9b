"""Two verbs: `walked` takes a line through steps; `taken_by` names the rules."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.line import ParsedLine
from pipelines.routing.simulate.run import ScenarioResult, run_scenario_until_refused
from pipelines.routing.simulate.scenario import read_scenario

OK: dict[str, Any] = {"outcome": {"result": "success"}}
FAILED: dict[str, Any] = {"outcome": {"result": "failure"}}


def said(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"key": "one", "steps": list(steps), **more}


def walked(line: ParsedLine, *steps: dict[str, Any], **more: Any) -> ScenarioResult:
    return run_scenario_until_refused(line, read_scenario(said(*steps, **more)))


def messages(result: ScenarioResult) -> list[str]:
    return [str(failure) for failure in result.failures]
