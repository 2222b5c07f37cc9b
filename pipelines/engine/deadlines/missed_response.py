"""An escalation that nobody answered in time: run the actions its line defines, once (law §8, AEEF E18)."""

from __future__ import annotations

from pipelines.engine.core.batch import Batch
from pipelines.engine.core.values import ENGINE
from pipelines.engine.moves import escalations
from pipelines.engine.moves.escalation_actions import ACTIONS
from pipelines.models import Due, Escalation


def handle_escalation_due(batch: Batch, due: Due) -> None:
    """Handle due times of kind `escalation`. That it fires once is its row's, which is gone by now; that a
    breach is recorded once, `breached_at`'s."""
    escalation = Escalation.objects.get(pk=due.key)
    if escalation.state != Escalation.State.OPEN or escalation.breached_at:
        return
    task = batch.tasks[due.task_id]
    escalation.breached_at = batch.now
    escalation.save(update_fields=["breached_at"])
    escalations.record_escalation_event(
        batch, escalation, task, "escalation.breached", ENGINE, actions=list(escalation.on_breach)
    )
    for action in escalation.on_breach:
        ACTIONS[action](batch, task, escalation)
    batch.flush()
