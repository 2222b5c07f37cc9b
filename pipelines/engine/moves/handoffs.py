"""Handoff documents that go along with a move."""

from __future__ import annotations

from typing import Any

from pipelines.engine.core.decision_context import DecisionContext
from pipelines.engine.core.handoffs import added_by_hand, name_of, worker_of
from pipelines.models import Handoff, Job
from pipelines.routing.document.handoffs import faults
from pipelines.routing.document.preconditions import HANDOFF


def hand_on(turn: DecisionContext, source: str, target: str, to: Job | None) -> dict[str, Any]:
    """Store the handoff of a move and return its name for the event; nothing if there is none."""
    document, by = (turn.job.outcome or {}).get("handoff"), str(turn.actor)
    needs = HANDOFF in turn.judged_by.requires(source)
    added = added_by_hand(turn.job) if needs else None
    if added is not None:
        document, by = added.document, added.by
    if document is None:
        return {}
    names = worker_of(turn.judged_by, source), worker_of(turn.line, target)
    schema = turn.judged_by.handoff_schema(source)
    kept = Handoff(
        task=turn.task,
        job=turn.job,
        to=to,
        name=name_of(*names, turn.batch.now),
        source=names[0],
        target=names[1],
        document=document,
        faults=[str(each) for each in faults(document, schema)],
        by=by[:200],
        at=turn.batch.now,
    )
    turn.batch.add_handoff(kept)
    return {"handoff": kept.name}
