"""Deadlocks: told once to each party, open no longer than all of them live (I8, I11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet

from pipelines.engine.invariants.reading import whole
from pipelines.engine.moves.releases import DEPENDENCY
from pipelines.models import ENDED, Deadlock, Dependency, Event, Status, Task, Token
from pipelines.models.plumbing.compiled import kept
from pipelines.ports.observers import Violation
from pipelines.routing.decide.deadlocks import TIMEOUT
from pipelines.routing.decide.holds import each_of, is_dependency

TOLD = ("deadlock.found", "deadlock.resolved")


def deadlocks_are_kept(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I11: each party was told once that a deadlock was found, and of its resolution at most once, one of them at
    least; an open one of work that is late holds that work; none is open of which a party has ended (I8)."""
    if not _any():
        return
    rows = Deadlock.objects.order_by("found_at", "pk")
    if task_ids is not None:
        rows = rows.filter(tasks__in=task_ids).distinct()
    for found in rows.select_related("escalation").prefetch_related("tasks").iterator(chunk_size=200):
        yield from _faults(found, list(found.tasks.all()))


@kept()
def _any() -> QuerySet[Deadlock, Any]:
    return Deadlock.objects.values_list("pk", flat=True)[:1]


def _faults(found: Deadlock, parties: Sequence[Task]) -> Iterable[Violation]:
    where, resolved = f"deadlock {found.pk}", found.state == Deadlock.State.RESOLVED
    ended = [task.pk for task in parties if task.status in ENDED]
    if ended and not resolved:
        yield Violation("I8", where, f"is open although its party {ended[0]} has ended")
    events = Event.objects.filter(task__in=parties, kind__in=TOLD, data__deadlock=str(found.pk))
    told = Counter(events.values_list("task_id", "kind"))
    held = Token.objects.filter(task__in=parties, status=Status.HELD)
    holds = [wait.get("paused_by") for token in held for wait in each_of(token.wait)]
    if found.kind == TIMEOUT and not resolved and not ended and str(found.pk) not in holds:
        yield Violation("I11", where, "is open and holds nothing")
    if found.escalation and (found.escalation.resolved_at is None) == resolved:
        yield Violation("I11", where, f"is {found.state}, and its escalation is {found.escalation.state}")
    for task in parties:
        if told[task.pk, TOLD[0]] != 1:
            yield Violation("I11", where, f"its party {task.pk} was told {told[task.pk, TOLD[0]]} times")
    resolutions = [told[task.pk, TOLD[1]] for task in parties]
    if max(resolutions, default=0) != int(resolved):
        yield Violation("I11", where, f"is {found.state}, its parties were told so {resolutions} times")


def dependencies_let_go(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I17: who waits for other tasks waits for one that is not completed, or will be told by a due time."""
    for each in whole(task_ids, "tokens", "dues"):
        held = [token for token in each.tokens if token.status == Status.HELD]
        waits = [token.pk for token in held if any(map(is_dependency, each_of(token.wait)))]
        if not waits or any(due.kind == DEPENDENCY for due in each.dues):
            continue
        left = Dependency.objects.filter(task=each.task.pk).exclude(on__status=Status.COMPLETED)
        if not left.exists():
            yield each.broken("I17", f"token {waits[0]} waits for tasks that are completed")
