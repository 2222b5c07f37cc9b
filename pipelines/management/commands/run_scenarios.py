"""`manage.py run_scenarios LINE`: the scenarios of a line, in the database or in files; for CI.

Exit code 0: all hold. 1: one failed, or too few rules are covered. 2: nothing could be run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from pipelines.errors import Refused
from pipelines.formats import native
from pipelines.formats import scenarios as texts
from pipelines.lines import scenarios
from pipelines.management import printing
from pipelines.models import Line
from pipelines.routing.document.line import DocumentError
from pipelines.routing.document.line import Line as Parsed
from pipelines.routing.simulate.generate import generate
from pipelines.routing.simulate.report import ScenarioReport, report, told_generated
from pipelines.routing.simulate.scenario import ScenarioScript

UNUSABLE = 2
KEYS = re.compile(r"([^/]+)/([^/]+)/([^/]+)\Z")


class Command(printing.Command):
    help = "Run the scenarios of a line; see docs/testing.md."
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # `--version` is Django's own, which nobody asks of this command.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("line", metavar="LINE", help="owner/project/line, or the file of a line document")
        parser.add_argument(
            "--scenarios", metavar="FILE", help="the scenarios of this file, not the stored ones"
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--draft", action="store_true", help="against the draft")
        which.add_argument("--version", metavar="N", help="against this version (default: the live one)")
        parser.add_argument("--json", action="store_true", help="the report as JSON, with every trace")
        parser.add_argument(
            "--min-coverage",
            metavar="PERCENT",
            type=float,
            default=0,
            help="of all rules, how many are taken",
        )
        parser.add_argument(
            "--generate",
            action="store_true",
            help="print one scenario for each rule as YAML, and run nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(options)
        except (DocumentError, Refused) as refused:
            said = "\n".join(str(each) for each in getattr(refused, "problems", ())) or str(refused)
            raise CommandError(f"{options['line']}: {said}", returncode=UNUSABLE) from None
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}", returncode=UNUSABLE) from None

    def _handle(self, options: dict[str, Any]) -> None:
        stored = _stored(options["line"])
        against = scenarios.DRAFT if options["draft"] else options["version"] or ""
        if options["generate"]:
            self._generate(scenarios.subject_of(stored, against).parsed if stored else _file(options["line"]))
            return
        given = texts.loads(Path(options["scenarios"]).read_bytes()) if options["scenarios"] else None
        told = _run(stored, against, given, options["line"])
        if not told.results:
            raise Refused("there are no scenarios; make some, or print some with --generate")
        self.stdout.write(told.to_json() if options["json"] else told.to_text())
        problems = told.problems(options["min_coverage"])
        if problems:
            raise CommandError("; ".join(problems))

    def _generate(self, line: Parsed) -> None:
        found = generate(line)
        self.stderr.write(told_generated(found))
        self.stdout.write(texts.dumps(found.scenarios), ending="")


def _run(
    stored: Line | None, against: str, given: Iterable[ScenarioScript] | None, name: str
) -> ScenarioReport:
    if stored is None:
        if given is None:
            raise Refused("a file holds no scenarios; name theirs with --scenarios FILE")
        return report(_file(name), given, name)
    if given is not None:
        subject = scenarios.subject_of(stored, against)
        return report(subject.parsed, given, f"{name} {subject.name}")
    return scenarios.run(stored, against, now=timezone.now(), bounded=False)


def _stored(name: str) -> Line | None:
    """The line of the database, if that is what is named; None for a file, also where its path looks like one."""
    keys = KEYS.match(name)
    if Path(name).exists() or keys is None:
        return None
    owner, project, line = keys.groups()
    rows = Line.objects.filter(key=line, project__key=project, project__owner__key=owner)
    found = rows.select_related("live", "project__owner").first()
    if found is None:
        raise Refused("there is no such line, and no such file")
    return found


def _file(name: str) -> Parsed:
    return native.read(Path(name).read_bytes(), keep_faulty_rules=True, exact=True)
