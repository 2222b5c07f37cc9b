"""Context of the shell on every page, whichever app drew it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from pipelines import access
from pipelines.models import Project, User
from pipelines.people import accounts


def shell_context(request: HttpRequest) -> dict[str, Any]:
    """`projects` for the switcher, asked for only where a page shows it. `frame`: of pages that have no frame of their
    own; who is signed in keeps the sidebar on them. `second_factor_due`: nothing else is open to them before."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"frame": "base_plain.html"}
    return {
        "frame": "base.html",
        "second_factor_due": SimpleLazyObject(lambda: accounts.needs_second_factor(user)),
        # Asked for where a page shows it: fragments, which are most requests, do not
        "projects": SimpleLazyObject(lambda: _switcher_projects(request, user)),
    }


def _switcher_projects(request: HttpRequest, user: User) -> list[Project]:
    """Return the projects for the switcher; those that the page has read for itself are not read again."""
    page_projects: list[Project] | None = getattr(request, "seen_projects", None)
    projects: Iterable[Project] = (
        access.visible_projects_read_at_once(user) if page_projects is None else page_projects
    )
    return [project for project in projects if project.archived_at is None]
