"""Named budgets: I10."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.routing.decide.budget_usage import MoveTarget, used_amount_before_move
from pipelines.routing.document.budgets import Budget
from pipelines.routing.document.line import ParsedLine


@dataclass
class CountedMoves:
    """Decided moves, counted from the events; moves by hand bind no budget."""

    visits: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)


def named_budget_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I10: nothing was taken more often than a named budget of its version allows. Of a task that was migrated every
    decision was bound by its own version, which I9 decides again."""
    for record in task_records(task_ids, "events"):
        line = versions.parsed_line_by_version_id(record.task.pinned_id)
        # Counts of another version were not bound by these limits
        if line.named_budgets_in_force and not any(event.kind == "task.migrated" for event in record.events):
            counted = _sum_of_counted_moves(record)
            for budget in line.named_budgets_in_force:
                yield from _budget_violations(record, line, budget, counted)


def _sum_of_counted_moves(record: TaskRecord) -> CountedMoves:
    counted = CountedMoves()
    for event in record.events:
        if event.decision_id or event.kind == "task.submitted":
            for name, added in event.data.get("count", {}).items():
                if hasattr(counted, name):
                    getattr(counted, name).update(added)
    return counted


def _budget_violations(
    record: TaskRecord, line: ParsedLine, budget: Budget, counted: CountedMoves
) -> Iterable[Violation]:
    stages = (
        {line.stage_key(key) for key in line.stations_by_key} if budget.kind == "same_stage" else {line.start}
    )
    for stage in sorted(stages):
        spent_count = used_amount_before_move(line, budget, MoveTarget(stage, stage), counted, counted.visits)
        # A task begins at its first station whatever the budget says.
        begun = 1 if budget.kind == "station" and line.start in budget.stations else 0
        if budget.most is not None and spent_count > max(budget.most, begun):
            yield record.violation(
                "I10", f"{spent_count} of budget {budget.key} are spent, it allows {budget.most}"
            )
