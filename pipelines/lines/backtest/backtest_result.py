"""Answers of a back-test: its progress, what became of each task, and the counts with samples at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipelines.lines.backtest.cell_texts import cell_words
from pipelines.lines.backtest.recorded_decisions import RecordedRow
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.verdict import WORST_LAST, Redecision, Verdict
from pipelines.routing.document.line import ParsedLine

MOST_CELLS = 200
SAMPLES = 5


def by_verdict(counts: Mapping[Verdict, int]) -> dict[str, int]:
    """Every verdict in one order, those that did not come up too."""
    return {verdict.value: counts.get(verdict, 0) for verdict in WORST_LAST}


@dataclass(frozen=True)
class Progress:
    """`done` of `total` decisions, of `tasks` tasks so far."""

    done: int
    total: int
    tasks: int
    counts: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        counts = dict(self.counts)
        return {
            "type": "progress",
            "done": self.done,
            "total": self.total,
            "tasks": self.tasks,
            "counts": counts,
        }


@dataclass(frozen=True)
class SampleDecision:
    """Sample decision that stands for a cell. `after`: this task had gone elsewhere before, so that it might
    never have come here."""

    task: str
    at: datetime
    decision: str
    after: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "at": self.at.isoformat(),
            "decision": self.decision,
            "after_divergence": self.after,
        }


@dataclass
class ResultCell:
    """Decisions that come out alike: at one station, from one effect to another. `words`: see `naming`, by the version
    of the first of them."""

    station: str
    first: Redecision
    words: Mapping[str, Any]
    count: int = 0
    samples: list[SampleDecision] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "station": self.station,
            **redecision_dict(self.first),
            "words": dict(self.words),
            "count": self.count,
            "samples": [sample.to_dict() for sample in self.samples],
        }


def redecision_dict(redecision: Redecision) -> dict[str, Any]:
    return {
        "verdict": redecision.verdict.value,
        "then": redecision.then.to_dict(),
        "now": redecision.now.to_dict() if redecision.now else None,
        "newly_asked": list(redecision.asked),
        "newly_skipped": list(redecision.skipped),
        "reason": redecision.reason,
        "message": redecision.message,
    }


@dataclass
class BacktestTask:
    """Result of one task: the worst of its verdicts, how often each came up, and its first divergence, which
    is the first decision that is not the same. `after`: how many decisions come after the first different
    one."""

    task: str
    verdict: Verdict = Verdict.SAME
    counts: Counter[Verdict] = field(default_factory=Counter)
    first: Redecision | None = None
    station: str = ""
    at: datetime | None = None
    after: int = 0

    def add(self, row: RecordedRow, redecision: Redecision) -> bool:
        """Answers whether the decision comes after a divergence."""
        # Before this one is counted: a divergence does not come after itself.
        after = self.counts[Verdict.DIFFERENT] > 0
        self.after += after
        self.counts[redecision.verdict] += 1
        self.verdict = max(self.verdict, redecision.verdict, key=WORST_LAST.index)
        if self.first is None and redecision.verdict != Verdict.SAME:
            self.first, self.station, self.at = redecision, row.station, row.at
        return after

    def to_dict(self) -> dict[str, Any]:
        first = self.first and {
            "station": self.station,
            "at": self.at.isoformat() if self.at else None,
            **redecision_dict(self.first),
        }
        return {
            "type": "task",
            "task": self.task,
            "verdict": self.verdict.value,
            "decisions": self.counts.total(),
            "counts": by_verdict(self.counts),
            "after_divergence": self.after,
            "first": first,
        }


@dataclass
class BacktestResult:
    """`decisions` and `tasks`: how many got each verdict. `cells`: everything but `same`, most frequent first within
    the worst verdict; beyond MOST_CELLS kinds only `more_cells` decisions are counted. `limited`: there are more.
    `earlier`: how many were recorded under an earlier revision of the law than the one that all are decided by now."""

    against: str
    line: ParsedLine
    """The version that is tried."""
    decisions: Counter[Verdict] = field(default_factory=Counter)
    tasks: Counter[Verdict] = field(default_factory=Counter)
    after: int = 0
    cells: dict[tuple[Any, ...], ResultCell] = field(default_factory=dict)
    more_cells: int = 0
    limited: bool = False
    earlier: int = 0

    def add(self, row: RecordedRow, redecision: Redecision, task: str, after: bool) -> None:
        self.decisions[redecision.verdict] += 1
        self.earlier += row.revision < self.line.revision
        self.after += after
        if redecision.verdict == Verdict.SAME:
            return
        cell = self._cell(row, redecision)
        if cell is None:
            self.more_cells += 1
            return
        cell.count += 1
        # One sample of each task: a task that goes in a circle would fill them all.
        if len(cell.samples) < SAMPLES and all(sample.task != task for sample in cell.samples):
            cell.samples.append(SampleDecision(task, row.at, str(row.id), after))

    def _cell(self, row: RecordedRow, redecision: Redecision) -> ResultCell | None:
        key = (
            row.station,
            redecision.verdict,
            redecision.then,
            redecision.now,
            redecision.asked,
            redecision.skipped,
            redecision.message,
        )
        if key not in self.cells:
            if len(self.cells) >= MOST_CELLS:
                return None
            words = cell_words(row.station, redecision, versions.by_id(row.pinned_id), self.line)
            self.cells[key] = ResultCell(row.station, redecision, words)
        return self.cells[key]

    @property
    def done(self) -> int:
        return self.decisions.total()

    def to_dict(self) -> dict[str, Any]:
        worst_first = sorted(
            self.cells.values(), key=lambda cell: (-WORST_LAST.index(cell.first.verdict), -cell.count)
        )
        return {
            "type": "result",
            "against": self.against,
            "revision": self.line.revision,
            "of_earlier_revisions": self.earlier,
            "decisions": {"total": self.done, **by_verdict(self.decisions)},
            "tasks": {"total": self.tasks.total(), **by_verdict(self.tasks)},
            "after_divergence": self.after,
            "cells": [cell.to_dict() for cell in worst_first],
            "more_cells": self.more_cells,
            "limited": self.limited,
        }
