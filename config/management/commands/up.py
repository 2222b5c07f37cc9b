"""manage.py up, for the help of manage.py and for whoever calls it as a command: manage.py itself runs `config.up`
without Django."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config import up


class Command(BaseCommand):
    help = "Prepare the database, then run web and worker until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        up.add_arguments(parser)

    def handle(self, *, host: str, port: int, **options: Any) -> None:
        up.main(["--host", host, "--port", str(port)], up.show_first_step())
