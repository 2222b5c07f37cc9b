"""`manage.py backtest OWNER/PROJECT/LINE`: recorded decisions under the draft, a version or a file; the progress goes
to standard error."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from pipelines.errors import Invalid, NotFound
from pipelines.formats import native
from pipelines.lines.backtest import (
    BacktestResult,
    BacktestTarget,
    Progress,
    Selection,
    TaskLine,
    UnreadableDecision,
    back_test,
    of_document,
    read_selection,
    target_of,
)
from pipelines.lines.backtest.text import text_of
from pipelines.management import printing
from pipelines.models import Line
from pipelines.routing.document.line import DocumentError

TEXTS = ("versions", "since", "until", "last", "tasks", "limit")
EVERY = 0.5
"""Seconds between two lines of progress."""


class Command(printing.Command):
    help = "Decide the recorded outcomes of a line again under another version; nothing is changed."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Here `--version` names a version of the line; Django's own would say which Django this is."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("line", metavar="OWNER/PROJECT/LINE")
        against = parser.add_mutually_exclusive_group()
        against.add_argument("--draft", action="store_true", help="try the draft (the default)")
        against.add_argument("--version", metavar="N", default="", help="try this version, or “live”")
        against.add_argument(
            "--file", metavar="FILE", default="", help="try this line document, YAML or JSON"
        )
        parser.add_argument("--versions", metavar="N,N", default="", help="only what these versions decided")
        parser.add_argument("--since", metavar="WHEN", default="", help="only what was decided from then on")
        parser.add_argument("--until", metavar="WHEN", default="", help="only what was decided before")
        parser.add_argument("--last", metavar="N", default="", help="only the newest N tasks")
        parser.add_argument("--tasks", default="all", help="all, running or ended")
        parser.add_argument("--limit", metavar="N", default="", help="at most N decisions (100000)")
        parser.add_argument(
            "--each-task", action="store_true", help="tell each task that comes out otherwise"
        )
        parser.add_argument("--json", action="store_true", help="lines of JSON, the result last")

    def handle(self, *args: Any, **options: Any) -> None:
        line = _line(options["line"])
        selection = _selection(options)
        try:
            result = self._run(line, _target(line, options), selection, options)
        except UnreadableDecision as fault:
            text = f"The decision of {fault.task} at {fault.station} is damaged; leave it out with --since."
            raise CommandError(text) from fault
        found = result.to_dict()
        self.stdout.write(json.dumps(found, ensure_ascii=False) if options["json"] else text_of(found))

    def _run(
        self, line: Line, target: BacktestTarget, selection: Selection, options: dict[str, Any]
    ) -> BacktestResult:
        began = shown = time.monotonic()
        for told in back_test(line, target, selection):
            if isinstance(told, BacktestResult):
                self._say(told.done, told.done, time.monotonic() - began)
                return told
            if isinstance(told, Progress) and time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                self._say(told.done, told.total, shown - began)
            if isinstance(told, TaskLine) and options["each_task"]:
                self._task(told.to_dict(), as_json=options["json"])
        raise AssertionError("a back-test ends with its result")

    def _say(self, done: int, total: int, seconds: float) -> None:
        rate = f", {done / seconds:,.0f} per second" if seconds > 0.1 else ""
        self.stderr.write(f"{done:,} of {total:,} decisions in {seconds:.1f} s{rate}")

    def _task(self, task: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(task, ensure_ascii=False))
        else:
            self.stdout.write(f"{task['task']}  {task['verdict']}  first at {task['first']['station']}")


def _line(name: str) -> Line:
    keys = name.split("/")
    if len(keys) != 3:
        raise CommandError(f"“{name}” is not OWNER/PROJECT/LINE.")
    rows = Line.objects.filter(project__owner__key=keys[0], project__key=keys[1], key=keys[2])
    found = rows.select_related("project__owner", "live").first()
    if found is None:
        raise CommandError(f"There is no line {name}.")
    return found


def _selection(options: dict[str, Any]) -> Selection:
    try:
        return read_selection({name: options[name] for name in TEXTS})
    except Invalid as fault:
        raise CommandError(str(fault), returncode=2) from None


def _target(line: Line, options: dict[str, Any]) -> BacktestTarget:
    try:
        if options["file"]:
            return of_document(native.loads(Path(options["file"]).read_bytes()))
        return target_of(line, options["version"] or "draft")
    except (DocumentError, Invalid) as fault:
        raise CommandError(f"That is no line to try:\n{fault}", returncode=2) from None
    except NotFound as fault:
        raise CommandError(str(fault), returncode=2) from None
    except OSError as fault:
        raise CommandError(f"{options['file']}: {fault.strerror or fault}", returncode=2) from None
