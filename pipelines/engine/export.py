"""A task's events in the exchange format of semantics §9 (dialects E29)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pipelines import versions
from pipelines.models import Event, GateVisit, Task

# Events that are transitions: from one state to another.
TRANSITIONS = ("task.submitted", "token.moved", "token.forked", "token.waits", "token.stuck", "token.ended")


def exported(task: Task) -> Iterator[dict[str, Any]]:
    """Every event of the task, oldest first. Times are UTC, durations seconds since the event before."""
    before: datetime | None = None
    words = _words(task)
    pinned = _first_version(task)
    for event in task.events.order_by("seq").iterator(chunk_size=500):
        # The version of that moment names who works where.
        pinned = event.data.get("pinned", pinned)
        yield _one(task, event, before, words, _agent(pinned, event.source), _agent(pinned, event.target))
        before = event.at


def _first_version(task: Task) -> int:
    migrated = task.events.filter(kind="task.migrated").order_by("seq").first()
    return int(migrated.data["was"]) if migrated else task.pinned_id


def _one(
    task: Task,
    event: Event,
    before: datetime | None,
    words: dict[str, GateVisit],
    source: str | None,
    target: str | None,
) -> dict[str, Any]:
    moved = event.kind in TRANSITIONS and event.source and event.source != event.target
    return {
        "event_id": f"EVT-{event.pk}",
        "timestamp": _utc(event.at).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "work_item_id": task.name,
        "transition": {
            "from_state": event.source or None,
            "to_state": event.target or None,
            "trigger": event.trigger or event.kind,
        },
        "agent": {"source": source, "target": target},
        "handoff_id": handoff_id(source, target, event.at) if moved and source and target else None,
        "gate_results": _gate_results(event, words),
        "trust_level": None,
        "human_approval": _approval(event, words),
        "duration_seconds": int((event.at - before).total_seconds()) if before else 0,
        "kind": event.kind,
        "sequence": event.seq,
        "actor": event.actor,
    }


def handoff_id(source: str, target: str, at: datetime) -> str:
    """`HO-{source}-{target}-{YYYYMMDDTHHMMSS}`, UTC."""
    return f"HO-{_plain(source)}-{_plain(target)}-{_utc(at):%Y%m%dT%H%M%S}"


def _agent(version: int, place: str) -> str | None:
    """Who works at a station: the agent that it names, else the station itself; an end has nobody."""
    station = versions.by_id(version).stations_by_key.get(place)
    return str(station.work.get("agent") or station.key) if station else None


def _gate_results(event: Event, words: dict[str, GateVisit]) -> dict[str, str]:
    visit = words.get(str(event.data.get("visit")))
    if event.kind != "gate.decided" or visit is None:
        return {}
    return {visit.gate: "pass" if visit.word == "approve" else "fail"}


def _approval(event: Event, words: dict[str, GateVisit]) -> dict[str, Any] | None:
    visit = words.get(str(event.data.get("visit")))
    if event.kind != "gate.decided" or visit is None:
        return None
    return {
        "gate": visit.gate,
        "decision": visit.word,
        "by": str(visit.decided_by) if visit.decided_by else None,
        "reason": visit.reason,
        "evidence_digest": visit.evidence_digest,
    }


def _words(task: Task) -> dict[str, GateVisit]:
    return {str(visit.pk): visit for visit in task.gate_visits.select_related("decided_by")}


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
