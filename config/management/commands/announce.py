"""manage.py announce: what `up` needs Django for. It prepares the database, lets `up` start web and workers, says the
address as soon as they answer, and leaves."""

from __future__ import annotations

import http.client
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management.base import BaseCommand
from django.utils import timezone

from config.first_start import prepare_database_and_find_newcomer_or_none
from config.setup.steps import DATABASE, START, SetupStep
from config.sign_in_link import is_output_hidden_from_stations, sign_in_address
from config.wiring.checks import REFERENCES
from pipelines.management import printing
from pipelines.management.commands.worker import configured_station_places
from pipelines.models import User, Worker

PATIENCE = 20.0  # seconds after which the address is said although something is still down
LOOK_EVERY = 0.2


class Command(BaseCommand):
    help = "Used by “up”: prepare the database, and say the address once web and worker answer."
    # The web process that starts next makes the others.
    requires_system_checks = (*printing.CHECKS, printing.INSTALLATION)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", required=True)
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument(
            "--tell",
            type=int,
            required=True,
            help="where to write how many workers and web processes to start",
        )
        parser.add_argument("--step", choices=[DATABASE, START], help="which step is shown already")
        parser.add_argument("--began", type=float, help="since when, by the monotonic clock")

    def handle(self, *, host: str, port: int, tell: int, **options: Any) -> None:
        begins = {options["step"]: options["began"]}
        with SetupStep(DATABASE, begins.get(DATABASE)) as database:
            newcomer = prepare_database_and_find_newcomer_or_none(self._say, database.show)
        # One that was killed is alive to others for a while yet, and is none of those that start here.
        before = set(Worker.objects.filter(stopped_at=None).values_list("pk", flat=True))
        with os.fdopen(tell, "w") as pipe:
            pipe.write(f"{settings.WORKERS} {settings.WEB_PROCESSES}\n")
        with SetupStep(START, begins.get(START)) as start:
            start.show()
            _await_web_and_worker(host, port, before)
        self._say(self._running_at_text(port, newcomer))
        # Nobody waits for this one: it loads every page.
        os.nice(10)
        for fault in checks.run_checks(tags=[REFERENCES]):
            self.stderr.write(f"A fault of this installation: {fault.msg}\n{fault.hint}")

    def _running_at_text(self, port: int, newcomer: User | None) -> str:
        address = os.environ.get("BASE_URL") or f"http://127.0.0.1:{port}/"
        if newcomer is None:
            return f"Gateline runs at {address} (Ctrl-C stops it)"
        # A link signs in whoever opens it, and the database may be used from other machines (house §5)
        if not settings.SIGN_IN_LINKS:
            return f"Gateline runs at {address} · set the administrator's password: manage.py changepassword admin"
        isolation = (
            Worker.objects.filter(stopped_at=None).order_by("-started_at").values_list("isolation", flat=True)
        )
        if not is_output_hidden_from_stations(
            sys.stdout.fileno(), isolation.first() or "", configured_station_places()
        ):
            return f"Gateline runs at {address} · stations can read this file: for a link run manage.py sign_in_link"
        link = sign_in_address(newcomer, timezone.now(), port)
        return f"Gateline runs at {address} · sign in once, within ten minutes: {link}"

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _await_web_and_worker(host: str, port: int, before: Collection[Any]) -> None:
    """Returns once web answers; after `PATIENCE` also where the worker or something else is still down."""
    late = time.monotonic() + PATIENCE
    # The page is said once it answers, also where a worker never comes: it shows what is wrong
    while not (state := _health_status_or_zero(host, port)) or (
        time.monotonic() < late and not (state == 200 and has_new_worker(before))
    ):
        time.sleep(LOOK_EVERY)


def has_new_worker(before: Collection[Any]) -> bool:
    """Return whether a worker has started since."""
    return Worker.objects.filter(stopped_at=None).exclude(pk__in=before).exists()


def _health_status_or_zero(host: str, port: int) -> int:
    """The status of /healthz, 0 while nobody answers."""
    # These mean all addresses, and are none to connect to.
    address = "127.0.0.1" if host in {"", "0.0.0.0"} else host
    connection = http.client.HTTPConnection(address, port, timeout=2)
    try:
        # By a name that ALLOWED_HOSTS has unless somebody says otherwise
        connection.request("GET", "/healthz", headers={"Host": f"127.0.0.1:{port}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
