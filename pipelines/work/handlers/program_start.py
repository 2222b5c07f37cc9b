"""Start the program of a station with what goes with it: the way to its hosts, and services beside it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from pipelines.work.handlers.network_access import proxying_hosts
from pipelines.work.processes import services as script
from pipelines.work.processes.process import Launch, Process
from pipelines.work.results.files import restore_folder
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.handler_io import Attempt, Sink, Spec
from pipelines.work.spec.preparation import ServiceProgram

LONGEST_LINE: Final = 64 * 1024
REPLACED: Final = "The station put a link or a file in place of its folder {name}: nothing of it is kept."
WITHOUT_PORTS: Final = (
    "Service %(name)s listens on port %(port)d, which Landlock permits only where the network of the station is Open. "
    "Set it to Open, give the service a socket in a file and a health command, or run apt-get install bubblewrap on "
    "this runner and start it again with the isolation auto."
)


class NotPrepared(Exception):
    """Failure of the surroundings that a station needs: its program was not started."""


@asynccontextmanager
async def starting_program(spec: Spec, sink: Sink, prepared: Any) -> AsyncIterator[tuple[Spec, Process]]:
    """The running program. `prepared`: makes the launch of a spec.

    :raises CannotStart: NotPrepared: a service is missing"""
    if spec.isolation.without_ports(spec.access):
        refuse_services_on_ports(spec.services)
    async with proxying_hosts(spec, sink) as connected_spec:
        launch: Launch = prepared(connected_spec)
        try:
            async with Process(launch) as process:
                if connected_spec.services:
                    await _wait_for_services(process, sink)
                yield connected_spec, process
        finally:
            # Shielded: nothing may follow a link that the station left, also where the call is cancelled
            replaced = await asyncio.shield(asyncio.to_thread(_restore_folders, spec.attempt))
            for name in replaced:
                await sink.note(f"[gateline] {REPLACED.format(name=name)}")


def _restore_folders(attempt: Attempt) -> list[str]:
    """Return which folders of the attempt its station had replaced: what lies outside is not read, nor written."""
    folders = ((attempt.workspace, True), (attempt.home, False))
    return [folder.name for folder, required in folders if restore_folder(folder, required=required)]


def refuse_services_on_ports(services: Sequence[ServiceProgram]) -> None:
    """:raises NotPrepared: a service listens on a port"""
    for service in services:
        if service.port is not None and not service.health:
            raise NotPrepared(WITHOUT_PORTS % {"name": service.name, "port": service.port})


def argv_with_services(
    argv: Sequence[str], services: Sequence[ServiceProgram], attempt: Attempt
) -> tuple[str, ...]:
    """The command with its services before it. The script lies in the attempt, where every isolation shows it."""
    folder = attempt.root / "services"
    folder.mkdir(mode=0o700, exist_ok=True)
    program = folder / "services.py"
    shutil.copyfile(script.__file__, program)
    instructions = {
        "folder": str(folder),
        "services": [{**service.to_dict(), "seconds": service.seconds} for service in services],
    }
    # With -I and -S no variable, folder or package of the station changes what Python loads.
    return (sys.executable, "-I", "-S", str(program), json.dumps(instructions), "--", *argv)


async def _wait_for_services(process: Process, sink: Sink) -> None:
    """Read the script's message from before the program starts."""
    try:
        line = await process.stdout.readuntil(b"\n")
        message = json.loads(line)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        errors = await process.stderr.read(LONGEST_LINE)
        raise NotPrepared(
            f"The services could not be started: {escaped_for_storage(errors.decode(errors='replace'))[-500:]}"
        ) from error
    if "failed" in message:
        name = message["name"]
        if message["log"].strip():
            await sink.note(f"[gateline] The last lines of service {name}:")
            await sink.write("err", message["log"].encode())
        raise NotPrepared(f"Service {name} {message['failed']}.")
    for service in message[script.MARK]:
        await sink.note(f"[gateline] Service {service['name']} answers ({service['seconds']:g} s).")
