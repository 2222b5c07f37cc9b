"""Web and worker of one machine, kept running: what ends is started again, whatever its exit code says (a worker leaves
with 0 when its database restarts). One signal stops all; if this process is killed, the lifeline stops its children."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

from config import lifeline, readiness

STOP_SECONDS = 7.0  # everything is gone within ten seconds, the database included
QUICK = 5.0  # an end sooner than this after the start counts as a failure
LONGEST_PAUSE = 5.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Child:
    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    due: float = field(default=0.0)


class ProcessSupervisor:
    """Holds the pipe by whose end its children know that it has gone, and their environment."""

    def __init__(self, *, environment: Mapping[str, str], say: Callable[[str], None]) -> None:
        self.children: list[Child] = []
        self.helper: subprocess.Popen[bytes] | None = None
        self.say = say
        self.asked = 0
        # Children inherit the reading end only; the system closes the other one with us.
        self.pipe, self._ours = os.pipe()
        self.environment = {**environment, lifeline.VARIABLE: str(self.pipe)}
        self.pending, self._readiness = os.pipe()

    def start_helper(self, command: Sequence[str], *handed: int) -> subprocess.Popen[bytes]:
        """Starts a process that is not started again when it ends; `handed`: descriptors that it gets besides."""
        self.helper = self._start_process(command, *handed)
        return self.helper

    def start_early(self, commands: Mapping[str, Sequence[str]]) -> None:
        """Starts processes that load while the database is prepared, and wait for it (`config.readiness`)."""
        self.children = [Child(name, command) for name, command in commands.items()]
        for child in self.children:
            child.started = time.monotonic()
            child.process = self._start_process(
                child.command, self.pending, **{readiness.VARIABLE: str(self.pending)}
            )

    def run(self, commands: Callable[[], Mapping[str, Sequence[str]]]) -> None:
        """Keeps what `commands` answers (name to command line) running, until a signal asks for the end of everything.
        One that comes while `commands` is at work ends this process as it does any other."""
        try:
            commands_by_name = commands()
            early = {child.name: child for child in self.children}
            self.children = [
                early.get(name) or Child(name, command) for name, command in commands_by_name.items()
            ]
            for number in SIGNALS:
                signal.signal(number, self._request_stop)
            woken = _wakeup_pipe_on_signals()
            # What was started early waits for the end of this pipe (config/readiness.py).
            os.close(self._readiness)
            while not self.asked:
                for child in self.children:
                    self._restart_if_ended(child)
                if self.helper is not None and self.helper.poll() is not None:
                    self.helper = None
                self._wait_for_signal_or_restart(woken)
        finally:
            self._stop_all()

    def _wait_for_signal_or_restart(self, woken: int) -> None:
        """Sleep until a signal comes, such as that of a child's end, or a child that failed is to be started again."""
        due = [child.due - time.monotonic() for child in self.children if child.process is None]
        if select.select([woken], [], [], max(0.0, min(due)) if due else None)[0]:
            # Emptied, whatever came: poll() says which child has ended.
            os.read(woken, 4096)

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1

    def _restart_if_ended(self, child: Child) -> None:
        now = time.monotonic()
        if child.process is not None and child.process.poll() is not None:
            # Only a process that ends soon after its start is in trouble by itself
            child.failures = child.failures + 1 if now - child.started < QUICK else 0
            child.due = now + min(0.1 * 2**child.failures, LONGEST_PAUSE) if child.failures else now
            self.say(
                f"The {child.name} process ended (exit code {child.process.returncode}): starting it again."
            )
            child.process = None
        if child.process is None and now >= child.due:
            self._start_child(child, now)

    def _start_child(self, child: Child, now: float) -> None:
        child.started = now
        child.process = self._start_process(child.command)

    def _start_process(self, command: Sequence[str], *handed: int, **more: str) -> subprocess.Popen[bytes]:
        # A session of its own: Ctrl-C reaches this process alone, which then stops the others in order.
        return subprocess.Popen(
            command,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            pass_fds=[self.pipe, *handed],
            start_new_session=True,
        )

    def _stop_all(self) -> None:
        if self.asked:
            self.say("Stopping; a second Ctrl-C does not wait …")
        started = [self.helper, *(child.process for child in self.children)]
        living = [process for process in started if process is not None and process.poll() is None]
        for process in living:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        # A second Ctrl-C means now.
        while (
            any(process.poll() is None for process in living)
            and self.asked < 2
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        for process in living:
            if process.poll() is None:
                # Each child leads a session of its own: with it goes what it has started.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(self.pipe)
        os.close(self._ours)


def _wakeup_pipe_on_signals() -> int:
    """Return the end of a pipe that can be read when a signal has come."""
    # Nothing is written for a signal without a handler of ours.
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    # A signal between a look and select() is not lost: its byte waits in the pipe.
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading
