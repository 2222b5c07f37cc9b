"""Insights › Gates: what reviews cost people, and where fewer would do."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from pipelines.models import Project
from pipelines.web.shell.page import SignedIn, costly, in_project, show, tab_trail
from pipelines.web.shell.scope import dates_of
from reviews.review import gate_times


@in_project("view")
@costly
@require_safe
def page(request: SignedIn, project: Project) -> HttpResponse:
    """`?since=`, `?until=`: of what was decided on these days."""
    dates = dates_of(request)
    return show(
        request,
        "insights/gates.html",
        project=project,
        section="insights",
        trail=tab_trail(project, "Reviews in numbers"),
        dates=dates,
        lines=gate_times.of_project(project, dates),
        offers=gate_times.offers(project),
        unremarked=gate_times.UNREMARKED,
    )
