"""The back-test itself: a generator of progress, of tasks that come out otherwise, and of the result."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from pipelines.lines.backtest.backtest_result import (
    BacktestResult,
    BacktestTask,
    Progress,
    count_of_every_verdict,
)
from pipelines.lines.backtest.recorded_decisions import (
    RecordedRow,
    count_decisions_up_to_limit,
    recorded_rows,
)
from pipelines.lines.backtest.selection import Selection
from pipelines.lines.backtest.target import BacktestTarget
from pipelines.models import Line
from pipelines.queries import versions
from pipelines.routing.analysis.redecide.verdict import Redecision, Verdict, redecide
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.sentences.names import station_name


class UnreadableDecision(Exception):
    """Error of a stored decision that is not a decision. `task`, and `station` by its name."""

    def __init__(self, task: str, station: str) -> None:
        super().__init__(f"{task} at {station}")
        self.task = task
        self.station = station


STEP = 500
"""Decisions from one progress to the next."""

BacktestEvent = Progress | BacktestTask | BacktestResult


def back_test_events(
    line: Line, target: BacktestTarget, selection: Selection
) -> Generator[BacktestEvent, None, None]:
    """Every selected decision under `target`. The tasks told are those that do not come out the same; the Result is
    last. Writes nothing; closing the generator ends the reading. Raises UnreadableDecision."""
    total = count_decisions_up_to_limit(line, selection)
    result, task, current = BacktestResult(target.label, target.line), None, 0
    yield Progress(0, total, 0, count_of_every_verdict(result.decisions))
    # Closes the cursor when whoever reads the result goes away in the middle.
    with closing(recorded_rows(line, selection)) as recorded:
        for row in recorded:
            if task is None or row.task_id != current:
                yield from _count_task_and_yield_if_changed(result, task)
                task, current = BacktestTask(f"WI-{line.project.key}-{row.task_number}"), row.task_id
            redecision = _redecide_recorded_row(row, target, task.task)
            result.add_redecision(
                row, redecision, task.task, task.add_and_tell_if_after_divergence(row, redecision)
            )
            if result.decided_count % STEP == 0:
                yield _current_progress(result, total)
    yield from _count_task_and_yield_if_changed(result, task)
    result.limited = result.decided_count == selection.limit and _has_more_decisions(line, selection)
    yield _current_progress(result, total)
    yield result


def _redecide_recorded_row(row: RecordedRow, target: BacktestTarget, task: str) -> Redecision:
    pinned = versions.parsed_line_by_version_id(row.pinned_id)
    try:
        return redecide(pinned, row.situation, row.answer, target.line)
    except Malformed as fault:
        raise UnreadableDecision(task, station_name(pinned, row.station)) from fault


def _count_task_and_yield_if_changed(
    result: BacktestResult, task: BacktestTask | None
) -> Generator[BacktestTask, None, None]:
    if task is None:
        return
    result.tasks[task.verdict] += 1
    if task.verdict != Verdict.SAME:
        yield task


def _current_progress(result: BacktestResult, total: int) -> Progress:
    # Tasks go on meanwhile, so there may be more decisions than were counted.
    return Progress(
        result.decided_count,
        max(total, result.decided_count),
        result.tasks.total(),
        count_of_every_verdict(result.decisions),
    )


def _has_more_decisions(line: Line, selection: Selection) -> bool:
    decisions = selection.decisions_of(selection.tasks_of(line))
    return decisions[selection.limit : selection.limit + 1].exists()
