"""The path of a task in one small row: the main way of its line, what of it is done, and where the task is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipelines.models import Status, Task, Token
from pipelines.queries import versions
from pipelines.web.graph.build import build
from pipelines.web.graph.layout import forward_edges, main_way
from pipelines.web.graph.shapes import NodeKind

MOST = 9
STEP = 26
SHAPES = (NodeKind.STATION, NodeKind.GATE, NodeKind.END)


@dataclass(frozen=True, slots=True)
class StripStep:
    """`state`: done, here or ahead. `x`: where its middle is."""

    shape: str
    name: str
    state: str
    x: int


@dataclass(frozen=True, slots=True)
class Strip:
    """`before` and `after`: whether there is more of it. `place` and `count` say where the task is; 0: beside it."""

    steps: Sequence[StripStep]
    before: bool
    after: bool
    place: int
    count: int

    @property
    def width(self) -> int:
        return STEP * len(self.steps)


PathStep = tuple[NodeKind, str, tuple[str, ...], str]
"""Shape, key, the keys of stacked gates, and name."""


@lru_cache(maxsize=512)
def _way(version_id: int) -> tuple[PathStep, ...]:
    """Of a version, which never changes."""
    drawing = build(versions.by_id(version_id))
    nodes = [drawing.nodes[node] for node in main_way(drawing, forward_edges(drawing))]
    return tuple((node.kind, node.key, node.keys, node.label) for node in nodes if node.kind in SHAPES)


def strip_of(task: Task, tokens: Sequence[Token]) -> Strip:
    """`tokens`: its living positions."""
    way = _way(task.pinned_id)
    asked = {key for token in tokens for key in token.wait.get("gates", ()) if _waits(token)}
    stations = {token.station for token in tokens if not _waits(token)}
    states = _states(task, way, asked, stations)
    here = next((n for n in reversed(range(len(way))) if states[n] == "here"), None)
    done = max((n for n, state in enumerate(states) if state == "done"), default=0)
    start = max(0, min((done if here is None else here) - MOST // 2, len(way) - MOST))
    steps = [
        StripStep(str(kind), name, states[n], STEP * (n - start) + STEP // 2)
        for n, (kind, _key, _gates, name) in enumerate(way)
        if start <= n < start + MOST
    ]
    return Strip(steps, start > 0, start + MOST < len(way), 0 if here is None else here + 1, len(way))


def _waits(token: Token) -> bool:
    return token.status == Status.AWAITING_REVIEW


def _states(task: Task, way: Sequence[PathStep], asked: set[str], stations: set[str]) -> list[str]:
    """From the end: a gate is passed when what comes after it was reached."""
    found: list[str] = []
    reached = False
    for kind, key, gates, _name in reversed(way):
        here = bool(asked & set(gates)) if kind is NodeKind.GATE else key in stations
        done = bool(task.visits.get(key)) if kind is NodeKind.STATION else task.end == key
        passed = reached if kind is NodeKind.GATE else done
        found.append("here" if here else "done" if passed else "ahead")
        reached = reached or here or done
    return found[::-1]
