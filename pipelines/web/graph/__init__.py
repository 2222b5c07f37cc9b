"""A line drawn on the server as SVG, with the shapes of the canvas."""

from __future__ import annotations

from collections.abc import Collection

from pipelines.routing.document.line import Line
from pipelines.web.graph.build import DrawnEnding, add_endings, build
from pipelines.web.graph.layout import place
from pipelines.web.graph.reduce import reduced
from pipelines.web.graph.route import draw
from pipelines.web.graph.shapes import Drawing, Edge, Node, NodeKind

__all__ = ["Drawing", "Edge", "Node", "NodeKind", "drawing_of", "way_of"]


def drawing_of(line: Line) -> Drawing:
    """Nodes with their places, edges with their points."""
    return draw(place(build(line)))


def way_of(
    line: Line,
    visited: Collection[str],
    rules: Collection[str],
    ends: Collection[str],
    endings: Collection[DrawnEnding] = (),
) -> Drawing:
    """The short drawing of a task's page: the main way, and what the task has seen besides. `visited` stations, `rules`
    taken or waiting at a gate, `ends` reached. Words over the nodes have room."""
    whole = build(line)
    add_endings(whole, line, endings)
    drawing = reduced(whole, visited, {*rules, *(each.rule for each in endings if each.rule)}, ends)
    drawing.over = True
    return draw(place(drawing))
