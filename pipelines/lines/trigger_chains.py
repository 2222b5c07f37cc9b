"""Lines that start each other: the line whose ends a trigger waits for, and that no circle of them closes (law §16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pipelines.errors import Invalid
from pipelines.models import Line, Project, Trigger
from pipelines.work.triggers.table import KINDS

PLACE: Final = "options.line"


def checked_source_line_or_none(trigger: Trigger) -> Line | None:
    """Return the line whose ends a trigger waits for, None where it waits for something else. Locks the project, so
    that of two that would close a circle together the second is refused. Raises Invalid."""
    if not KINDS[trigger.kind].has_source:
        return None
    project_id, key = trigger.line.project_id, str(trigger.options["line"])
    Project.objects.select_for_update(no_key=True).get(pk=project_id)
    source = Line.objects.filter(project=project_id, key=key if key.isprintable() else "").first()
    if source is None:
        raise Invalid.at(PLACE, "is no line of this project", "Choose one of its lines.")
    if source.pk == trigger.line_id:
        message = f"{source.name} would start itself without end"
        raise Invalid.at(PLACE, message, "Choose another line. A retry is a rule of the line itself.")
    circle = _shortest_start_path(
        _line_ids_started_by_each_line(project_id, excluded_trigger=trigger.pk or 0),
        trigger.line_id,
        source.pk,
    )
    if circle:
        names = dict(Line.objects.filter(pk__in=circle).values_list("pk", "name"))
        way = " → ".join(str(names[pk]) for pk in [source.pk, *circle])
        message = f"These lines would start each other without end: {way}"
        raise Invalid.at(PLACE, message, "Choose another line, or delete one of their triggers.")
    return source


def _line_ids_started_by_each_line(project_id: int, excluded_trigger: int) -> dict[int, list[int]]:
    """Return which lines each line of a project starts, by all triggers but this one. Paused ones count: resuming asks
    nobody."""
    starts: dict[int, list[int]] = {}
    triggers = Trigger.objects.filter(source__isnull=False, line__project=project_id).exclude(
        pk=excluded_trigger
    )
    for source, started in triggers.order_by("pk").values_list("source_id", "line_id"):
        starts.setdefault(source or 0, []).append(started)
    return starts


def _shortest_start_path(starts: Mapping[int, list[int]], first: int, last: int) -> list[int]:
    """Return the shortest way on which one line starts another, both included; empty where there is none."""
    paths, visited = [[first]], {first}
    for path in paths:
        if path[-1] == last:
            return path
        for following in starts.get(path[-1], ()):
            if following not in visited:
                visited.add(following)
                paths.append([*path, following])
    return []
