"""`manage.py lint_line FILE [--json] [--project OWNER/PROJECT]`: what the rules of a line can and cannot do."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from pipelines.formats.linted import linted
from pipelines.lines import linting
from pipelines.management import printing
from pipelines.models import Project
from pipelines.routing.__main__ import REFUSED, source
from pipelines.routing.analysis.lint.report import report
from pipelines.routing.document.line import DocumentError


class Command(printing.Command):
    help = "Say what the rules of a line document can and cannot do, proved; see docs/lint."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", help="the line document, YAML or JSON; - for standard input"
        )
        parser.add_argument("--json", action="store_true", help="everything as JSON")
        parser.add_argument(
            "--project",
            metavar="OWNER/PROJECT",
            help="judge the gates by the people of this project, and what this version can run",
        )

    def handle(
        self, *args: Any, file: str, json: bool = False, project: str | None = None, **options: Any
    ) -> None:
        whose = _project(project) if project else None
        try:
            text = source(file)
        except DocumentError as error:
            raise CommandError(f"{file} is refused:\n{error}", returncode=REFUSED) from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror or error}", returncode=REFUSED) from None
        examination = linting.examined_text(text, whose) if whose else linted(text)
        if examination.line is not None or json:
            self.stdout.write(report(examination, as_json=json))
        if examination.line is None:
            said = "\n".join(map(str, examination.problems))
            raise CommandError(f"{file} is refused:\n{said}", returncode=REFUSED)
        if examination.errors:
            raise CommandError(f"{file} has errors.")


def _project(name: str) -> Project:
    owner, _, key = name.partition("/")
    found = Project.objects.filter(owner__key=owner, key=key).first()
    if found is None:
        raise CommandError(f"There is no project {name}.", returncode=REFUSED)
    return found
