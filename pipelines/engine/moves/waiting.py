"""Leaving a token where it is: waiting for people, held, blocked or stuck."""

from __future__ import annotations

from typing import Any

from pipelines.engine.core.decision_context import DecisionContext
from pipelines.engine.core.values import token_fields_for_event
from pipelines.models import Status
from pipelines.ports import observers
from pipelines.routing.decide.effects import wait_without_empty_entries


def leave_token_waiting_or_stuck(
    turn: DecisionContext, status: str, wait: dict[str, Any], error: str = "", **data: Any
) -> None:
    """Leave the token where it is; `wait` shows what would release it."""
    batch, task, token = turn.batch, turn.task, turn.token
    token.status, token.error = status, error
    token.wait = wait_without_empty_entries(wait)
    if turn.decision:
        token.wait["decision"] = str(turn.decision.pk)
    batch.mark_token_changed(token)
    batch.append_event(
        task,
        "token.stuck" if status == Status.STUCK else "token.waits",
        turn.actor,
        token=token,
        source=token.station,
        target=token.station,
        trigger=turn.trigger,
        decision=turn.decision,
        tokens=[token_fields_for_event(token)],
        wait=token.wait,
        **data,
    )
    batch.emit(observers.TaskWaits(task.pk, token.pk, status, error, batch.now))
