"""`manage.py worker`: takes tickets and does the work of stations, until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from pipelines.management import printing
from pipelines.management.workspace_check import TAG
from pipelines.ports.garbage_collection import exempt_loaded_objects
from pipelines.ports.vault import keys
from pipelines.queries.allowed_folders import protected_folders, repository_root_paths_or_none
from pipelines.work import images
from pipelines.work.agents import sign_in
from pipelines.work.config import EVALUATOR_LABEL, WorkerConfig
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.forbidden_calls import forbidden_notices
from pipelines.work.processes.installation import installation_places, unlistable_notices
from pipelines.work.processes.isolation import CannotIsolate, Places
from pipelines.work.processes.isolation_choice import ChosenIsolation, choose_isolation
from pipelines.work.processes.resources import Resources, parsed_resources
from pipelines.work.scheduler.known_tasks import (
    UnknownTask,
    import_tasks_of_queues,
    refuse_unknown_waiting_tasks,
)
from pipelines.work.scheduler.scheduler import QUEUES, Scheduler
from pipelines.work.transport.local.transport import LocalTransport
from pipelines.work.worker.service import Service
from pipelines.work.workspace_folder.workspace_move import move_earlier_folders

SHORTEST_SECRET = 12


class Command(printing.Command):
    requires_system_checks = (*printing.CHECKS, printing.INSTALLATION, TAG)
    help = "Do the work of stations and send mail. SIGTERM or Ctrl-C stops in order, a second one at once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--owner",
            action="append",
            default=[],
            help="Serve only this owner (may be repeated). Default: all.",
        )
        parser.add_argument(
            "--label", action="append", default=[], help="A label of this worker, for stations that need it."
        )
        parser.add_argument("--concurrency", type=int, default=None, help="Stations at once.")
        parser.add_argument("--drain", type=float, default=None, help="Seconds to end by itself on a stop.")
        parser.add_argument("--name", default="", help="As shown on pages. Default: host and process number.")

    def handle(self, *args: Any, **options: Any) -> None:
        prepare_folder_of_workspaces(self.stderr.write)
        try:
            import_tasks_of_queues(QUEUES)
            refuse_unknown_waiting_tasks(QUEUES)
            asyncio.run(self._run_worker(options))
        except CannotIsolate as error:
            raise CommandError(
                f"The isolation that GATELINE_ISOLATION asks for does not work here: {error}\n"
                "Allow user namespaces or run apt-get install bubblewrap, name another isolation, or use “auto”."
            ) from error

        except UnknownTask as error:
            raise CommandError(str(error), returncode=os.EX_CONFIG) from error

    async def _run_worker(self, options: dict[str, Any]) -> None:
        base = Path(settings.WORKSPACES_DIR)
        in_force = await choose_isolation(
            settings.ISOLATION, configured_station_places(), base, path_of_database_socket_or_none()
        )
        if not settings.RUN_PROGRAMS:
            self.stderr.write("This worker runs no programs (GATELINE_RUN_PROGRAMS): runners do.")
        elif in_force.name == "none":
            self.stderr.write(
                "Nothing isolates stations on this machine: one could read keys and forge decisions."
            )
        for notice in (*forbidden_notices(in_force.isolation), *unlistable_notices(in_force.isolation)):
            self.stderr.write(notice)
        if EVALUATOR_LABEL in (options["label"] or settings.WORKER_LABELS) and not settings.EVALUATOR_COMMAND:
            self.stderr.write(
                f"This worker has the label {EVALUATOR_LABEL}, but GATELINE_EVALUATOR_COMMAND is not set:"
                " it answers no questions."
            )
        made, worker = worker_config(options, in_force), uuid.uuid4()
        name = options["name"] or platform.node()
        scheduler = Scheduler(made.concurrency, made.heartbeat_seconds)
        service = Service(worker, made, name, LocalTransport(worker, made), scheduler)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, service.stop)
        # All is loaded by now: the collector need not look through that again.
        exempt_loaded_objects()
        await service.run()


def prepare_folder_of_workspaces(say: Callable[[str], None]) -> None:
    """The folder of workspaces, with what an earlier version kept elsewhere."""
    folder = Path(settings.WORKSPACES_DIR)
    try:
        # Of this user alone: the files of all tasks are in there
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CommandError(
            f"The folder of workspaces {folder} cannot be made: {error.strerror}.\n"
            "Name another one in GATELINE_WORKSPACES."
        ) from error
    move_earlier_folders(settings.WORKSPACES, folder, say)


def worker_config(options: dict[str, Any], in_force: ChosenIsolation) -> WorkerConfig:
    owners = options["owner"] or settings.WORKER_OWNERS
    drain = options["drain"]
    return WorkerConfig(
        workspaces=Path(settings.WORKSPACES_DIR),
        isolation=in_force.isolation,
        images=images.find_image_program(
            in_force.isolation, Path(settings.WORKSPACES_DIR), settings.STATION_PATH
        ),
        station_path=tuple(settings.STATION_PATH),
        variables={"GATELINE_AGENT_COMMAND": settings.AGENT_COMMAND},
        resources=configured_station_resources(),
        repository_roots=repository_root_paths_or_none(),
        protected=protected_folders(),
        programs=settings.RUN_PROGRAMS,
        several_owners=settings.LANDLOCK_SEVERAL_OWNERS,
        labels=frozenset(options["label"] or settings.WORKER_LABELS),
        # None serves every owner; an empty set would serve nobody
        owners=frozenset(owners) or None,
        secrets=secrets_to_mask(),
        outgoing=outgoing_destinations(),
        named_secrets=settings.NAMED_SECRETS,
        signed_in=lent_sign_in_folder_by_agent(),
        evaluator=tuple(settings.EVALUATOR_COMMAND),
        concurrency=options["concurrency"] or settings.WORKER_CONCURRENCY,
        drain_seconds=float(settings.WORKER_DRAIN_SECONDS if drain is None else drain),
    )


def lent_sign_in_folder_by_agent() -> dict[str, Path]:
    """The sign-ins of this machine's user that its stations may have."""
    try:
        return sign_in.sign_in_folders(settings.SIGNED_IN, os.environ)
    except sign_in.NotSignedIn as fault:
        raise CommandError(f"GATELINE_SIGNED_IN: {fault}") from fault


def configured_station_resources() -> Resources:
    try:
        return parsed_resources(settings.STATION_RESOURCES)
    except ValueError as fault:
        raise CommandError(f"GATELINE_STATION_RESOURCES: {fault}.") from fault


def secrets_to_mask() -> tuple[str, ...]:
    """Return the secrets that this process knows and no log may show. A password that is a common word would
    only garble texts."""
    candidates = (
        settings.SECRET_KEY,
        settings.DATABASES["default"].get("PASSWORD", ""),
        getattr(settings, "EMAIL_HOST_PASSWORD", ""),
        settings.MODEL_KEY,
        *keys.key_texts(),
    )
    configured = settings.NAMED_SECRETS.values()
    # A short one may be a common word: masking it would garble every log
    return (*(str(secret) for secret in candidates if len(str(secret)) >= SHORTEST_SECRET), *configured)


def outgoing_destinations() -> Outgoing:
    """Return the destinations that the stations of this worker may call, and where its model answers."""
    endpoint = Endpoint(
        settings.MODEL_URL,
        settings.MODEL,
        settings.MODEL_KEY,
        float(settings.MODEL_TIMEOUT),
        settings.MODEL_RETRIES,
    )
    return Outgoing(Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES)), endpoint)


def configured_station_places() -> Places:
    return installation_places(
        Path(settings.BASE_DIR),
        settings.STATION_PATH,
        settings.STATION_READABLE,
        hidden=(
            settings.DATA_DIR,
            settings.WORKSPACES_DIR,
            *settings.WORKSPACES.folders_of_other_checkouts(),
        ),
    )


def path_of_database_socket_or_none() -> Path | None:
    default = settings.DATABASES["default"]
    host = str(default.get("HOST") or "")
    # A host that begins with a slash is the folder of the socket for libpq.
    return Path(host) / f".s.PGSQL.{default.get('PORT') or 5432}" if host.startswith("/") else None
