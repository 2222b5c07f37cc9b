"""A drawing cut down to what one task's page needs: the main way, and whatever the task has seen besides."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from pipelines.web.graph.layout import forward_edges, main_way
from pipelines.web.graph.shapes import Drawing, Edge, Node, NodeKind


def reduced(
    drawing: Drawing, visited: Collection[str], rules: Collection[str], ends: Collection[str]
) -> Drawing:
    """Edges on the main way or of these rules; the stations, gates and ends that they or the task touch."""
    main = main_way(drawing, forward_edges(drawing))
    steps = set(pairwise(main))
    edges = [
        edge for edge in drawing.edges if edge.stopped or edge.rule in rules or _first(drawing, edge, steps)
    ]
    touched = {*main, *(edge.source for edge in edges), *(edge.target for edge in edges)}
    kept = [node for node in drawing.nodes.values() if node.id in touched or _seen(node, visited, ends)]
    short = Drawing({node.id: node for node in kept}, edges)
    _ports(drawing, short, steps)
    return short


def _first(drawing: Drawing, edge: Edge, steps: set[tuple[str, str]]) -> bool:
    """Of several rules that lead along the main way the first one is drawn."""
    if (edge.source, edge.target) not in steps:
        return False
    return edge is next(
        one for one in drawing.edges if (one.source, one.target) == (edge.source, edge.target)
    )


def _seen(node: Node, visited: Collection[str], ends: Collection[str]) -> bool:
    return node.key in (
        visited if node.kind is NodeKind.STATION else ends if node.kind is NodeKind.END else ()
    )


def _ports(drawing: Drawing, short: Drawing, steps: set[tuple[str, str]]) -> None:
    """Ports close up: the one on the main way first, so that it is a straight line."""
    numbers = {(port.node, port.rule): port for port in drawing.ports}
    for node in short.nodes.values():
        node.narrow = True
        leaving = [edge for edge in short.edges if edge.source == node.id]
        leaving.sort(key=lambda edge: ((edge.source, edge.target) not in steps, edge.source == edge.target))
        slots: dict[tuple[int, str], int] = {}
        for edge in leaving:
            slot = slots.setdefault((edge.port, edge.rule), len(slots) + 1)
            port = numbers.get((node.id, edge.rule))
            if port and port not in short.ports:
                port.slot = slot
                short.ports.append(port)
            edge.port = slot
            edge.label = edge.label if edge.source == edge.target else ""
        node.ports = max(1, len(slots))
