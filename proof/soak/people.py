"""Who stands beside the processes that are killed: people who vote, answer, escalate and resolve, through restarts of
the server."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db.models import Count

from pipelines import engine
from pipelines.errors import Refused
from pipelines.models import ENDED, Escalation, Event, GateVisit, Task, Token

if TYPE_CHECKING:
    from tests.factories import World

AT_ONCE = 20


def attend(world: World, tasks: list[int], share: float = 0.03) -> None:
    """Do what people are asked for now. `share`: of the tasks under way that somebody escalates. An escalation is
    resolved when nobody answered it in time, and now and then before."""
    visits = GateVisit.objects.filter(task__in=tasks, state="open").select_related("task")
    for visit in visits.order_by("opened_at")[:AT_ONCE]:
        _try(partial(world.vote, visit.task, visit=visit))
    for found in Escalation.objects.filter(task__in=tasks, state="open")[:AT_ONCE]:
        if found.breached_at or random.random() < 0.1:
            _try(
                partial(
                    engine.resolve_escalation, found.pk, user=world.admin, word="go_on", reason="Looked into."
                )
            )
    blocked = Token.objects.filter(task__in=tasks, status="blocked", wait__has_key="evaluation")
    for token in blocked[:AT_ONCE]:
        answer = partial(
            engine.answer_blocked_token, token.pk, user=world.operator, token_version=token.version
        )
        _try(partial(answer, fact="pass", text="I looked."))
    for task in Task.objects.filter(pk__in=tasks, escalated=None).exclude(status__in=ENDED):
        if random.random() < share:
            _try(partial(engine.escalate, task.pk, user=world.operator, trigger="help", reason="Look."))


def _try(act: Callable[[], Any]) -> None:
    """Somebody else was first, or it ended meanwhile."""
    try:
        act()
    except Refused:
        return


def done(tasks: list[int]) -> dict[str, Any]:
    """How much of the whole law the tasks met."""
    kinds = {
        "evaluation.answered": "evaluations answered",
        "token.forked": "forks",
        "token.joined": "joins",
        "gate.decided": "gates decided",
        "escalation.opened": "escalations",
        "escalation.breached": "escalations breached",
        "escalation.resolved": "escalations resolved",
    }
    counted = Event.objects.filter(task__in=tasks, kind__in=kinds).values_list("kind").annotate(Count("pk"))
    found = dict(counted.order_by())
    return {name: found[kind] for kind, name in kinds.items() if kind in found}
