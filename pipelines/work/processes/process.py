"""The worker's side of a supervised command: start, streams, stop, and how it ended. No shell anywhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SUPERVISOR = Path(__file__).with_name("supervisor.py")
# The supervisor gives up killing after 15 s; then this side kills the supervisor.
GONE_SECONDS = 20.0
STREAM_LIMIT = 256 * 1024


class CannotStart(Exception):
    """The command could not be started."""


@dataclass(frozen=True)
class Launch:
    """Command to start: complete argv (an isolation wrapper included), environment and folder. `limits`: what
    all of it may use, as of `resources.Resources.limits`; None: as much as there is."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    levels: int = 0
    no_new_privileges: bool = False
    stdin: bool = False
    limits: Mapping[str, object] | None = None

    def instructions_for_supervisor(self) -> bytes:
        work = {
            "argv": list(self.argv),
            "env": dict(self.env),
            "cwd": str(self.cwd),
            "levels": self.levels,
            "no_new_privileges": self.no_new_privileges,
            "limits": None if self.limits is None else dict(self.limits),
        }
        return json.dumps(work).encode() + b"\n"


@dataclass(frozen=True)
class ProcessEnd:
    """`code` as a shell has it: 128 + n after signal n; None if nobody saw it end. `survivors`: pids. `limit`: which of
    its limits it exceeded, "" for none."""

    code: int | None
    signal: int | None = None
    survivors: tuple[int, ...] = ()
    limit: str = ""


class SupervisorPipes(NamedTuple):
    """Our ends of the pipes of a supervisor, as file descriptors. `input`: -1 where the command reads none."""

    status: int
    output: int
    errors: int
    input: int


@dataclass
class Process:
    """Running command. Leaving the block kills whatever remains of it and waits until it has ended."""

    launch: Launch
    stdin: asyncio.StreamWriter | None = None
    _supervisor: subprocess.Popen[bytes] | None = None
    _control: int = -1
    _transports: list[asyncio.ReadTransport] = field(default_factory=list)

    async def __aenter__(self) -> Process:
        """:raises CannotStart: the program is not there, not executable, or the folder is missing"""
        status_read, out_read, err_read, in_write = await asyncio.to_thread(self._spawn_supervisor)
        self.stdout, self.stderr = await self._reader(out_read), await self._reader(err_read)
        self._status = await self._reader(status_read)
        self.stdin = await _pipe_writer(in_write) if in_write >= 0 else None
        try:
            # In a thread: the line may be longer than the pipe takes at once
            await asyncio.get_running_loop().run_in_executor(
                None, self._send, self.launch.instructions_for_supervisor()
            )
            first = await self._next_message_of_supervisor()
            if "started" not in first:
                raise CannotStart(str(first.get("failed", "the supervisor ended")))
        except BaseException:
            # Shielded: a start that is cancelled leaves no process either
            await asyncio.shield(self._close_control_pipe())
            raise
        return self

    def _spawn_supervisor(self) -> SupervisorPipes:
        """Start the supervisor."""
        control_read, self._control = os.pipe()
        status_read, status_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        in_read, in_write = os.pipe() if self.launch.stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SUPERVISOR), str(control_read), str(status_write)],
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                # The supervisor's own; that of the command is in its first line
                env={"LANG": "C.UTF-8"},
                pass_fds=(control_read, status_write),
                # Ctrl-C at the worker's terminal does not reach it: only the pipe ends it
                start_new_session=True,
                cwd="/",
            )
        finally:
            # The supervisor has copies: a stream ends only when nobody else can write to it
            for end in (control_read, status_write, out_write, err_write, in_read):
                os.close(end)
        return SupervisorPipes(status_read, out_read, err_read, in_write)

    async def __aexit__(self, *_: object) -> None:
        closing = asyncio.ensure_future(self._close_control_pipe())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            # No process outlives its attempt, not even one whose worker is in a hurry.
            await closing
            raise

    def stop(self, seconds: float) -> None:
        """SIGTERM now, SIGKILL to everything that is left after `seconds`."""
        self._send(json.dumps({"stop": seconds}).encode() + b"\n")

    def kill(self) -> None:
        """SIGKILL to everything, now."""
        self._send(b'{"kill": true}\n')

    async def wait(self) -> ProcessEnd:
        """Wait until the last process of the command has ended."""
        code, number, survivors, limit = None, None, (), ""
        while message := await self._next_message_of_supervisor():
            if isinstance(message.get("exit"), int):
                code = int(str(message["exit"]))
            if isinstance(message.get("signal"), int):
                number = int(str(message["signal"]))
                code = 128 + number
            if isinstance(pids := message.get("survivors"), list):
                survivors = tuple(pids)
            limit = str(message.get("limit", limit))
        return ProcessEnd(code, number, survivors, limit)

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended already; `wait` says how
            while data and self._control >= 0:
                data = data[os.write(self._control, data) :]

    async def _next_message_of_supervisor(self) -> dict[str, object]:
        line = await self._status.readline()
        # A line without its end is the last of a supervisor that was killed while it wrote
        message: dict[str, object] = json.loads(line) if line.endswith(b"\n") else {}
        return message

    async def _close_control_pipe(self) -> None:
        """Close the control pipe: the supervisor kills what is left, and ends."""
        if self._control >= 0:
            # The end of this pipe is what the supervisor waits for: it works even when this process is killed
            os.close(self._control)
            self._control = -1
        if self.stdin is not None:
            self.stdin.close()
        supervisor = self._supervisor
        assert supervisor is not None
        until = asyncio.get_running_loop().time() + GONE_SECONDS
        while supervisor.poll() is None:
            if asyncio.get_running_loop().time() > until:
                supervisor.kill()
            await asyncio.sleep(0.005)
        for transport in self._transports:
            transport.close()

    async def _reader(self, descriptor: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=STREAM_LIMIT)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
        )
        self._transports.append(transport)
        return reader


async def _pipe_writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    # A StreamWriter waits by its protocol, and for a pipe asyncio has none in public that can
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), os.fdopen(descriptor, "wb", buffering=0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
