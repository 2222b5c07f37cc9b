"""manage.py submit LINE --title … --input key=value …: start a task from the shell."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from pipelines import access
from pipelines.engine import submit
from pipelines.engine.commands.typed_values import typed_value
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict, Invalid, NotFound, Refused
from pipelines.management import printing
from pipelines.management.commands.load_demo import administrator
from pipelines.models import ENDED, Line, Priority, Project, Status, Task, User
from pipelines.queries import versions
from pipelines.queries.addresses import absolute
from pipelines.queries.unmerged import left_unmerged
from pipelines.routing.document.line import Input
from pipelines.work import measuring, storage

LOOK_EVERY = 0.5  # seconds
# Somebody has to do something before such a task goes on.
WAITS = (Status.AWAITING_REVIEW, Status.BLOCKED, Status.HELD, Status.STUCK)
STILL_OPEN = 2  # exit code of --wait when its time is up


class Command(printing.Command):
    help = "Start a task of a published line, for example: submit repository-check --title “Try it”"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("line", help="the key of the line")
        parser.add_argument("--title", help="made from the inputs where it is left out")
        parser.add_argument("--description", default="")
        parser.add_argument("--priority", default=Priority.MEDIUM, choices=Priority.values)
        parser.add_argument(
            "--input",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="a field of the line's start form; may be repeated; the others take their defaults",
        )
        parser.add_argument("--label", action="append", default=[], help="may be repeated")
        parser.add_argument(
            "--due", default="", metavar="TIME", help="such as 2026-12-31T17:00, or with +01:00"
        )
        parser.add_argument(
            "--depends-on",
            action="append",
            default=[],
            metavar="WI-…",
            help="a task of the project that has to be completed first; may be repeated",
        )
        parser.add_argument("--follows", default="", metavar="WI-…", help="a task that has ended")
        parser.add_argument("--project", default="", help="owner/project, where several have such a line")
        parser.add_argument("--as", dest="user", default="", help="who asks for it (the first administrator)")
        parser.add_argument("--wait", action="store_true", help="stay until it has ended, and show its moves")
        parser.add_argument("--timeout", type=float, default=3600.0, help="seconds that --wait stays at most")

    def handle(self, *args: Any, **options: Any) -> None:
        user = administrator(options["user"])
        line = find_line(user, options["line"], options["project"])
        task = self._submit(line, user, options)
        self.stdout.write(f"{task.name}  {address(task)}")
        if options["wait"]:
            self._wait(task, options["timeout"])

    def _submit(self, line: Line, user: User, options: dict[str, Any]) -> Task:
        if line.live is None:
            raise CommandError(
                _("The line “%s” is not published yet. Publish it on its page, then try again.") % line.key
            )
        fields = {field.key: field for field in versions.parsed(line.live).inputs}
        try:
            return submit(
                line.live,
                actor=Actor.person(user),
                title=options["title"],
                description=options["description"],
                priority=options["priority"],
                inputs=dict(entry(text, fields, line.project, user) for text in options["input"]),
                labels=options["label"],
                due_at=options["due"],
                depends_on=options["depends_on"],
                follows=followed(user, line, options["follows"]),
            )
        except Invalid as wrong:
            raise CommandError("\n".join(map(str, wrong.problems))) from wrong
        except Conflict as archived:
            raise CommandError(archived.detail) from archived

    def _wait(self, task: Task, timeout: float) -> None:
        """Show each change until the end. Exit code 0 for completed, 1 for any other end, 2 when time is up."""
        until, seen = time.monotonic() + timeout, ""
        while True:
            now = where(task)
            if now != seen:
                self.stdout.write(now)
                self.stdout.flush()
                seen = now
            if task.status in ENDED:
                break
            if time.monotonic() > until:
                raise CommandError(_("%s has not ended yet.") % task.name, returncode=STILL_OPEN)
            time.sleep(LOOK_EVERY)
        if task.status != Status.COMPLETED:
            raise CommandError(task.reason or task.error or _("It ended as %s.") % task.status)


def find_line(user: User, key: str, path: str) -> Line:
    """The line `key` among those that `user` may start, in the project `path` (owner/project) if that is given."""
    projects = [project for project in access.visible_projects(user) if path in ("", str(project))]
    lines = list(Line.objects.filter(project__in=projects, key=key).select_related("project__owner", "live"))
    if not lines:
        known = ", ".join(Line.objects.filter(project__in=projects).values_list("key", flat=True).distinct())
        where = _("project “%s”") % path if path else _("the projects of %s") % user
        raise CommandError(
            _("There is no line “%(key)s” in %(where)s. Lines there: %(known)s.")
            % {"key": key, "where": where, "known": known or _("none")}
        )
    if len(lines) > 1:
        found = ", ".join(sorted(str(line.project) for line in lines))
        raise CommandError(
            _("Several projects have a line “%(key)s”. Name one with --project: %(found)s.")
            % {"key": key, "found": found}
        )
    try:
        access.require(user, "submit", lines[0].project)
    except Refused as refused:
        raise CommandError(
            _("%(user)s cannot start tasks in %(project)s. That needs the role operator.")
            % {"user": user, "project": lines[0].project}
        ) from refused
    return lines[0]


def followed(user: User, line: Line, name: str) -> Task | None:
    if not name:
        return None
    try:
        return access.find_task(user, line.project.owner.key, line.project.key, name)
    except NotFound as none:
        raise CommandError(_("--follows %s: there is no such task in this project.") % name) from none


def entry(text: str, fields: dict[str, Input], project: Project, user: User) -> tuple[str, Any]:
    """One `key=value`, its value of the type that the line's form has."""
    key, equals, value = text.partition("=")
    if not equals:
        raise CommandError(_("--input %s: write it as KEY=VALUE.") % text)
    field = fields.get(key)
    if field is None:
        raise CommandError(
            _("--input %(key)s: the line has no such input. It has: %(known)s.")
            % {"key": key, "known": ", ".join(fields) or _("none")}
        )
    return key, uploaded(field, value, project, user) if field.type == "file" else typed(field, value)


def uploaded(field: Input, path: str, project: Project, user: User) -> Any:
    """A file of this shell, uploaded."""
    try:
        with Path(path).open("rb") as file:
            return storage.upload(project, Path(path).name, file, str(user), timezone.now())
    except (OSError, measuring.TooLarge) as fault:
        raise CommandError(f"--input {field.key}: {fault}") from fault


def typed(field: Input, value: str) -> Any:
    if field.type == "repository" and value and Path(value).is_dir():
        return str(Path(value).resolve())  # a station knows no folder of this shell
    return typed_value(field, value)


def where(task: Task) -> str:
    """“running  lint”, “awaiting_review  security  (a person decides: http://…)”."""
    task.refresh_from_db()
    stations = ", ".join(task.tokens.exclude(status__in=ENDED).values_list("station", flat=True))
    words = [task.status, stations or task.end]
    if left_unmerged(task):
        words.append(_("(its change is not merged)"))
    if task.status in WAITS:
        words.append(_("(waits for a person: %s)") % address(task))
    return "  ".join(filter(None, words))


def address(task: Task) -> str:
    """Of the task's page, for a browser."""
    return absolute("task", task.project.owner.key, task.project.key, task.name)
