"""A line as the value of a filter: its key, or `owner/project/key` where several projects are in view, since two
may have a line of one key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from pipelines.models import Line, Project
from pipelines.models.plumbing.compiled_queries import array_field, compiled


def line_filter_value(project: Project, line: Line, *, several: bool) -> str:
    return f"{project}/{line.key}" if several else line.key


def line_choices(projects: Sequence[Project]) -> list[tuple[str, str]]:
    """(value, label) of every line of these projects, by name; the label says of which project it is where there are
    several."""
    by_id = {project.pk: project for project in projects}
    lines = _lines_of_projects(projects=list(by_id))
    return line_options_with_labels(
        [(by_id[line.project_id], line) for line in lines], several=len(by_id) > 1
    )


@compiled(projects=array_field())
def _lines_of_projects(projects: Any) -> QuerySet[Line]:
    return Line.objects.filter(project__among=projects).only("key", "name", "project").order_by("name", "pk")


def line_options_with_labels(
    lines: Sequence[tuple[Project, Line]], *, several: bool
) -> list[tuple[str, str]]:
    if not several:
        return [(line.key, line.name) for _project, line in lines]
    names = [f"{line.name} · {project.name or project.key}" for project, line in lines]
    often = Counter(names)
    return [
        (
            line_filter_value(project, line, several=True),
            # Two projects may have lines of one name: then the owner tells them apart
            name if often[name] == 1 else f"{line.name} · {project}",
        )
        for name, (project, line) in zip(names, lines, strict=True)
    ]


def find_option(value: str, offered: Sequence[tuple[str, str]], projects: Sequence[Project]) -> str:
    """Return the option that the value in an address names, also from a page with other projects in view; "" if
    there is none, or if several lines have the key."""
    values = [option for option, _label in offered]
    if len(projects) == 1:
        value = value.removeprefix(f"{projects[0]}/")
    fitting = [option for option in values if value in (option, option.rpartition("/")[2])]
    return fitting[0] if len(fitting) == 1 else ""


def line_condition(value: str, path: str = "line") -> Q:
    """Return the condition that narrows rows to a line; `path`: from the row to it, "" for lines themselves."""
    if not value:
        return Q()
    path = f"{path}__" if path else ""
    project, _slash, key = value.rpartition("/")
    condition = Q(**{f"{path}key": key})
    if project:
        owner, _slash, project = project.partition("/")
        condition &= Q(**{f"{path}project__key": project, f"{path}project__owner__key": owner})
    return condition
