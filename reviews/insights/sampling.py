"""Gates that were only ever approved of late, what asking about a sample of them would have missed, and gates that fell
back from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.db.models.fields.json import KeyTextTransform

from pipelines.models import Line, LineEvent, Project, SampledDraw
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.sampling import sampling_key
from pipelines.queries.versions import by_id
from pipelines.routing.decide.sampling import draw_number_of_chain, is_draw_selected
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.sentences.sampling import fallback_cause
from reviews.models.statements import CHAIN_ROOTS, UNDISPUTED_APPROVALS

UNREMARKED = 200
"""So many approvals without a remark, one after the other, and a gate is offered for sampling."""
RECENT_DAYS = 90
"""Days of which approvals are counted for that."""
RATES = (2, 5, 10, 20)
MAX_FALLBACKS = 50


@dataclass(frozen=True, slots=True)
class Rate:
    """Back-test of a sampling rate over the newest approvals: what one in `one_in` would have asked about,
    and what of the others was reverted."""

    one_in: int
    asked: int
    unseen: int
    reverted: int


@dataclass(frozen=True, slots=True)
class SampleOffer:
    """A gate that was approved `approvals` times without a remark; `rates`: a back-test over the newest of them."""

    line: Line
    gate: str
    name: str
    approvals: int
    rates: Sequence[Rate]


def sampling_offers_for_always_approved_gates(project: Project) -> list[SampleOffer]:
    """Gates to sample, of what is live: those that always ask, and were only ever approved lately. Three statements."""
    rows = fetch(UNDISPUTED_APPROVALS, {"project": project.pk, "most": UNREMARKED, "days": RECENT_DAYS})
    lines = _lines_by_id(row[0] for row in rows)
    asks = [row for row in rows if _always_asks_and_is_not_delivered(lines[row[0]], row[1])]
    if not asks:
        return []
    # Columns 3 and 4 of UNDISPUTED_APPROVALS: the newest visits, and their tasks
    visits, tasks = ([entry for row in asks for entry in row[place]] for place in (3, 4))
    roots: dict[UUID, list[tuple[int, bool]]] = {}
    for visit, root, reverted in fetch(
        CHAIN_ROOTS, {"project": project.pk, "visits": visits, "tasks": tasks}
    ):
        roots.setdefault(visit, []).append((root, reverted))
    sample_offers = []
    for line_id, gate, approvals, newest, _tasks in asks:
        about = [root for visit in newest for root in roots.get(visit, ())]
        key, name = sampling_key(), f"{line_id}/{gate}"
        draws = [(draw_number_of_chain(key, name, str(root)), reverted) for root, reverted in about]
        rates = [_rate_and_missed_reverts_at(one_in, draws) for one_in in RATES]
        sample_offers.append(
            SampleOffer(lines[line_id], gate, _live_gate_name_or_key(lines[line_id], gate), approvals, rates)
        )
    return sample_offers


@dataclass(frozen=True, slots=True)
class Fallback:
    """A gate that asks about all again since `at`, and why."""

    line: Line
    gate: str
    name: str
    cause: str
    at: datetime


def gates_asking_about_all_again(project: Project) -> list[Fallback]:
    """Gates that ask about all again, the newest first, by one statement."""
    active = SampledDraw.objects.filter(line=OuterRef("line"), gate=OuterRef("gate"), about=SampledDraw.ALL)
    rows = LineEvent.objects.filter(line__project=project, kind=LineEvent.RecordKind.ASKS_ALL)
    rows = (
        rows.annotate(gate=KeyTextTransform("gate", "data"))
        .alias(active=Exists(active))
        .filter(active=True)
        .select_related("line")
    )
    newest: dict[tuple[int, str], Fallback] = {}
    for event in rows.order_by("-at", "-pk")[:MAX_FALLBACKS]:
        data = event.data
        cause = fallback_cause(data["cause"], data["task"])
        row = Fallback(event.line, data["gate"], data["name"], cause, event.at)
        newest.setdefault((event.line_id, data["gate"]), row)
    return list(newest.values())


def _rate_and_missed_reverts_at(one_in: int, draws: Sequence[tuple[int, bool]]) -> Rate:
    """Return the rate as the gate would draw with its key (law §15). `draws`: of each approval, and whether
    it was reverted."""
    unseen = [reverted for draw_value, reverted in draws if not is_draw_selected(draw_value, one_in)]
    return Rate(one_in, len(draws) - len(unseen), len(unseen), sum(unseen))


def _always_asks_and_is_not_delivered(line: Line, gate: str) -> bool:
    live_gate = by_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
    return (
        live_gate is not None
        and live_gate.always_asks
        and gate not in _keys_of_gates_whose_approval_is_delivered(line)
    )


def _keys_of_gates_whose_approval_is_delivered(line: Line) -> set[str]:
    """Return the gates whose approval is delivered: what they did not ask about could not be."""
    stations = by_id(line.live_id).stations if line.live_id else ()
    return {str(station.work.get("gate")) for station in stations if station.kind == DELIVER.key}


def _live_gate_name_or_key(line: Line, gate: str) -> str:
    """Its name in what is live; the key of one that only older versions have."""
    live_gate = by_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
    return live_gate.name if live_gate else gate


def _lines_by_id(ids: Any) -> dict[int, Line]:
    return Line.objects.in_bulk(set(ids))
