"""Gates that were only ever approved of late, and what asking about a sample of them would have missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pipelines.models import Line, Project
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.sampling import sampling_key
from pipelines.queries.versions import by_id
from pipelines.routing.decide.sampling import draw_number, is_below
from reviews.models.statements import CHAIN_ROOTS, UNDISPUTED_APPROVALS

UNREMARKED = 200
"""So many approvals without a remark, one after the other, and a gate is offered for sampling."""
RECENT_DAYS = 90
"""Days of which approvals are counted for that."""
RATES = (2, 5, 10, 20)


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


def offers(project: Project) -> list[SampleOffer]:
    """Gates to sample, of what is live: those that always ask, and were only ever approved lately. Three statements."""
    rows = fetch(UNDISPUTED_APPROVALS, {"project": project.pk, "most": UNREMARKED, "days": RECENT_DAYS})
    lines = _lines(row[0] for row in rows)
    asks = [row for row in rows if _always_asks(lines[row[0]], row[1])]
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
        draws = [(draw_number(key, name, str(root)), reverted) for root, reverted in about]
        rates = [_rate(one_in, draws) for one_in in RATES]
        sample_offers.append(SampleOffer(lines[line_id], gate, _name(lines[line_id], gate), approvals, rates))
    return sample_offers


def _rate(one_in: int, draws: Sequence[tuple[int, bool]]) -> Rate:
    """Return the rate as the gate would draw with its key (law §15). `draws`: of each approval, and whether
    it was reverted."""
    unseen = [reverted for draw_value, reverted in draws if not is_below(draw_value, one_in)]
    return Rate(one_in, len(draws) - len(unseen), len(unseen), sum(unseen))


def _always_asks(line: Line, gate: str) -> bool:
    live_gate = by_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
    return live_gate is not None and live_gate.always_asks


def _name(line: Line, gate: str) -> str:
    """Its name in what is live; the key of one that only older versions have."""
    live_gate = by_id(line.live_id).gates_by_key.get(gate) if line.live_id else None
    return live_gate.name if live_gate else gate


def _lines(ids: Any) -> dict[int, Line]:
    return Line.objects.in_bulk(set(ids))
