"""The layout of a draft as its canvas needs it: by what is known of its rules, too, which other pages do not show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.lines import drawings
from pipelines.models import Line, Project
from pipelines.queries import rule_ranks, versions
from pipelines.routing.document.line import read_line
from pipelines.routing.document.networks import document_to_publish
from pipelines.web.editor.findings import draft_findings
from pipelines.web.lines.drawing import picture_of


def findings_with_ranks(line: Line, project: Project) -> dict[str, Any]:
    """Return the findings of the draft with the ranks of the live rules by use in tasks, once: no save moves
    what is drawn for them."""
    ranks = (
        rule_ranks.rank_by_rule(versions.parsed_line_by_version_id(line.live_id), line.pk)
        if line.live_id
        else {}
    )
    return {**draft_findings(line.draft, project), "taken": ranks}


def stored_geometry_or_none(line: Line, findings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return where the parts of the draft stand, by frame; None where it is not drawn yet, which it then is, or
    cannot be."""
    picture = canvas_picture_or_none(line.draft, findings)
    stored = picture and drawings.stored_drawing_or_request(line.project_id, picture)
    return stored.geometry if stored else None


def draw_canvas(line: Line) -> None:
    """Draw the draft for its canvas, unless it is drawn already or is no line yet."""
    picture = canvas_picture_or_none(line.draft, findings_with_ranks(line, line.project))
    if picture is not None:
        drawings.draw_unless_drawn(line.project_id, picture)


def canvas_picture_or_none(draft: Mapping[str, Any], findings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the canvas of a draft draws; None where it is no line that can be read."""
    if not findings["rules"]:
        return None
    parsed = read_line(document_to_publish(draft), keep_faulty_rules=True)
    rules = findings["rules"]
    signs = findings["signs"]["stations"]
    return {
        **picture_of(parsed, onward=findings["onward"]).given,
        "conditions": {key: rule["words"] for key, rule in rules.items()},
        "dead": [key for key, rule in rules.items() if rule["status"] == "dead"],
        "endless": findings["endless"],
        "signs": {key: {kind: [] for kind in kinds} for key, kinds in signs.items()},
        "taken": findings["taken"],
    }
