"""Timeline of one task, on its page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipelines.queries.task_view import TaskView
from pipelines.queries.visit_rows import visit_rows
from pipelines.templatetags.time_axis import TimeAxis


def timeline_context(view: TaskView, cursor: datetime | None = None) -> dict[str, Any]:
    """Return the rows of the timeline and its axis. `cursor`: the moment that is shown, where it is not now."""
    timeline, ended_at = visit_rows(view), view.task.ended_at
    axis = TimeAxis(timeline.begin, ended_at) if ended_at else TimeAxis.until_now(timeline.begin, view.now)
    return {"timeline": timeline, "axis": axis, "cursor": cursor}
