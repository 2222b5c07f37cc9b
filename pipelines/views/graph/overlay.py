"""A task's way on the drawing of its line: what was taken, where it is, what is still ahead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pipelines.models import ENDED, GateVisit, Job, Status, Task, Token
from pipelines.views.graph.shapes import Drawing, Edge, Kind, Node

TONES = {
    Status.RUNNING: "active",
    Status.EVALUATING: "active",
    Status.QUEUED: "active",
    Status.AWAITING_REVIEW: "attention",
    Status.HELD: "attention",
    Status.BLOCKED: "attention",
    Status.STUCK: "danger",
    Status.FAILED: "danger",
    Status.COMPLETED: "ok",
    Status.CANCELLED: "taken",
}


@dataclass(slots=True)
class Place:
    """`state` of a node (see the graph components); `here`: since when a token is there; `spent` seconds before."""

    state: str = "untaken"
    here: datetime | None = None
    spent: float = 0
    visits: int = 0
    expected: float | None = None


@dataclass(slots=True)
class Overlay:
    places: dict[str, Place] = field(default_factory=dict)
    taken: dict[int, int] = field(default_factory=dict)  # index of the edge: how often


def lay_over(
    drawing: Drawing,
    task: Task,
    tokens: Sequence[Token],
    jobs: Sequence[Job],
    visits: Sequence[GateVisit],
    expected: Mapping[str, float | None],
) -> Overlay:
    overlay = Overlay({node.id: Place() for node in drawing.nodes.values()})
    overlay.places["start"].state = "taken"
    _stations(drawing, overlay, task, jobs, expected)
    _gates(drawing, overlay, visits)
    _tokens(overlay, tokens)
    # A rule whose gate asks has brought the task to the gate, but not yet through it.
    rules_waiting = {str(token.wait.get("rule")) for token in tokens if token.status == Status.AWAITING_REVIEW}
    for index, edge in enumerate(drawing.edges):
        overlay.taken[index] = _times(drawing, edge, task, rules_waiting)
    return overlay


def _stations(
    drawing: Drawing, overlay: Overlay, task: Task, jobs: Sequence[Job], expected: Mapping[str, float | None]
) -> None:
    spent: defaultdict[str, float] = defaultdict(float)
    for job in jobs:
        if job.ended_at:
            spent[job.station] += (job.ended_at - (job.started_at or job.created_at)).total_seconds()
    for node in drawing.nodes.values():
        if node.kind is not Kind.STATION:
            continue
        place = overlay.places[node.id]
        place.visits, place.spent = task.visits.get(node.key, 0), spent[node.key]
        place.expected = expected.get(node.key)
        if place.visits:
            place.state = "taken"


def _gates(drawing: Drawing, overlay: Overlay, visits: Sequence[GateVisit]) -> None:
    for node in drawing.nodes.values():
        if node.kind is not Kind.GATE:
            continue
        place = overlay.places[node.id]
        for visit in visits:
            if visit.gate in node.keys:
                _at_gate(place, visit)


def _at_gate(place: Place, visit: GateVisit) -> None:
    place.visits += 1
    if visit.state == GateVisit.State.OPEN:
        place.state, place.here = "attention", visit.opened_at
        return
    if visit.decided_at:
        place.spent += (visit.decided_at - visit.opened_at).total_seconds()
    if place.state != "attention":
        place.state = "taken"


def _tokens(overlay: Overlay, tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.forked:
            continue
        if token.status in ENDED:
            place = overlay.places.get(f"end:{token.end}")
            if place:
                place.state = TONES[Status(token.status)]
            continue
        place = overlay.places.get(f"station:{token.station}")
        if place and token.status != Status.AWAITING_REVIEW:
            place.state, place.here = TONES[Status(token.status)], token.entered_at


def _times(drawing: Drawing, edge: Edge, task: Task, waiting: set[str]) -> int:
    target: Node = drawing.nodes[edge.target]
    if edge.source == "start":
        return 1
    if target.kind is Kind.GATE:
        return task.rules.get(edge.rule, 0) + (edge.rule in waiting)
    if edge.rule:
        return task.rules.get(edge.rule, 0)
    return task.edges.get(f"{drawing.nodes[edge.source].key}->{target.key}", 0)
