"""Pictures of the lines that ship with Gateline, as the pages of a new installation show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.formats import native
from pipelines.lines.demo import example
from pipelines.lines.drawings import picture_digest
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.routing.analysis.lint.examination import examine_line
from pipelines.routing.document.line import read_line
from pipelines.web.editor.canvas_drawing import canvas_picture_or_none
from pipelines.web.editor.findings import examination_data
from pipelines.web.lines.drawing import picture_of


def shipped_pictures() -> dict[str, Mapping[str, Any]]:
    """Return the pictures of the demo's lines and of the templates, by their digests."""
    return {picture_digest(picture): picture for picture in (*_demo_pictures(), *_template_pictures())}


def _demo_pictures() -> Iterator[Mapping[str, Any]]:
    """Yield each line as pages show it and as its canvas does."""
    for key in example.KEYS:
        draft = native.loads(example.example_line_text(key, ""))
        line = read_line(draft)
        yield picture_of(line).given
        # Neither people nor guarantees move anything on a canvas
        findings = examination_data(examine_line(line), draft)
        yield canvas_picture_or_none(draft, {**findings, "taken": {}}) or {}


def _template_pictures() -> Iterator[Mapping[str, Any]]:
    for starter in STARTERS:
        yield picture_of(starter.line).given
