"""Handoff documents: kept with the move that they go along with."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pipelines.models import Handoff, Job
from pipelines.routing.document.line import ParsedLine


def handoff_name_from_stations(source: str, target: str, at: datetime) -> str:
    """`HO-{source}-{target}-{YYYYMMDDTHHMMSS}`, UTC."""
    plain = (re.sub(r"[^A-Za-z0-9_.-]", "-", name) for name in (source, target))
    return f"HO-{'-'.join(plain)}-{at.astimezone(UTC):%Y%m%dT%H%M%S}"


def agent_or_station_name(line: ParsedLine, station: str) -> str:
    """Return who works at the station, by the name that events and handoffs use."""
    definition = line.stations_by_key.get(station)
    return definition.agent or station if definition else station


def last_handoff_added_by_hand_or_none(job: Job) -> Handoff | None:
    """The last document that a person added to the outcome of this job."""
    # A handoff gets its name from the move that takes it along, which is still to come
    return Handoff.objects.filter(job=job, name="").order_by("-at").first()
