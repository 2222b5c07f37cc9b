"""Selection of the tasks of a command for many: those that were named, or all that match."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from pipelines import access
from pipelines.access import Who
from pipelines.errors import Invalid
from pipelines.models import Project, Task, Token, User
from pipelines.queries.board import MOST_CHOSEN, Filters, first_matching_positions_and_count
from pipelines.queries.line_filter import find_option, line_choices
from pipelines.queries.open_work import open_tasks_of
from pipelines.routing.document.line import Problem

NAME = re.compile(r"(?:(?P<owner>[^/]+)/)?WI-(?P<project>.+)-(?P<number>[0-9]{1,18})", re.ASCII)
"""As people type it: WI-app-42, or acme/WI-app-42 where several owners have such a project."""


ALL = Filters()


@dataclass(frozen=True)
class Chosen:
    """A task by its name, and which position of it is meant: the id of its token, or 0."""

    task: str
    position: int = 0


@dataclass(frozen=True)
class BulkSelection:
    """`rows`: tasks with the position that is meant, or 0; `left_out`: how many match besides."""

    rows: tuple[tuple[Task, int], ...]
    left_out: int = 0


@dataclass(frozen=True)
class Match:
    """Filters of a board. `project`: owner/project, or "" for all; `line`: as `line_filter` writes it, or ""."""

    project: str = ""
    line: str = ""
    filters: Filters = ALL


def named_selection(who: Who, chosen: Sequence[Chosen]) -> BulkSelection:
    """Find the tasks that were named, each once. Raises Invalid (path `tasks`: none or too many; `tasks[n]`: there is
    no such task for this caller, several owners have one, or the position is none of it)."""
    if not 0 < len(chosen) <= MOST_CHOSEN:
        raise Invalid.at("tasks", f"Choose 1 to {MOST_CHOSEN} tasks.")
    projects = list(access.visible_projects_with_owner(who))
    known = _tasks_by_name(projects, chosen)
    positions = _task_by_position({one.position for one in chosen if one.position})
    problems, rows = [], []
    for place, one in enumerate(chosen):
        tasks = known.get(one.task, [])
        fits = len(tasks) == 1 and (not one.position or positions.get(one.position) == tasks[0].pk)
        if fits:
            rows.append((tasks[0], one.position))
        elif len(tasks) > 1:
            owners = ", ".join(sorted(task.project.owner.key for task in tasks))
            problems.append(
                Problem(
                    f"tasks[{place}]", "several owners have such a task", f"Write one of {owners} before it."
                )
            )
        else:
            problems.append(Problem(f"tasks[{place}]", "There is no such task, or no such position of it."))
    if problems:
        raise Invalid(problems)
    return BulkSelection(tuple(dict.fromkeys(rows)))


def matching_selection(who: Who, user: User, match: Match, now: datetime) -> BulkSelection:
    """Return the positions that match on a board and that the caller may change, at most MOST_CHOSEN. Raises Invalid
    (path `matching`, `matching.project`, `matching.line`): what is not found narrows nothing on a page, and here
    everything would be meant."""
    projects = [
        project for project in access.visible_projects_with_owner(who) if match.project in ("", str(project))
    ]
    if match.project and not projects:
        raise Invalid.at("matching.project", "There is no such project.")
    line = find_option(match.line, line_choices(projects), projects)
    if match.line and not line:
        raise Invalid.at("matching.line", "There is no such line.", "Name it as owner/project/line.")
    able = [project for project in projects if access.is_permitted(who, "operate", project)]
    tokens, count = first_matching_positions_and_count(open_tasks_of(able, line), match.filters, now, user.pk)
    if not tokens:
        raise Invalid.at("matching", "No open task matches.")
    of = {project.pk: project for project in able}
    for token in tokens:
        token.task.project = of[token.task.project_id]
    return BulkSelection(tuple((token.task, token.pk) for token in tokens), count - len(tokens))


def _tasks_by_name(projects: Sequence[Project], chosen: Sequence[Chosen]) -> dict[str, list[Task]]:
    by_key: defaultdict[str, list[Project]] = defaultdict(list)
    for project in projects:
        by_key[project.key].append(project)
    numbers: defaultdict[Project, set[int]] = defaultdict(set)
    names: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for name in {one.task for one in chosen}:
        match = NAME.fullmatch(name)
        for project in by_key.get(match["project"], ()) if match else ():
            if match and match["owner"] in (None, project.owner.key):
                numbers[project].add(int(match["number"]))
                names[project.pk, int(match["number"])].append(name)
    condition = Q(pk__in=())
    for project, of_project in numbers.items():
        condition |= Q(project=project, number__in=of_project)
    by_name: defaultdict[str, list[Task]] = defaultdict(list)
    of = {project.pk: project for project in projects}
    for task in Task.objects.filter(condition).defer("inputs", "context"):
        task.project = of[task.project_id]
        for name in names[task.project_id, task.number]:
            by_name[name].append(task)
    return by_name


def _task_by_position(positions: Iterable[int]) -> dict[int, int]:
    return dict(Token.objects.filter(pk__in=list(positions)).values_list("pk", "task_id"))
