"""`manage.py migrate_tasks LINE --to 7 --reason …`: bring running tasks to another version; `--undo`, `--continue`.

(Not `migrate`, which is the database's.)"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from pipelines import access
from pipelines.errors import Refused
from pipelines.lines import migrating
from pipelines.management import printing
from pipelines.management.commands.impact import (
    impact_or_error,
    line_arguments,
    mapping_of,
    numbers,
    target,
    text_of,
)
from pipelines.management.commands.load_demo import administrator
from pipelines.management.commands.submit import find_line
from pipelines.models import Line, Migration, MigrationEntry, User


class Command(printing.Command):
    help = "Migrate running tasks of a line to another of its versions, or undo that."

    def add_arguments(self, parser: CommandParser) -> None:
        line_arguments(parser)
        parser.add_argument("--to", default="", help="the number of the version")
        parser.add_argument("--reason", default="", help="why; kept with the migration")
        parser.add_argument(
            "--digest", default="", help="of the impact that was looked at (manage.py impact)"
        )
        parser.add_argument("--yes", action="store_true", help="do it without asking")
        parser.add_argument("--undo", default="", metavar="ID", help="put back what this migration did")
        parser.add_argument(
            "--continue", dest="go_on", default="", metavar="ID", help="finish one that was cut short"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = administrator(options["user"])
        line = find_line(user, options["line"], options["project"])
        try:
            made = self._do(line, user, options)
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        if made is not None:
            self._tell(made)

    def _do(self, line: Line, user: User, options: dict[str, Any]) -> Migration | None:
        if options["undo"]:
            return migrating.undo(_migration(line, options["undo"]), user=user, reason=options["reason"])
        if options["go_on"]:
            access.require(user, "publish", line.project)
            return migrating.carry_on(_migration(line, options["go_on"]))
        if not options["to"]:
            raise CommandError("Say --to which version, or --undo or --continue which migration.")
        to = target(line, options["to"])
        if to is None:
            raise CommandError("Publish the draft first; tasks run under published versions.")
        found = impact_or_error(line, to, options)
        if not options["digest"]:
            self.stdout.write(text_of(found))
            if not options["yes"] and not self._agrees(len(found.tasks)):
                return None
        return migrating.migrate(
            line,
            user=user,
            to=to,
            digest=options["digest"] or found.digest,
            reason=options["reason"],
            mapping=mapping_of(options["map"]),
            tasks=numbers(line, options["task"]),
        )

    def _agrees(self, tasks: int) -> bool:
        return input(f"Migrate {tasks} tasks? [y/N] ").strip().lower() in ("y", "yes")

    def _tell(self, made: Migration) -> None:
        counts = migrating.counts_of(made)
        self.stdout.write(
            f"{made.pk}: " + (", ".join(f"{n} {word}" for word, n in sorted(counts.items())) or "nothing")
        )
        others = made.entries.exclude(result__in=("migrated", "restored")).select_related("task__project")
        for each in others:
            self.stdout.write(f"{each.task.name}: {MigrationEntry.Result(each.result).label}. {each.detail}")


def _migration(line: Line, said: str) -> Migration:
    try:
        found = migrating.migrations_of(line).filter(pk=UUID(said)).first()
    except ValueError:
        found = None
    if found is None:
        raise CommandError(f"The line “{line.key}” has no migration {said}.")
    found.line = line
    return found
