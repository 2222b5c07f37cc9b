"""The paths of the edges, once the nodes stand. Loops back run below everything; corners are rounded when drawn."""

from __future__ import annotations

from collections import defaultdict

from pipelines.web.graph.layout import ARROW, MARGIN, RUN, run_of, runs_in
from pipelines.web.graph.shapes import JOIN_ROOM, Course, Drawing, Edge, Node

TRACK = 22
LOOP_OUT, LOOP_DOWN = 13, 16  # between the port's circle and the labels

Point = tuple[float, float]
ON_TRACK = (Course.TRACK, Course.BACK_UP, Course.BACK_LEFT)


def draw(drawing: Drawing) -> Drawing:
    """Sets points, label place and dot of every edge, and the places of the ports."""
    runs = _run_places(drawing)
    tracks = _track_places(drawing, runs)
    for edge in drawing.edges:
        points = _points(drawing, edge, runs, tracks)
        edge.points = points
        start = points[0]
        edge.label_x, edge.label_y = start[0] + 18, start[1] - 5
        if edge.fork and len(points) > 1:
            edge.dot = points[1] if len(points) > 2 else _run_dot(drawing, edge, runs)
    for port in drawing.ports:
        node = drawing.nodes[port.node]
        port.x, port.y = node.x + node.width, node.port(port.slot)
    return drawing


def _run_places(drawing: Drawing) -> dict[tuple[str, str], float]:
    """x of every vertical run: at the right of its gap, before the arrow heads."""
    left: defaultdict[int, float] = defaultdict(lambda: float("inf"))
    for node in drawing.nodes.values():
        left[node.rank] = min(left[node.rank], node.x - (JOIN_ROOM if node.join else 0))
    right: defaultdict[int, float] = defaultdict(float)
    for node in drawing.nodes.values():
        right[node.rank] = max(right[node.rank], node.x + node.width)
    places: dict[tuple[str, str], float] = {}
    for rank in range(max(right, default=0) + 1):
        found = runs_in(drawing, rank)
        next_left = left[rank + 1] if rank + 1 in left else right[rank] + ARROW + RUN * (len(found) + 1)
        for number, run in enumerate(found):
            places[run] = next_left - ARROW - RUN * (len(found) - 1 - number)
    drawing.width = max([drawing.width, *(x + MARGIN for x in places.values())])
    return places


def _track_places(drawing: Drawing, runs: dict[tuple[str, str], float]) -> dict[str, float]:
    """y of the track that leads to each target; edges to one target share it, and short ones lie on top."""
    spans: dict[str, tuple[float, float]] = {}
    for edge in drawing.edges:
        if edge.course in ON_TRACK:
            xs = (runs["out", run_of(edge)], _landing(drawing, edge, runs))
            low, high = spans.get(edge.target, xs)
            spans[edge.target] = (min(low, *xs), max(high, *xs))
    places: dict[str, float] = {}
    used: list[list[tuple[float, float]]] = []
    for target, span in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        level = next((n for n, row in enumerate(used) if all(_apart(span, one) for one in row)), len(used))
        if level == len(used):
            used.append([])
        used[level].append(span)
        places[target] = drawing.height - MARGIN + TRACK * (level + 1)
    if used:
        drawing.height += TRACK * len(used) + MARGIN / 2
    return places


def _apart(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[1] + RUN < other[0] or other[1] + RUN < one[0]


def _landing(drawing: Drawing, edge: Edge, runs: dict[tuple[str, str], float]) -> float:
    """Where an edge leaves its track."""
    if edge.course is Course.BACK_UP:
        target = drawing.nodes[edge.target]
        return target.x + target.width / 2
    return runs["in", edge.target]


def _points(
    drawing: Drawing, edge: Edge, runs: dict[tuple[str, str], float], tracks: dict[str, float]
) -> list[Point]:
    source, target = drawing.nodes[edge.source], drawing.nodes[edge.target]
    start = (source.x + source.width, source.port(edge.port))
    entry = (target.x - (JOIN_ROOM if target.join else 0), target.middle)
    if edge.course is Course.STRAIGHT:
        return [start, entry]
    if edge.course is Course.LOOP:
        return _loop(source, start)
    run = runs["out", run_of(edge)]
    if edge.course in (Course.STEP, Course.LANE):
        return [start, (run, start[1]), (run, entry[1]), entry]
    track, landing = tracks[edge.target], _landing(drawing, edge, runs)
    if edge.course is Course.BACK_UP:
        return [start, (run, start[1]), (run, track), (landing, track), (landing, target.y + target.height)]
    if edge.course is Course.BACK_LEFT:
        entry = (entry[0], min(entry[1] + 14, target.y + target.height - 8))
    return [start, (run, start[1]), (run, track), (landing, track), (landing, entry[1]), entry]


def _loop(node: Node, start: Point) -> list[Point]:
    out, down, up = start[0] + LOOP_OUT, node.y + node.height + LOOP_DOWN, node.x + node.width / 2
    return [start, (out, start[1]), (out, down), (up, down), (up, node.y + node.height)]


def _run_dot(drawing: Drawing, edge: Edge, runs: dict[tuple[str, str], float]) -> Point | None:
    x = runs.get(("out", run_of(edge)))
    return (x, drawing.nodes[edge.source].port(edge.port)) if x is not None else None
