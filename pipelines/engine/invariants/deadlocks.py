"""Deadlocks: told once to each party, open no longer than all of them live (I8, I11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from pipelines.engine.invariants.record_reading import task_records
from pipelines.engine.moves.releases import DEPENDENCY
from pipelines.models import ENDED, Deadlock, Dependency, Event, Status, Task, Token
from pipelines.models.plumbing.compiled_queries import server_prepared
from pipelines.ports.observers import Violation
from pipelines.routing.decide.deadlocks import TIMEOUT
from pipelines.routing.decide.effects import flatten_holds, is_hold_by_dependency

EVENT_KINDS = ("deadlock.found", "deadlock.resolved")


def deadlock_consistency_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I11: each party was told once that a deadlock was found, and of its resolution at most once, one of them at
    least; an open one of work that is late holds that work; none is open of which a party has ended (I8)."""
    if not _any_deadlock_id():
        return
    rows = Deadlock.objects.order_by("found_at", "pk")
    if task_ids is not None:
        rows = rows.filter(tasks__in=task_ids).distinct()
    for deadlock in rows.select_related("escalation").prefetch_related("tasks").iterator(chunk_size=200):
        yield from _party_violations(deadlock, list(deadlock.tasks.all()))


@server_prepared()
def _any_deadlock_id() -> QuerySet[Deadlock, Any]:
    return Deadlock.objects.values_list("pk", flat=True)[:1]


def _party_violations(deadlock: Deadlock, parties: Sequence[Task]) -> Iterable[Violation]:
    where, resolved = f"deadlock {deadlock.pk}", deadlock.state == Deadlock.State.RESOLVED
    ended = [task.pk for task in parties if task.status in ENDED]
    if ended and not resolved:
        yield Violation("I8", where, f"is open although its party {ended[0]} has ended")
    events = Event.objects.filter(task__in=parties, kind__in=EVENT_KINDS, data__deadlock=str(deadlock.pk))
    counts = Counter(events.values_list("task_id", "kind"))
    # A hold may lie below another one, so that all of them are looked through
    on_hold = Token.objects.filter(task__in=parties, status=Status.HELD)
    holds = [wait.get("paused_by") for token in on_hold for wait in flatten_holds(token.wait)]
    if deadlock.kind == TIMEOUT and not resolved and not ended and str(deadlock.pk) not in holds:
        yield Violation("I11", where, "is open and holds nothing")
    if deadlock.escalation and (deadlock.escalation.resolved_at is None) == resolved:
        yield Violation(
            "I11", where, f"is {deadlock.state}, and its escalation is {deadlock.escalation.state}"
        )
    for task in parties:
        if counts[task.pk, EVENT_KINDS[0]] != 1:
            yield Violation(
                "I11", where, f"its party {task.pk} was told {counts[task.pk, EVENT_KINDS[0]]} times"
            )
    resolutions = [counts[task.pk, EVENT_KINDS[1]] for task in parties]
    if max(resolutions, default=0) != int(resolved):
        yield Violation("I11", where, f"is {deadlock.state}, its parties were told so {resolutions} times")


def endless_dependency_wait_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I17: a token that waits for other tasks waits for one that is not completed, or has a due time that
    releases it."""
    for record in task_records(task_ids, "tokens", "dues"):
        on_hold = [token for token in record.tokens if token.status == Status.HELD]
        waits = [token.pk for token in on_hold if any(map(is_hold_by_dependency, flatten_holds(token.wait)))]
        if not waits or any(due.kind == DEPENDENCY for due in record.dues):
            continue
        left = Dependency.objects.filter(task=record.task.pk).exclude(on__status=Status.COMPLETED)
        rooms = left.filter(room__isnull=False, on__ended_at=None).values_list("room", flat=True)
        ahead = [room for room in rooms if room is not None]
        is_its_turn = not ahead or len(ahead) < ahead[0]
        if is_its_turn and not left.filter(room=None).exists():
            yield record.violation("I17", f"token {waits[0]} waits for tasks that are completed")
