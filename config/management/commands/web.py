"""manage.py web: the web process, served by daphne. Any other ASGI server can serve config.asgi:application too."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from daphne.endpoints import build_endpoint_description_strings
from daphne.server import Server
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.asgi import application
from config.setup.machine import check_port
from config.setup.steps import SetupError


class Command(BaseCommand):
    help = "Serve pages, API and sockets."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.PORT)

    def handle(self, *, host: str, port: int, **options: Any) -> None:
        try:
            check_port(host, port)
        except SetupError as error:
            raise CommandError(str(error)) from error
        forwarded = "X-Forwarded-For" if settings.TRUST_PROXY else None
        server = Server(
            application,
            endpoints=build_endpoint_description_strings(host=host, port=port),
            proxy_forwarded_address_header=forwarded,
            application_close_timeout=3,
            server_name="gateline",
        )
        server.run()
        if not server.listening_addresses:
            sys.exit(1)
