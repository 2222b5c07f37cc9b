"""Where the nodes stand: layers from left to right along the order of the stations, lanes from top to bottom.

The main lane is the longest way from the start to a completed end. Edges that lead back in the order do not count for
layers. A gate takes a layer of its own, so that its hexagon sits on the edge with room around it.
"""

from __future__ import annotations

from collections import defaultdict

from pipelines.web.graph import courses
from pipelines.web.graph.shapes import CHARACTER, GATE_NAME, OVER, Course, Drawing, Edge, Node, NodeKind

MARGIN = 24
LANE_GAP = 36
RUN = 12  # px between two vertical runs in the gap between layers
ARROW = 20
GAP = 40


def place(drawing: Drawing) -> Drawing:
    """Sets rank, lane, x and y of every node."""
    forward = forward_edges(drawing)
    ranks_of(drawing, forward)
    _lanes(drawing, forward)
    _rows(drawing)
    courses.choose(drawing)
    _columns(drawing)
    return drawing


def forward_edges(drawing: Drawing) -> list[Edge]:
    """All edges but those that lead back (or to the node itself) in the order of the document."""
    order = {
        node.id: number for number, node in enumerate(drawing.nodes.values()) if node.kind is NodeKind.STATION
    }
    order["start"] = -1

    def position(edge_end: str) -> float:
        if edge_end in order:
            return order[edge_end]
        if edge_end.startswith("gate:"):
            return order[f"station:{edge_end.split(':')[1]}"] + 0.5
        return float("inf")

    return [edge for edge in drawing.edges if position(edge.source) < position(edge.target)]


def ranks_of(drawing: Drawing, forward: list[Edge]) -> None:
    """Longest path from the start. Stations come in document order, so that one pass in that order settles them."""
    into: defaultdict[str, list[str]] = defaultdict(list)
    for edge in forward:
        into[edge.target].append(edge.source)
    for node in _in_order(drawing):
        sources = [drawing.nodes[source].rank + 1 for source in into[node.id]]
        node.rank = max(sources, default=0 if node.kind is NodeKind.START else 1)


def _in_order(drawing: Drawing) -> list[Node]:
    """Start, then each station with the gates of its rules, then what only ends."""
    gates: defaultdict[str, list[Node]] = defaultdict(list)
    for node in drawing.nodes.values():
        if node.kind is NodeKind.GATE:
            gates[node.id.split(":")[1]].append(node)
    ordered: list[Node] = [drawing.nodes["start"]]
    for node in drawing.nodes.values():
        if node.kind is NodeKind.STATION:
            ordered += [node, *gates[node.key]]
    return ordered + [n for n in drawing.nodes.values() if n.kind in (NodeKind.END, NodeKind.RETURN)]


def _lanes(drawing: Drawing, forward: list[Edge]) -> None:
    main = set(main_way(drawing, forward))
    taken: set[tuple[int, int]] = set()
    for node_id in main:
        taken.add((drawing.nodes[node_id].rank, 0))
    into: defaultdict[str, list[Node]] = defaultdict(list)
    for edge in forward:
        into[edge.target].append(drawing.nodes[edge.source])
    for node in sorted(_in_order(drawing), key=lambda one: one.rank):
        if node.id in main:
            continue
        beside = [source.lane for source in into[node.id] if source.id not in main]
        lane = max(1, min(beside, default=1))
        while (node.rank, lane) in taken:
            lane += 1
        node.lane = lane
        taken.add((node.rank, lane))


def main_way(drawing: Drawing, forward: list[Edge]) -> list[str]:
    """The longest way to a completed end (else to anywhere); of equal ones the first in rule order."""
    away: defaultdict[str, list[str]] = defaultdict(list)
    for edge in forward:
        away[edge.source].append(edge.target)
    best: dict[str, tuple[int, list[str]]] = {}
    for node in reversed(_in_order(drawing)):
        own = 1_000 if node.kind is NodeKind.END and node.look == "completed" else 0
        found = [best[target] for target in away[node.id] if target in best]
        longest = max(found, key=lambda way: way[0], default=(0, []))
        best[node.id] = (own + longest[0] + 1, [node.id, *longest[1]])
    return best["start"][1]


def _rows(drawing: Drawing) -> None:
    above: defaultdict[int, float] = defaultdict(float)
    below: defaultdict[int, float] = defaultdict(float)
    for node in drawing.nodes.values():
        name = (GATE_NAME if node.kind is NodeKind.GATE else 0) + (OVER if drawing.over else 0)
        above[node.lane] = max(above[node.lane], node.above + name)
        below[node.lane] = max(below[node.lane], node.height - node.above)
    y, line = float(MARGIN), {}
    for lane in sorted(above):
        line[lane] = y + above[lane]
        y = line[lane] + below[lane] + LANE_GAP
    for node in drawing.nodes.values():
        node.y = line[node.lane] - node.above
    drawing.height = y - LANE_GAP + MARGIN


def _columns(drawing: Drawing) -> None:
    ranks: defaultdict[int, list[Node]] = defaultdict(list)
    for node in drawing.nodes.values():
        ranks[node.rank].append(node)
    x = float(MARGIN)
    for rank in range(max(ranks, default=0) + 1):
        nodes = ranks[rank]
        width = max((_room(node) for node in nodes), default=0)
        for node in nodes:
            # Stations and gates stand in the middle of their column, ends at its left: their arrows are equally long.
            node.x = x if node.kind in (NodeKind.END, NodeKind.RETURN) else x + (width - node.width) / 2
        x += width + gap_after(drawing, rank)
    drawing.width = max((node.x + node.width for node in drawing.nodes.values()), default=0) + MARGIN


def _room(node: Node) -> float:
    """A gate's name may be wider than its hexagon."""
    return max(node.width, len(node.short) * CHARACTER) if node.kind is NodeKind.GATE else node.width


def gap_after(drawing: Drawing, rank: int) -> float:
    """Room for the labels at the ports, the vertical runs, and the arrow heads."""
    leaving = [edge for edge in drawing.edges if drawing.nodes[edge.source].rank == rank]
    return max(GAP, label_room(leaving) + RUN * len(runs_in(drawing, rank)) + ARROW)


def label_room(leaving: list[Edge]) -> float:
    return max((len(edge.short) * CHARACTER for edge in leaving if edge.label), default=0) + 18


def runs_in(drawing: Drawing, rank: int) -> list[tuple[str, str]]:
    """The vertical runs in the gap right of a layer, from left to right.

    Downward ones first, the lowest port leftmost, so that no horizontal part crosses a run; then upward ones; then the
    runs by which edges come up from a track to a node of the next layer.
    """
    down: dict[str, float] = {}
    up: dict[str, float] = {}
    into: dict[str, None] = {}
    for edge in drawing.edges:
        source, target = drawing.nodes[edge.source], drawing.nodes[edge.target]
        start = source.port(edge.port)
        if source.rank == rank and edge.course not in (Course.STRAIGHT, Course.LOOP):
            falls = edge.course not in (Course.STEP, Course.LANE) or target.middle > start
            (down if falls else up)[run_of(edge)] = start
        if target.rank == rank + 1 and edge.course in (Course.TRACK, Course.BACK_LEFT):
            into[edge.target] = None
    falling = sorted(down, key=lambda run: -down[run])
    rising = sorted((run for run in up if run not in down), key=lambda run: up[run])
    return [("out", run) for run in falling + rising] + [("in", target) for target in into]


def run_of(edge: Edge) -> str:
    """Edges of one port share their run: a fork is one edge that splits."""
    return f"{edge.source}:{edge.port}"
