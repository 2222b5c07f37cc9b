"""What a drawing is made of. All lengths are px of the SVG; y grows downwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

STATION_WIDTH, NARROW_WIDTH, STATION_HEIGHT = 152, 120, 60
PORT_FIRST, PORT_STEP = 30, 24  # port 1 stands at the line of its lane, the next ones every 24 px
GATE_WIDTH, GATE_HEIGHT = 40, 36
GATE_NAME = 22  # its name stands over it
END_HEIGHT = 32
START = 32
OVER = 18  # room for the words over a node
JOIN_ROOM = 10  # a join's bar stands this far before its station
CHARACTER = 6.4  # mean width of one in 12 px Plex Sans
CUT = 24  # longer labels are cut, whole on hover


class NodeKind(StrEnum):
    START = "start"
    STATION = "station"
    GATE = "gate"
    END = "end"
    RETURN = "return"  # “back to where it came from”: the target @origin


class Course(StrEnum):
    """How an edge gets to its target."""

    STRAIGHT = "straight"
    STEP = "step"  # to the next layer, with one vertical run
    LANE = "lane"  # over several layers along the free lane of its target
    TRACK = "track"  # over several layers along a track below everything
    BACK_UP = "back_up"  # back along a track, then up into its target from below
    BACK_LEFT = "back_left"  # the same, but something stands below the target: in from its left
    LOOP = "loop"  # to the same station, directly below it


@dataclass(slots=True)
class Node:
    id: str
    kind: NodeKind
    label: str
    narrow: bool = False
    key: str = ""
    keys: tuple[str, ...] = ()  # of stacked gates
    note: str = ""  # the small line over a station's name, or under a gate
    look: str = ""  # a station's kind of work, a gate's mode, an end's kind: which icon
    ports: int = 1
    rank: int = 0
    lane: int = 0
    x: float = 0
    y: float = 0
    join: str = ""  # words of a join that stands before it
    bar: str = ""  # words of a station gate
    state: str = ""  # see the graph components
    over: str = ""  # words over it: how long a task was there
    over_tone: str = ""
    over_since: datetime | None = None  # where that time goes on: from when, with {time} in `over_words`
    over_words: str = ""

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def join_x(self) -> float:
        return self.x - JOIN_ROOM

    @property
    def over_y(self) -> float:
        return self.y - OVER + (10 if self.kind is not NodeKind.GATE else 10 - GATE_NAME)

    @property
    def width(self) -> float:
        match self.kind:
            case NodeKind.START:
                return START
            case NodeKind.STATION:
                return NARROW_WIDTH if self.narrow else STATION_WIDTH
            case NodeKind.GATE:
                return GATE_WIDTH
            case _:
                return max(88, round(len(self.short) * 7) + 46)

    @property
    def height(self) -> float:
        match self.kind:
            case NodeKind.START:
                return START
            case NodeKind.STATION:
                return STATION_HEIGHT + PORT_STEP * max(0, self.ports - 1)
            case NodeKind.GATE:
                return GATE_HEIGHT
            case _:
                return END_HEIGHT

    @property
    def above(self) -> float:
        """How much of it stands over the line of its lane."""
        return PORT_FIRST if self.kind is NodeKind.STATION else self.height / 2

    @property
    def centre(self) -> float:
        return self.x + self.width / 2

    @property
    def middle(self) -> float:
        """The y of its lane's line."""
        return self.y + self.above

    def port(self, number: int) -> float:
        """The y of the edge that leaves by port `number` (from 1)."""
        return self.middle + (PORT_STEP * (number - 1) if self.kind is NodeKind.STATION else 0)

    @property
    def short(self) -> str:
        return cut(self.label, 17 if self.kind is NodeKind.STATION else CUT)


@dataclass(slots=True)
class Edge:
    """From a port to a node. `rule` is its identity; "" where the policy or a gate leads on."""

    source: str
    target: str
    port: int = 1
    rule: str = ""
    label: str = ""
    policy: bool = False
    fork: bool = False
    stopped: bool = False  # where a task ended that no rule of its line leads to an end
    arrow: bool = True
    course: Course = Course.STRAIGHT
    points: list[tuple[float, float]] = field(default_factory=list)
    label_x: float = 0
    label_y: float = 0
    dot: tuple[float, float] | None = None
    state: str = ""

    @property
    def short(self) -> str:
        return cut(self.label)


@dataclass(slots=True)
class Port:
    """The circle with a rule's number where its edge leaves; `slot` counts the ports of a node from the top."""

    node: str
    number: int
    slot: int
    x: float
    y: float
    rule: str
    label: str
    state: str = ""


@dataclass(slots=True)
class Drawing:
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    width: float = 0
    height: float = 0
    over: bool = False  # whether words stand over the nodes

    def add(self, node: Node) -> Node:
        return self.nodes.setdefault(node.id, node)


def cut(text: str, most: int = CUT) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
