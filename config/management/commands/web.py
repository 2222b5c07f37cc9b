"""manage.py web: the web process, served by daphne. Any other ASGI server can serve config.asgi:application too,
without the bounds of the door (config/request_bounds.py)."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from argparse import ArgumentParser
from typing import Any

import structlog
from daphne.endpoints import build_endpoint_description_strings
from daphne.server import twisted_loop
from django.conf import settings
from django.core.checks.registry import registry
from django.core.management.base import BaseCommand, CommandError
from django.urls import get_resolver

from config.asgi import application
from config.request_bounds import BoundedServer
from config.setup.machine import check_port
from config.setup.steps import SetupError
from config.wiring.checks import REFERENCES
from pipelines.ports.garbage_collection import exempt_loaded_objects

log = structlog.get_logger(__name__)
BACKLOG = 1024
PATIENCE = 3.0
"""Seconds after the last for what is under way, before and after it was cancelled."""


class Command(BaseCommand):
    help = "Serve pages, API and sockets."
    # The others take seconds, and nobody waits for them (config/wiring/checks.py).
    requires_system_checks = tuple(registry.tags_available() - {REFERENCES})

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1")
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--number",
            type=int,
            help="share the port with others; listen at the port so many above by itself, too",
        )

    def handle(self, *, host: str, port: int, number: int | None, **options: Any) -> None:
        if number is not None and ":" in host:
            # The server takes over no other socket
            raise CommandError(
                "Several web processes share the port of an IPv4 address: change HOST or GATELINE_WEB."
            )
        own_port = port + (number or 0)
        try:
            check_port(host, own_port)
        except SetupError as error:
            raise CommandError(str(error)) from error
        forwarded = "X-Forwarded-For" if settings.TRUST_PROXY else None
        server = BoundedServer(
            application,
            endpoints=build_endpoint_description_strings(host=host, port=own_port),
            proxy_forwarded_address_header=forwarded,
            application_close_timeout=PATIENCE,
            server_name="gateline",
        )
        get_resolver().url_patterns  # noqa: B018  # pages are loaded before the first is asked for
        exempt_loaded_objects()
        if number is not None:
            # Only now: the system hands connections to whoever listens, ready or not
            server.endpoints.append(listen_and_shared_endpoint(host, port))
        server.run()
        log.info("web_stopped")
        twisted_loop.run_until_complete(_cancel_running_tasks())
        # It never came to listen: a start that failed, although the port was free before.
        if not server.listening_addresses:
            sys.exit(1)


def listen_and_shared_endpoint(host: str, port: int) -> str:
    """Listen at a port at which others listen, too, and return where for the server: the system spreads connections."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listening.bind((host, port))
    listening.listen(BACKLOG)
    listening.setblocking(False)
    # The server takes a copy of it; ours stays open with the process
    return f"fd:fileno={listening.detach()}"


async def _cancel_running_tasks() -> None:
    """A thread whose request still waits for this loop would wait for ever, and the end of the process for it."""
    for _ in range(int(PATIENCE / 0.05)):
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        # What the threads ask of the loop as they end is there in the next round.
        await asyncio.sleep(0.05)
        if not under_way and not asyncio.all_tasks() - {asyncio.current_task()}:
            return
