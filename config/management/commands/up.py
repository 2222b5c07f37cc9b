"""manage.py up: everything of one machine. `make run` ends here."""

from __future__ import annotations

import http.client
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Collection, Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.utils import timezone

from config.first_start import prepare
from config.links import sign_in_address, stays_private
from config.setup.machine import check_port
from config.setup.steps import SetupError
from config.state import remember_port
from config.supervisor import ProcessSupervisor
from pipelines.management.commands.worker import station_places
from pipelines.models import User, Worker

PATIENCE = 20.0  # seconds after which the address is said although something is still down


class Command(BaseCommand):
    help = "Prepare the database, then run web and worker until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.PORT)

    def handle(self, *, host: str, port: int, **options: Any) -> None:
        try:
            check_port(host, port)
        except SetupError as error:
            raise CommandError(str(error)) from error
        remember_port(settings.DATA_DIR, port)
        newcomer = prepare(self._say)
        # One that was killed is alive to others for a while yet, and is none of those that start here.
        before = set(Worker.objects.filter(stopped_at=None).values_list("pk", flat=True))
        connections.close_all()
        manage = [sys.executable, str(settings.BASE_DIR / "manage.py")]
        started = time.monotonic()

        def announced() -> bool:
            state = _health(host, port)
            if (state == 200 and one_besides(before)) or (state and time.monotonic() - started > PATIENCE):
                self._say(self._line(port, newcomer))
                connections.close_all()
                return True
            return False

        self._say("Starting web and worker …")
        ProcessSupervisor(
            {"web": [*manage, "web", "--host", host, "--port", str(port)], **workers(manage)},
            environment={**_without_role(), "PORT": str(port)},
            say=self._say,
            tick=announced,
        ).run()
        self._say("Stopped.")

    def _line(self, port: int, newcomer: User | None) -> str:
        address = os.environ.get("BASE_URL") or f"http://127.0.0.1:{port}/"
        if newcomer is None:
            return f"Gateline runs at {address} (Ctrl-C stops it)"
        if not settings.SIGN_IN_LINKS:
            return f"Gateline runs at {address} · set the administrator's password: manage.py changepassword admin"
        isolation = (
            Worker.objects.filter(stopped_at=None).order_by("-started_at").values_list("isolation", flat=True)
        )
        if not stays_private(sys.stdout.fileno(), isolation.first() or "", station_places()):
            return f"Gateline runs at {address} · stations can read this file: for a link run manage.py sign_in_link"
        link = sign_in_address(newcomer, timezone.now(), port)
        return f"Gateline runs at {address} · sign in once, within ten minutes: {link}"

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def one_besides(before: Collection[Any]) -> bool:
    """Whether a worker has started since."""
    return Worker.objects.filter(stopped_at=None).exclude(pk__in=before).exists()


def workers(manage: Sequence[str]) -> dict[str, Sequence[str]]:
    """As many as `GATELINE_WORKERS` says, each with its name here."""
    names = ["worker", *(f"worker {number}" for number in range(2, settings.WORKERS + 1))]
    return {name: [*manage, "worker"] for name in names}


def _without_role() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "GATELINE_ROLE"}


def _health(host: str, port: int) -> int:
    """The status of /healthz, 0 while nobody answers."""
    asked = "127.0.0.1" if host in {"", "0.0.0.0"} else host
    connection = http.client.HTTPConnection(asked, port, timeout=2)
    try:
        connection.request("GET", "/healthz", headers={"Host": f"127.0.0.1:{port}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
