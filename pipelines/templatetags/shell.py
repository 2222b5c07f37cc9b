"""Project data for the frame of every page: `{% load shell %}{% here as here %}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()
LAST_PROJECT = "gl_project"
"""The cookie that names, by its id, the project whose page was opened last."""


@dataclass(frozen=True, slots=True)
class FrameContext:
    """`project`: where Lines, Insights, Settings and New task lead. `everywhere`: the page spans all of several
    projects. `query`: what narrows Home, Inbox and Tasks to the project, where there are several."""

    project: Any
    everywhere: bool
    query: str


@register.simple_tag(takes_context=True)
def here(context: Context) -> FrameContext:
    """Return the project data of the page; without a project in the page, that whose page was opened last.
    `projects` of the context are those that the reader may see, so the cookie leads nowhere else."""
    project, scope, projects = context.get("project"), context.get("scope"), context.get("projects") or ()
    everywhere = bool(scope and scope.has_several_projects)
    others = any(other != project for other in projects) if project else len(projects) > 1
    # Among those that the reader may see, so that the cookie leads nowhere else
    project = project or _last_opened_or_first_project(projects, context)
    narrows = project and others and not everywhere
    query = f"?{urlencode({'project': f'{project.owner.key}/{project.key}'})}" if narrows else ""
    return FrameContext(project, everywhere, query)


ROW = (
    '<a href="{}" class="menu-item" tabindex="-1" role="menuitemradio" aria-checked="{}">'
    '<span>{} <span class="muted small">{}/{}</span></span></a>'
)


@register.simple_tag(takes_context=True)
def switcher_rows(context: Context) -> SafeString:
    """The projects of the switcher, which stands on a page twice. Where the page spans several, a row narrows it."""
    here, scope, projects = context["here"], context.get("scope"), context.get("projects") or ()
    address = getattr(scope, "address", "") if len(projects) > 1 else ""
    rows = [
        (
            _page_url_of_single_project(context, address, project)
            if address
            else reverse("lines", args=[project.owner.key, project.key]),
            "true" if project == here.project and not here.everywhere else "false",
            project.name or project.key,
            project.owner.key,
            project.key,
        )
        for project in projects
    ]
    return format_html_join("", ROW, rows)


def _page_url_of_single_project(context: Context, address: str, project: Any) -> str:
    """This page of that project alone, with what else was asked of it."""
    query = context["request"].GET.copy()
    query["project"] = str(project)
    # They are of the list that is left
    for name in ("page", "line", "fragment"):
        query.pop(name, None)
    return f"{address}?{query.urlencode()}"


def _last_opened_or_first_project(projects: Any, context: Context) -> Any:
    request = context.get("request")
    project_id = request.COOKIES.get(LAST_PROJECT) if request else None
    return next(
        (project for project in projects if str(project.pk) == project_id), projects[0] if projects else None
    )
