"""Scope of Home, Inbox and Tasks: all projects that their reader may see, or the one that the switcher chose.
The choice stands in the address (`?project=owner/key`), so that it can be saved and sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import cached_property
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date

from pipelines import access
from pipelines.models import Project
from pipelines.queries.dates import DateRange

RELATIVE_DAY = re.compile(r"(\d{1,4})d|today|yesterday")


class PageScope:
    """Projects in view. `address`: where the switcher narrows it. `visible`: all that its reader may see, read
    when it is asked for; `asked`: which of them the address names."""

    def __init__(self, read: Callable[[], Sequence[Project]], address: str, requested: str = "") -> None:
        self._read, self.address, self.asked = read, address, requested

    @classmethod
    def of_project(cls, project: Project, address: str = "") -> PageScope:
        """Choose one project."""
        return cls(lambda: [project], address, str(project))

    @cached_property
    def visible_projects(self) -> Sequence[Project]:
        return self._read()

    @cached_property
    def chosen_project(self) -> Project | None:
        """Name the project that narrows it: one that the reader may not see narrows
        nothing, like every value in an address that does not exist."""
        return (
            next((project for project in self.visible_projects if str(project) == self.asked), None)
            if self.asked
            else None
        )

    @property
    def projects(self) -> list[Project]:
        return [self.chosen_project] if self.chosen_project else list(self.visible_projects)

    @property
    def project(self) -> Project | None:
        """The only one that is shown, if it is one."""
        return self.projects[0] if len(self.projects) == 1 else None

    @property
    def has_several_projects(self) -> bool:
        """Return whether a row has to name its project."""
        return len(self.projects) > 1

    @property
    def project_key(self) -> str:
        """Key of the project in the address."""
        return str(self.chosen_project) if self.chosen_project else ""

    @property
    def hint_source(self) -> str:
        """Source of the hints that a page of the scope receives: the one project, or all that its reader may
        see."""
        return str(self.project) if self.project else "*" if self.projects else ""

    @property
    def query_string(self) -> str:
        """End of an address that has no other parameter: "?project=…" or ""."""
        return f"?{urlencode({'project': self.project_key})}" if self.chosen_project else ""


def scope_of(request: HttpRequest, page: str) -> PageScope:
    """Read the scope from the address."""

    def read() -> Sequence[Project]:
        visible = access.projects_seen_by(request.user)
        request.seen_projects = visible  # type: ignore[attr-defined]  # the switcher shows them, too
        return visible

    return PageScope(read, reverse(page), request.GET.get("project", ""))


def date_range_of(request: HttpRequest) -> DateRange:
    return DateRange(_parse_day(request.GET.get("since", "")), _parse_day(request.GET.get("until", "")))


def _parse_day(text: str) -> date | None:
    """Return the day of `2026-11-30`, `today`, `yesterday`, or `30d` for 30 days ago; None of anything else."""
    text = text.strip().lower()
    if days := RELATIVE_DAY.fullmatch(text):
        return timezone.localdate() - timedelta(days=int(days[1]) if days[1] else text == "yesterday")
    try:
        day = parse_date(text)
    except ValueError:
        return None
    # Days at the edge of the calendar have no next one, or none in another time zone.
    return day if day and date.min.year < day.year < date.max.year else None
