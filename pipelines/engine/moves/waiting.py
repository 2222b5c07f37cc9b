"""Leaving a token where it is: waiting for people, held, blocked or stuck."""

from __future__ import annotations

from typing import Any

from pipelines.engine.core.decision_context import DecisionContext
from pipelines.engine.core.values import token_fields_for_event
from pipelines.models import Status
from pipelines.ports import observers
from pipelines.routing.decide.effects import wait_without_empty_entries


def leave_token_waiting_or_stuck(
    context: DecisionContext, status: str, wait: dict[str, Any], error: str = "", **data: Any
) -> None:
    """Leave the token where it is; `wait` shows what would release it."""
    batch, task, token = context.batch, context.task, context.token
    token.status, token.error = status, error
    token.wait = wait_without_empty_entries(wait)
    if context.decision:
        token.wait["decision"] = str(context.decision.pk)
    batch.mark_token_changed(token)
    batch.append_event(
        task,
        "token.stuck" if status == Status.STUCK else "token.waits",
        context.actor,
        token=token,
        source=token.station,
        target=token.station,
        trigger=context.trigger,
        decision=context.decision,
        tokens=[token_fields_for_event(token)],
        wait=token.wait,
        **data,
    )
    batch.emit(observers.TaskWaits(task.pk, token.pk, status, error, batch.now))
