"""A line drawn on the server as SVG, with the shapes of the canvas (screens §1)."""

from __future__ import annotations

from pipelines.routing.line import Line
from pipelines.views.graph.build import build, end_label, gate_name
from pipelines.views.graph.layout import place
from pipelines.views.graph.route import draw
from pipelines.views.graph.shapes import Drawing, Edge, Kind, Node

__all__ = ["Drawing", "Edge", "Kind", "Node", "drawing_of", "end_label", "gate_name"]


def drawing_of(line: Line) -> Drawing:
    """Nodes with their places, edges with their points."""
    return draw(place(build(line)))
