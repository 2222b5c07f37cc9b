"""The rows of a table of tasks, fifty on a page: drawn without a template, as one text each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from pipelines.models import Task
from pipelines.templatetags.gateline import since
from pipelines.templatetags.small import elapsed, moment, status_pill

register = template.Library()

NOTHING = mark_safe("")
PLACE = '<p class="only-phone muted small task-row-place">{}</p>'
COLUMNS = ("several", "line_view", "has_places", "has_priorities", "has_due")
ROW = """
  <tr>
    <td class="mono small unbroken hide-phone">{name}</td>
    <th scope="row">
      <a href="{address}">{title}</a>
      <span class="only-phone mono muted small">{name}</span>
      {of_project} {labels}
    </th>
    {project}{line}
    <td>{status}{where}</td>
    {place}{priority}{due}
    <td class="hide-phone">{requester}</td>
    <td class="numbers hide-phone">{started}</td>
    <td class="numbers hide-phone">{took}</td>
  </tr>"""


@register.simple_tag(takes_context=True)
def task_rows(context: Context) -> SafeString:
    """Return the rows of `rows`; what stands in COLUMNS decides the columns, as in the head."""
    tasks: Iterable[Any] = context["rows"]
    columns = [name for name in COLUMNS if context.get(name)]
    return mark_safe("".join(_row_html(task, columns) for task in tasks))


def _row_html(task: Any, columns: list[str]) -> SafeString:
    several = "several" in columns
    project = task.project.name or task.project.key if several else ""
    return format_html(
        ROW,
        name=task.name,
        address=task.address,
        title=task.title,
        of_project=format_html('<span class="only-phone muted small">{}</span>', project)
        if several
        else NOTHING,
        labels=format_html_join(" ", '<span class="badge">{}</span>', ((label,) for label in task.labels)),
        project=_cell_html(project) if several else NOTHING,
        line=NOTHING if "line_view" in columns else _cell_html(_line_link(task)),
        status=status_pill(
            task.display_status, _unmerged_label() if getattr(task, "unmerged", False) else ""
        ),
        where=format_html(PLACE, task.place) if task.place else NOTHING,
        place=_cell_html(task.place) if "has_places" in columns else NOTHING,
        priority=_cell_html(task.get_priority_display()) if "has_priorities" in columns else NOTHING,
        due=_due_cell(task) if "has_due" in columns else NOTHING,
        requester=task.requested_by,
        started=moment(task.created_at),
        took=since(task.created_at, task.ended_at) if task.ended_at else elapsed(task.created_at),
    )


def _unmerged_label() -> str:
    return "Completed, not merged"


def _cell_html(text: str) -> SafeString:
    return format_html('<td class="hide-phone">{}</td>', text)


def _line_link(task: Any) -> SafeString:
    return format_html('<a href="{}">{}</a>', task.line_address, task.line.name)


def _due_cell(task: Task) -> SafeString:
    drawn = moment(task.due_at) if task.due_at else NOTHING
    return format_html('<td class="numbers hide-phone">{}</td>', drawn)
