"""Tasks behind a figure of the band: which they are, what each took in the period, and which were reverted by what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils import timezone
from django.utils.formats import date_format

from pipelines.models import Project, Task
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.unmerged import unmerged_among
from pipelines.queries.usage import Spending
from reviews.insights.selection import InsightsSelection
from reviews.insights.sheets import minutes_text
from reviews.insights.statements import LISTED_TASKS, REVERTING_TASKS

PER_PAGE = 50
TITLES: Final = {
    "accepted": ("Accepted changes", "Tasks that completed, their change, if any, delivered. The newest first."),
    "slowest": ("Accepted changes by lead time", "Those that took longest from request to end come first."),
    "reverted": (
        "Changes reverted within 30 days",
        "Accepted changes after which their branch came back, within 30 days, to the files it had before.",
    ),
    "young": (
        "Changes not 30 days old",
        "Accepted changes that landed on a branch less than 30 days ago: they may still be reverted.",
    ),
    "cost": (
        "Tasks by agent cost",
        "Tasks with runs that reported a cost or tokens, whatever became of them. The most costly first.",
    ),
    "minutes": (
        "Tasks by human minutes",
        "Tasks whose reviews ended, by the time in which somebody looked at them. Of nobody in particular.",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedTask:
    """`reverted_by`: the task that took its change back, with when."""

    task: Task
    is_unmerged: bool
    is_young: bool
    seconds: float | None
    spending: Spending
    looked: float
    ended: str
    reverted: bool
    reverted_by: Task | None = None
    reverted_at: str = ""

    @property
    def minutes(self) -> str:
        return minutes_text(self.looked / 60) if self.looked else "–"


@dataclass(frozen=True, slots=True)
class TaskList:
    """Page of a list. `count`, `cost`, `minutes`: of the whole list."""

    key: str
    title: str
    counts: str
    rows: Sequence[ListedTask]
    count: int
    cost: str
    minutes: str
    number: int

    @property
    def previous_number(self) -> int:
        return self.number - 1

    @property
    def next_number(self) -> int:
        return self.number + 1

    @property
    def has_next(self) -> bool:
        return self.number * PER_PAGE < self.count


def task_list(project: Project, selection: InsightsSelection, key: str, number: int) -> TaskList:
    """Raises KeyError where there is no such list."""
    title, counts = TITLES[key]
    rows = fetch(
        LISTED_TASKS,
        {**selection.values, "which": key, "most": PER_PAGE, "skipped": PER_PAGE * (number - 1)},
    )
    count, cost, looked = rows[0][-3:] if rows else (0, None, 0)
    return TaskList(
        key, title, counts, _listed_tasks(project, rows), count,
        Spending(cost, 1, 1).amount_text if cost is not None else "–",
        minutes_text(looked / 60) if looked else "–", number,
    )  # fmt: skip


def _listed_tasks(project: Project, rows: Sequence[Sequence[Any]]) -> list[ListedTask]:
    reverted = [row[0] for row in rows if row[2]]
    reverting = _first_reverting_time_and_task_by_task(reverted) if reverted else {}
    others = {task for _at, task in reverting.values()}
    tasks = Task.objects.select_related("line").in_bulk({*(row[0] for row in rows), *others})
    for task in tasks.values():
        task.project = project
    unmerged = unmerged_among([*tasks.values()])
    listed = []
    for pk, _accepted, is_reverted, is_young, seconds, cost, priced, runs, looked, *_sums in rows:
        at, other = reverting.get(pk, (None, None))
        listed.append(
            ListedTask(
                tasks[pk], pk in unmerged, bool(is_young), seconds, Spending(cost, priced, runs), looked,
                _day_text(tasks[pk].ended_at), bool(is_reverted), tasks.get(other), _day_text(at),
            )
        )  # fmt: skip
    return listed


def _first_reverting_time_and_task_by_task(task_ids: Sequence[int]) -> dict[int, tuple[datetime, int]]:
    first: dict[int, tuple[datetime, int]] = {}
    for task, at, other in fetch(REVERTING_TASKS, {"tasks": [*task_ids]}):
        first[task] = min(first.get(task, (at, other)), (at, other))
    return first


def _day_text(at: datetime | None) -> str:
    return date_format(timezone.localtime(at), "j M Y") if at else ""
