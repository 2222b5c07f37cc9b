"""The course that each edge takes, once layers, lanes and rows are known and before the columns get their room."""

from __future__ import annotations

from collections import defaultdict

from pipelines.web.graph.shapes import Course, Drawing, Node


def choose(drawing: Drawing) -> None:
    standing = {(node.rank, node.lane) for node in drawing.nodes.values()}
    lanes: defaultdict[int, list[tuple[int, int, str]]] = defaultdict(list)  # what edges take up already
    for edge in drawing.edges:
        source, target = drawing.nodes[edge.source], drawing.nodes[edge.target]
        if source is target:
            edge.course = Course.LOOP
        elif target.rank <= source.rank:
            edge.course = Course.BACK_LEFT if _below(drawing, target) else Course.BACK_UP
        elif target.rank == source.rank + 1:
            edge.course = Course.STRAIGHT if source.port(edge.port) == target.middle else Course.STEP
        elif _free(standing, lanes[target.lane], source, target):
            lanes[target.lane].append((source.rank, target.rank, target.id))
            edge.course = Course.STRAIGHT if source.port(edge.port) == target.middle else Course.LANE
        else:
            edge.course = Course.TRACK


def _below(drawing: Drawing, target: Node) -> bool:
    return any(node.rank == target.rank and node.lane > target.lane for node in drawing.nodes.values())


def _free(
    standing: set[tuple[int, int]], taken: list[tuple[int, int, str]], source: Node, target: Node
) -> bool:
    if any((rank, target.lane) in standing for rank in range(source.rank + 1, target.rank)):
        return False
    return all(
        target.id == other or end <= source.rank or start >= target.rank for start, end, other in taken
    )
