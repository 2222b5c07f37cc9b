"""The page with the lines of a project, which can be searched and sorted."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pipelines.lines.demo.example import OF_DIALECTS
from pipelines.models import Delivery, Project, Status
from pipelines.ports.terms import SHIPPED
from pipelines.queries import line_list
from pipelines.queries.pauses import pause_views_of_project
from pipelines.web.shell.page import SignedInRequest, project_breadcrumb, project_required, render_in_shell


@project_required("view")
@require_safe
def lines_page(request: SignedInRequest, project: Project) -> HttpResponse:
    rows = line_list.listed_lines(project, timezone.now())
    text, sort = request.GET.get("q", "")[:200], request.GET.get("sort", "")
    visible = line_list.sorted_lines([row for row in rows if row.matches(text)], sort)
    # One that was searched for is not folded away
    examples = [] if text else [row for row in visible if _is_example(row)]
    own = [row for row in visible if row not in examples]
    return render_in_shell(
        request,
        "lines/lines.html",
        project=project,
        section="lines",
        trail=project_breadcrumb(project, "Lines"),
        any_lines=bool(rows),
        # Where there are only examples, nothing is gained by folding them
        groups=[("Lines", own), ("Examples", examples)] if own else [("Lines", examples)],
        q=text,
        sort=sort,
        sorts=[(name, label) for name, (label, _measure) in line_list.SORTS.items()],
        has_drawing=any(vars(row.line)["drawing_digest"] for row in visible),
        live_project=f"{project.owner.key}/{project.key}",
        pauses=pause_views_of_project(project),
        to_set_up=not project.archived_at and not _has_merged_change(project),
    )


def _has_merged_change(project: Project) -> bool:
    """Return whether a change was merged by a task that completed."""
    landed = Delivery.objects.filter(task__project=project, task__status=Status.COMPLETED)
    return landed.exclude(landed_at=None).exists()


def _is_example(row: line_list.ListedLine) -> bool:
    """Return whether this line of the demo shows a dialect, is as it was shipped, and has nothing open."""
    as_shipped = row.line.live is not None and row.line.live.name == SHIPPED
    return as_shipped and row.line.key in OF_DIALECTS and not vars(row.line)["open_count"]
