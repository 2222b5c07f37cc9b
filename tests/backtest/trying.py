"""The verbs of back-tests: `again(version, document)`, and `verdicts(task, document)` of each decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.lines.backtest import (
    BacktestResult,
    BacktestTask,
    Selection,
    back_test_events,
    target_of_document,
)
from pipelines.lines.backtest.backtest_result import effects_in_words
from pipelines.models import Decision, LineVersion, Task
from pipelines.routing.analysis.redecide.verdict import Redecision, redecide
from pipelines.routing.document.line import read_line


@dataclass(frozen=True)
class Outcome:
    """What a back-test said: its tasks and its result, as they go over the wire."""

    tasks: list[dict[str, Any]]
    result: dict[str, Any]

    @property
    def counts(self) -> dict[str, int]:
        """The verdicts that came up, of decisions."""
        return {name: n for name, n in self.result["decisions"].items() if n and name != "total"}


def again(version: LineVersion, document: Mapping[str, Any], **selected: Any) -> Outcome:
    told = list(back_test_events(version.line, target_of_document(document), Selection(**selected)))
    assert isinstance(told[-1], BacktestResult)
    return Outcome([t.to_dict() for t in told if isinstance(t, BacktestTask)], told[-1].to_dict())


def decisions(task: Task) -> list[Decision]:
    return list(Decision.objects.filter(task=task).select_related("pinned").order_by("at", "job_id"))


def verdicts(task: Task, document: Mapping[str, Any]) -> list[Redecision]:
    """Of each decision of a task, in their order."""
    new = read_line(document)
    return [redecide(read_line(d.pinned.document), d.situation, d.answer, new) for d in decisions(task)]


def messages(task: Task, document: Mapping[str, Any]) -> list[str]:
    """What people read of each decision of a task, in their order."""
    pinned, new = read_line(decisions(task)[0].pinned.document), read_line(document)
    found = zip(decisions(task), verdicts(task, document), strict=True)
    return [str(effects_in_words(each.station, again, pinned, new)["message"]) for each, again in found]


def names(found: list[Redecision]) -> list[str]:
    return [each.verdict.value for each in found]


def reasons(found: list[Redecision]) -> list[str]:
    return [each.reason for each in found]
