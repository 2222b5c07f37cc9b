"""`manage.py check_invariants [--task WI-…]`: exit code 1 when something does not hold."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connection, transaction

from pipelines.engine.invariants import find_violations
from pipelines.engine.statements import READ_ONE_SNAPSHOT
from pipelines.management import printing
from pipelines.models import Task
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports.observers import Violation


class Command(printing.Command):
    help = "Check that everything holds that must always hold, and say what does not."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--task", action="append", default=[], help="only this task (WI-…); may be repeated"
        )

    def handle(self, *args: Any, task: list[str], **options: Any) -> None:
        ids = [pk for name in task for pk in _ids_of_tasks_named(name)] if task else None
        violations = self._violations_on_one_snapshot(ids)
        for violation in violations:
            self.stderr.write(str(violation))
        if violations:
            raise CommandError(f"{len(violations)} violations.")
        self.stdout.write("All invariants hold.")

    def _violations_on_one_snapshot(self, ids: list[int] | None) -> list[Violation]:
        """Check the invariants on one snapshot: tasks that move meanwhile are seen as they were at one
        moment."""
        # PostgreSQL takes an isolation level only before the first statement of a transaction.
        outermost = not connection.in_atomic_block
        with transaction.atomic():
            if outermost:
                execute(READ_ONE_SNAPSHOT)
            return find_violations(ids)


def _ids_of_tasks_named(name: str) -> list[int]:
    """The tasks of this name, in whichever project: `WI-{project}-{number}`."""
    project, _, number = name.removeprefix("WI-").rpartition("-")
    # `int` takes digits of other scripts, too
    if not (name.startswith("WI-") and project and number.isascii() and number.isdigit()):
        raise CommandError(f"“{name}” is not the number of a task; use WI-project-42.")
    task_ids = list(
        Task.objects.filter(project__key=project, number=int(number)).values_list("pk", flat=True)
    )
    if not task_ids:
        raise CommandError(f"There is no task {name}.")
    return task_ids
