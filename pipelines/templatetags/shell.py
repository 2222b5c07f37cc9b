"""What the frame of every page needs to know of its project: `{% load shell %}{% here as here %}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context

register = template.Library()
LAST_PROJECT = "gl_project"
"""The cookie that names, by its id, the project whose page was opened last."""


@dataclass(frozen=True, slots=True)
class Here:
    """`project`: where Lines, Insights, Settings and New task lead. `everywhere`: the page spans all of several
    projects. `query`: what narrows Home, Inbox and Tasks to the project, where there are several."""

    project: Any
    everywhere: bool
    query: str


@register.simple_tag(takes_context=True)
def here(context: Context) -> Here:
    """Of a page that names no project: the one whose page was opened last. `projects` of the context are those that the
    reader may see, so the cookie leads nowhere else."""
    project, scope, projects = context.get("project"), context.get("scope"), context.get("projects") or ()
    everywhere = bool(scope and scope.several)
    others = any(each != project for each in projects) if project else len(projects) > 1
    project = project or _last(projects, context)
    narrows = project and others and not everywhere
    query = f"?{urlencode({'project': f'{project.owner.key}/{project.key}'})}" if narrows else ""
    return Here(project, everywhere, query)


def _last(projects: Any, context: Context) -> Any:
    request = context.get("request")
    named = request.COOKIES.get(LAST_PROJECT) if request else None
    return next((each for each in projects if str(each.pk) == named), projects[0] if projects else None)
