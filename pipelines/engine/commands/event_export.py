"""Events in the exchange format of law §9 (dialects E29): of a task, of a line, of a project."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from django.db.models import QuerySet

from pipelines.engine.core import gate_results
from pipelines.models import DUE_TIME, Event, GateVisit, Task
from pipelines.queries import versions
from pipelines.routing.document.line import ParsedLine

# Events that are transitions: a position comes from one state to another.
TRANSITIONS = ("task.submitted", "token.moved", "token.forked", "token.joined", "token.ended")
AT_ONCE = 50
"""How many tasks are read together."""


@dataclass
class _ExportState:
    """State of a task while its events are exported: the version at that moment, and since when each position is
    where it is."""

    task: Task
    visits: dict[str, GateVisit]
    pinned: int
    before: datetime | None = None
    since: dict[int, datetime] = field(default_factory=dict)

    @property
    def line_of_pinned_version(self) -> ParsedLine:
        return versions.parsed_line_by_version_id(self.pinned)


def export_task(task: Task, *, transitions: bool = False) -> Iterator[dict[str, Any]]:
    """Yield every event of the task in the exchange format, oldest first. `transitions`: only those that lead
    from one state to another."""
    return export_events_of_loaded_tasks([task], transitions=transitions)


def export_tasks(
    tasks: QuerySet[Task], *, since: datetime | None = None, transitions: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the events of many tasks in the exchange format, task after task, each in its sequence. `since`:
    only events from then on."""
    rows = tasks.select_related("project").order_by("project_id", "number")
    changed = rows.filter(changed_at__gte=since) if since else rows
    stream = changed.iterator(chunk_size=AT_ONCE)
    # A project may have more events than there is memory
    while chunk := list(islice(stream, AT_ONCE)):
        yield from export_events_of_loaded_tasks(chunk, since=since, transitions=transitions)


def export_events_of_loaded_tasks(
    tasks: Sequence[Task], *, since: datetime | None = None, transitions: bool = False
) -> Iterator[dict[str, Any]]:
    by_id = {task.pk: task for task in tasks}
    firsts = _start_version_by_task(by_id.values())
    visits = GateVisit.objects.filter(task__in=by_id).select_related("decided_by").prefetch_related("votes")
    words: dict[int, dict[str, GateVisit]] = {}
    for visit in visits:
        words.setdefault(visit.task_id, {})[str(visit.pk)] = visit
    for pk, events in groupby(_events_by_task_number_and_seq(list(by_id)), key=lambda event: event.task_id):
        history = _ExportState(by_id[pk], words.get(pk, {}), firsts[pk])
        for event in events:
            # Also of what is left out, since versions and durations follow from every event.
            entry = _export_event(history, event)
            if (since is None or event.at >= since) and (not transitions or event.kind in TRANSITIONS):
                yield entry


def _events_by_task_number_and_seq(tasks: list[int]) -> Iterator[Event]:
    rows = Event.objects.filter(task__in=tasks).select_related("decision")
    return rows.order_by("task__project_id", "task__number", "seq").iterator(chunk_size=500)


def _start_version_by_task(tasks: Iterable[Task]) -> dict[int, int]:
    """The version each task was started under. The first migration names it, so events are read newest first."""
    pinned = {task.pk: task.pinned_id for task in tasks}
    migrated = Event.objects.filter(task__in=pinned, kind="task.migrated").order_by("task_id", "-seq")
    return pinned | {event.task_id: int(event.data["was"]) for event in migrated}


def _export_event(history: _ExportState, event: Event) -> dict[str, Any]:
    history.pinned = event.data.get("pinned", history.pinned)
    moved = event.kind in TRANSITIONS
    source, target = (
        _comma_separated_worker_names_or_none(history.line_of_pinned_version, event.source),
        _comma_separated_worker_names_or_none(
            history.line_of_pinned_version, _comma_separated_target_states(event)
        ),
    )
    told_as = {
        "event_id": f"EVT-{event.pk}",
        "timestamp": _in_utc(event.at).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "work_item_id": history.task.name,
        "transition": {
            "from_state": event.source or None,
            "to_state": _comma_separated_target_states(event) or None,
            "trigger": _gate_result_trigger_of_event_or_empty(event) or event.trigger or event.kind,
        },
        "agent": {"source": source, "target": target},
        "handoff_id": _handoff_id_of_event_or_none(event, source, target) if moved else None,
        "gate_results": _gate_results_of_event(history, event),
        "trust_level": event.data.get("trust_level"),
        "human_approval": _decider_fields_or_none(history, event),
        "duration_seconds": _seconds_in_left_state_or_since_event(history, event, moved),
        "kind": event.kind,
        "sequence": event.seq,
        "actor": event.actor,
        "cause": event.trigger,
    }
    history.before = event.at
    return told_as


def _comma_separated_target_states(event: Event) -> str:
    """Return the states that the event leads to: of a fork all of them, separated by commas."""
    if event.kind != "token.forked":
        return event.target
    # The first is the forked token itself, the others are its branches.
    return ",".join(str(child["station"]) for child in event.data.get("tokens", ())[1:]) or event.target


def _seconds_in_left_state_or_since_event(history: _ExportState, event: Event, moved: bool) -> int:
    """Return how long the position was in the state that a transition leaves; for other events the time since
    the previous event."""
    began = history.since.get(event.token_id or 0, history.before) if moved else history.before
    if moved:
        for token in event.data.get("tokens", ()):
            # Of all that moved, branches of a fork too
            history.since[token["id"]] = event.at
    return int((event.at - began).total_seconds()) if began else 0


def handoff_id(source: str, target: str, at: datetime) -> str:
    """`HO-{source}-{target}-{YYYYMMDDTHHMMSS}`, UTC."""
    return f"HO-{_text_as_id_part(source)}-{_text_as_id_part(target)}-{_in_utc(at):%Y%m%dT%H%M%S}"


def _handoff_id_of_event_or_none(event: Event, source: str | None, target: str | None) -> str | None:
    """The id of a handoff of work. A fork hands over to several stations, a join takes over from several."""
    if event.kind != "token.moved" or event.source == event.target or not source or not target:
        return None
    return str(event.data.get("handoff") or handoff_id(source, target, event.at))


def _comma_separated_worker_names_or_none(line: ParsedLine, places: str) -> str | None:
    """Return who works at each station: its agent, or else the station itself. Ends have nobody."""
    stations = [line.stations_by_key.get(place) for place in places.split(",")]
    names = [_agent_or_station_key(station) for station in stations if station]
    return ",".join(dict.fromkeys(names)) or None


def _agent_or_station_key(station: Any) -> str:
    return str(getattr(station, "agent", "") or station.work.get("agent") or station.key)


# What gates had to do with it


def _gate_result_trigger_of_event_or_empty(event: Event) -> str:
    return (
        gate_results.gate_passed_or_failed_trigger(event.decision)
        if event.kind in TRANSITIONS and event.decision
        else ""
    )


def _gate_results_of_event(history: _ExportState, event: Event) -> dict[str, str]:
    if event.kind == "gate.decided":
        visit = history.visits.get(str(event.data.get("visit")))
        return {visit.gate: gate_results.pass_or_fail(visit.word == "approve")} if visit else {}
    if event.kind not in TRANSITIONS or event.decision is None:
        return {}
    return gate_results.pass_or_fail_by_check(event.decision)


def _decider_fields_or_none(history: _ExportState, event: Event) -> dict[str, Any] | None:
    """Return who decided, for the event of the decision and for the transition it led to."""
    visit = None
    if event.kind == "gate.decided":
        visit = history.visits.get(str(event.data.get("visit")))
    elif event.kind in TRANSITIONS and event.decision is not None:
        visit = history.visits.get(event.decision.cause.removeprefix("gate:"))
    if visit is None:
        return None
    return {
        "gate": visit.gate,
        "decision": visit.word,
        "by": str(visit.decided_by or DUE_TIME),
        "reason": visit.reason,
        "evidence_digest": visit.evidence_digest,
        **_stand_in_field(visit),
        **({"self_approved": True} if visit.self_approved else {}),
        **({"overridden": True} if visit.overridden else {}),
    }


def _stand_in_field(visit: GateVisit) -> dict[str, str]:
    """Return for whom the deciding vote stood in."""
    for vote in visit.votes.all():
        if vote.stands_for_id and vote.user_id == visit.decided_by_id:
            return {"in_place_of": vote.entitled_as["username"]}
    return {}


def _text_as_id_part(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def _in_utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
