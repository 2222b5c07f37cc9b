"""Handoff documents: kept with the move that they go along with."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipelines.models import Handoff, Job
from pipelines.routing.handoffs import faults
from pipelines.routing.line import Line
from pipelines.routing.model import HANDOFF

if TYPE_CHECKING:
    from pipelines.engine.turn import Turn


def name_of(source: str, target: str, at: datetime) -> str:
    """`HO-{source}-{target}-{YYYYMMDDTHHMMSS}`, UTC."""
    plain = (re.sub(r"[^A-Za-z0-9_.-]", "-", each) for each in (source, target))
    return f"HO-{'-'.join(plain)}-{at.astimezone(UTC):%Y%m%dT%H%M%S}"


def worker_of(line: Line, station: str) -> str:
    """Who works there, by the name that events and handoffs use."""
    found = line.stations_by_key.get(station)
    return found.agent or station if found else station


def added_by_hand(job: Job) -> Handoff | None:
    """The last document that a person added to the outcome of this job."""
    return Handoff.objects.filter(job=job, name="").order_by("-at").first()


def hand_on(turn: Turn, source: str, target: str, to: Job | None) -> dict[str, Any]:
    """Keep what goes along with a move; for its event, the name. Nothing where nothing was handed over."""
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
