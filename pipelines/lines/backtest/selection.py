"""Selection of the recorded decisions that are decided again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import QuerySet
from django.utils.dateparse import parse_date, parse_datetime

from pipelines.errors import Invalid
from pipelines.models import Decision, Line, Task
from pipelines.routing.basics.problems import Problem

MOST = 1_000_000
USUAL = 100_000
TASKS = ("all", "running", "ended")
# Of an integer column of PostgreSQL
LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Selection:
    """`versions`: numbers of the versions under which it was decided, all if there is none. `since` and `until`
    (exclusive): when it was decided. `last`: only of the newest so many tasks. `tasks`: all, running or ended.
    `limit`: at most so many decisions, those of the newest tasks."""

    versions: tuple[int, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    last: int | None = None
    tasks: str = "all"
    limit: int = USUAL

    def tasks_of(self, line: Line) -> QuerySet[Task]:
        tasks = Task.objects.filter(line=line)
        if self.tasks != "all":
            tasks = tasks.filter(ended_at__isnull=self.tasks == "running")
        if self.last is not None:
            # Within: a query that is cut off can be narrowed no further
            tasks = tasks.filter(pk__in=tasks.order_by("-pk").values("pk")[: self.last])
        return tasks

    def decisions_of(self, tasks: QuerySet[Task] | Sequence[int]) -> QuerySet[Decision]:
        decisions = Decision.objects.filter(task__in=tasks)
        if self.versions:
            decisions = decisions.filter(pinned__number__in=self.versions)
        if self.since:
            decisions = decisions.filter(at__gte=self.since)
        if self.until:
            decisions = decisions.filter(at__lt=self.until)
        return decisions


def read_selection(parameters: Mapping[str, str]) -> Selection:
    """Read a selection from texts, as addresses and commands give them: `versions=1,2`, `since=2026-01-31` or
    a moment in ISO 8601 (UTC where it names no zone), `until`, `last`, `tasks`, `limit`. Raises Invalid
    with every place."""
    problems: list[Problem] = []
    fields = {
        "versions": _version_numbers(parameters.get("versions", ""), problems),
        "since": _moment_or_noted_problem("since", parameters.get("since", ""), problems),
        "until": _moment_or_noted_problem("until", parameters.get("until", ""), problems),
        "last": _number_or_noted_problem("last", parameters.get("last", ""), LARGEST, problems),
        "tasks": parameters.get("tasks") or "all",
        "limit": _number_or_noted_problem("limit", parameters.get("limit", ""), MOST, problems) or USUAL,
    }
    if fields["tasks"] not in TASKS:
        problems.append(Problem("tasks", "has to be all, running or ended"))
    if problems:
        raise Invalid(problems)
    return Selection(**fields)  # type: ignore[arg-type]


def _version_numbers(text: str, problems: list[Problem]) -> tuple[int, ...]:
    numbers = [_parse_int_or_none(part.strip()) for part in text.split(",")] if text.strip() else []
    if not all(number and number <= LARGEST for number in numbers):
        problems.append(Problem("versions", "has to be numbers of versions", "Write them like 1,2."))
        return ()
    return tuple(number for number in numbers if number)


def _number_or_noted_problem(name: str, text: str, most: int, problems: list[Problem]) -> int | None:
    number = _parse_int_or_none(text.strip()) if text.strip() else None
    if text.strip() and not (number and number <= most):
        problems.append(Problem(name, f"has to be a number from 1 to {most}"))
    return number


def _parse_int_or_none(text: str) -> int | None:
    # Its length first: int() raises for a text of more than 4,300 digits
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _moment_or_noted_problem(name: str, text: str, problems: list[Problem]) -> datetime | None:
    if not text.strip():
        return None
    moment = _parsed_moment_or_none(text.strip())
    if moment is None:
        hint = "Write it like 2026-01-31 or 2026-01-31T12:00:00Z."
        problems.append(Problem(name, "is not a date or a moment", hint))
    return moment


def _parsed_moment_or_none(text: str) -> datetime | None:
    """A plus in an address arrives as a space."""
    try:
        moment = parse_datetime(text.replace(" ", "+") if "T" in text else text)
        date = None if moment else parse_date(text)
        if date:
            moment = datetime(date.year, date.month, date.day)  # noqa: DTZ001  (made aware below)
        if moment is None:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
