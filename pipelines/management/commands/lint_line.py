"""`manage.py lint_line FILE [--json]`: what the rules of a line can and cannot do; exit code 1 on errors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipelines.formats import native
from pipelines.routing.line import DocumentError
from pipelines.routing.lint.report import report


class Command(BaseCommand):
    help = "Say what the rules of a line document can and cannot do, proved; see docs/lint."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the line document, YAML or JSON")
        parser.add_argument("--json", action="store_true", help="findings as JSON")

    def handle(self, *args: Any, file: str, json: bool = False, **options: Any) -> None:
        try:
            text = Path(file).read_bytes()
            line = native.read(text, keep_faulty_rules=True, exact=True)
        except DocumentError as error:
            raise CommandError(f"{file} is refused:\n{error}", returncode=2) from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror or error}", returncode=2) from None
        found, errors = report(line, partial(native.locate, text), as_json=json)
        self.stdout.write(found)
        if errors:
            raise CommandError(f"{file} has errors.")
