"""Jumps of tasks that publishing a draft would end: it says nothing of jumps, and the live version lets them happen."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from pipelines.models import Decision, Line
from pipelines.queries import versions
from pipelines.routing.analysis.lint.checks import silent_jumps
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.part_names import place_name_for_sentence as place_of

PERIOD = timedelta(days=90)
MOST = 50
"""Jumps that are read, the newest first."""
COMPLETE = {"outcome": {"signals": [{"verdict": "hold", "reason": "already_complete"}]}}


def jump_ending_findings(line: Line, draft: ParsedLine) -> list[Finding]:
    """Find one warning, with tasks and targets, or none."""
    if draft.jumps is not None or draft.jump_targets or line.live_id is None:
        return []
    live = versions.parsed_line_by_version_id(line.live_id)
    jumps = _task_jumps(line) if live.jump_targets else []
    if not jumps:
        return []
    return [silent_jumps.jumps_finding([(task, str(place_of(live, key))) for task, key in jumps])]


def _task_jumps(line: Line) -> list[tuple[str, str]]:
    """(name of the task, key of the place), the newest first."""
    rows = (
        Decision.objects.filter(
            task__line=line,
            pinned_id=line.live_id,
            at__gte=Now() - PERIOD,
            situation__contains=COMPLETE,
            answer__by="signal",
            answer__decision__in=("move", "finish"),
        )
        .select_related("task__project")
        .order_by("-at")[:MOST]
    )
    return [(row.task.name, str(row.answer.get("end") or row.answer["to"][0])) for row in rows]
