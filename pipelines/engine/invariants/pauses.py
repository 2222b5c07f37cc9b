"""Pauses: what one holds is let go when it is over, and no clock stands still without one (I17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipelines.engine.commands.pauses import RESUME_PAUSED
from pipelines.engine.invariants.record_reading import task_records
from pipelines.models import Pause, Status
from pipelines.ports.observers import Violation
from pipelines.routing.decide.effects import PAUSED, flatten_holds


def endless_pause_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I17: what a pause holds, and each clock that stands still, has a pause in force or is told by a due time."""
    in_force: set[int] | None = None
    for record in task_records(task_ids, "tokens", "dues"):
        on_hold = [token for token in record.tokens if token.status == Status.HELD]
        holds = {wait[PAUSED] for token in on_hold for wait in flatten_holds(token.wait) if PAUSED in wait}
        stopped = [due for due in record.dues if due.paused_at is not None]
        if (not holds and not stopped) or any(due.kind == RESUME_PAUSED for due in record.dues):
            continue
        # Read at the first need: most tasks are held by no pause
        if in_force is None:
            in_force = set(Pause.objects.filter(ended_at=None).values_list("pk", flat=True))
        over = sorted(holds - in_force)
        if over:
            yield record.violation("I17", f"is held by the pause {over[0]}, which is over")
        if stopped and not in_force:
            yield record.violation(
                "I17", f"the clock of {stopped[0].kind} stands still, and nothing is paused"
            )
