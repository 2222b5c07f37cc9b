"""`manage.py export_events owner/project[/line] [--task WI-…]`: events as JSON lines (docs/events.md)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from pipelines import access
from pipelines.engine.commands.export import exported_all
from pipelines.management import printing
from pipelines.models import Line, Project, Task
from pipelines.web.shell.streaming import line as line_of


class Command(printing.Command):
    help = "Write the events of a project, a line or some tasks as JSON lines; see docs/events.md."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("of", metavar="OWNER/PROJECT[/LINE]")
        parser.add_argument(
            "--task", action="append", default=[], metavar="WI-…", help="only this task; may be repeated"
        )
        parser.add_argument(
            "--since", metavar="TIME", help="events from then on, such as 2026-02-23T14:30:00Z"
        )
        parser.add_argument("--transitions", action="store_true", help="only those from one state to another")
        parser.add_argument("--output", metavar="FILE", help="into this file, not to standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        tasks = tasks_of(options["of"], options["task"])
        rows = exported_all(tasks, since=_time(options["since"]), transitions=options["transitions"])
        if not options["output"]:
            for row in rows:
                self.stdout.write(line_of(row), ending="")
            return
        try:
            with Path(options["output"]).open("w", encoding="utf-8") as file:
                for row in rows:
                    file.write(line_of(row))
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None


def tasks_of(of: str, names: list[str]) -> QuerySet[Task]:
    owner, _slash, rest = of.partition("/")
    key, _slash, line = rest.partition("/")
    project = Project.objects.select_related("owner").filter(owner__key=owner, key=key).first()
    if project is None:
        raise CommandError(f"There is no project {owner}/{key}.")
    tasks = Task.objects.filter(project=project)
    if line:
        if not Line.objects.filter(project=project, key=line).exists():
            raise CommandError(f"There is no line {line} in {project}.")
        tasks = tasks.filter(line__key=line)
    if not names:
        return tasks
    numbers = {name: access.number_of(project, name) for name in names}
    known = set(tasks.filter(number__in=[n for n in numbers.values() if n]).values_list("number", flat=True))
    missing = [name for name, number in numbers.items() if number not in known]
    if missing:
        raise CommandError(f"There is no task {', '.join(missing)} there.")
    return tasks.filter(number__in=known)


def _time(said: str | None) -> datetime | None:
    if said is None:
        return None
    try:
        found = parse_datetime(said)
    except ValueError:
        found = None
    if found is None:
        raise CommandError(f"--since {said}: write a time such as 2026-02-23T14:30:00Z.")
    return found if timezone.is_aware(found) else timezone.make_aware(found)
