"""Boxes that choose a task among several, for one command (static/ts/pages/bulk.ts)."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from pipelines.models import Task


def task_checkbox_html(task: Task, token_id: int | str = "") -> SafeString:
    """Return the box of a task; its value names it as the API does, with the position that is meant."""
    box = '<input type="checkbox" data-choose value="{}/{} {}" aria-label="Select {}">'
    return format_html(box, task.project.owner.key, task.name, token_id, task.name)
