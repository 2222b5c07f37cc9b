"""The process between a worker and one command: started as a script, standard library only.

It holds one end of a pipe whose other end only the worker has. When the pipe closes, for whatever reason (a
`kill -9` of the worker included), every process that the command started is killed, also those that left its session:
on Linux the supervisor is the "child subreaper" of all of them. Elsewhere the command's process group is killed.

    supervisor.py CONTROL STATUS      two file descriptors

CONTROL, read: one JSON object per line, first `{"argv", "env", "cwd", "levels", "limits"}`, later `{"stop": seconds}`
(SIGTERM, after that many seconds SIGKILL) or `{"kill": true}`. End of file kills.
STATUS, written: `{"started": pid}` or `{"failed": "why", "errno": n}`; `{"limit": name}` if it is killed for using more
than its `limits` (see `meter`); then `{"exit": code}` or `{"signal": n}`, and `{"survivors": [pid]}` if some could not
be killed (another user's). End of file comes after the last process is gone.

`levels`: how many processes of an isolation wrapper stand above the command (bubblewrap: 2). They are not asked to
stop: a wrapper would end at once and take the command with it, without the time to end by itself.
`no_new_privileges`: set-user-id programs lose their power, and with it the means to outlive the supervisor.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

# A script without site: where the package lies is told here. Standard library only, there too.
sys.path.append(str(Path(__file__).resolve().parents[3]))

from pipelines.work.processes import meter

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
KILL_SECONDS = 15.0
FIRST_LINE = 64 * 1024 * 1024


def prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def parent_pid_by_pid() -> dict[int, int]:
    """{pid: parent's pid} of every process that /proc shows."""
    by_pid = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    # Behind the name in brackets stand the state and the parent
                    by_pid[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    return by_pid


def depth_by_descendant_pid(root: int) -> dict[int, int]:
    """{pid: depth below `root`}, children at 1."""
    children: dict[int, list[int]] = {}
    for pid, parent in parent_pid_by_pid().items():
        children.setdefault(parent, []).append(pid)
    depths: dict[int, int] = {}
    level, depth = [root], 1
    while level:
        level = [pid for parent in level for pid in children.get(parent, ()) if pid not in depths]
        depths.update(dict.fromkeys(level, depth))
        depth += 1
    return depths


def signal_processes(pids: Any, number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


class Supervisor:
    def __init__(self, control: int, status: int) -> None:
        self.control, self.status = control, status
        self.child = 0
        self.levels = 0
        self.code: int | None = None  # as of os.waitstatus_to_exitcode
        self.killing_at: float | None = None
        self.meter: meter.ResourceMeter | None = None
        self.limit = ""

    def write_status(self, **message: Any) -> None:
        with contextlib.suppress(OSError):  # the worker is gone; the control pipe says so too
            os.write(self.status, json.dumps(message).encode() + b"\n")

    def start(self, work: dict[str, Any]) -> bool:
        """Fork and execute; the failure of either is told and is the end."""
        self.levels = work.get("levels", 0)
        if work.get("limits"):
            self.meter = meter.ResourceMeter(work["limits"], self.levels)
        # exec closes its end by itself: what can be read from it is why there was no exec
        failed_read, failed_write = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            self.execute(work, failed_write)
        os.close(failed_write)
        # Else a command that stops reading, or closes its output, would not be noticed by the worker.
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)
        with os.fdopen(failed_read, "rb") as file:
            failure = file.read()
        if failure:
            os.waitpid(self.child, 0)
            number = int(failure)
            self.write_status(failed=os.strerror(number), errno=number)
            return False
        self.write_status(started=self.child)
        return True

    def execute(self, work: dict[str, Any], failed: int) -> None:
        """Execute the command in the child: never returns."""
        try:
            # Its own group, which is what can be killed where there is no /proc
            os.setsid()
            # Should the supervisor itself be killed, nobody would be left to kill the command
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if work.get("no_new_privileges"):
                prctl(PR_SET_NO_NEW_PRIVS, 1)
            # Until exec the child would write its signals to the pipe that wakes the supervisor
            signal.set_wakeup_fd(-1)
            # What is ignored stays ignored over exec
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.close(self.control)
            os.close(self.status)
            os.chdir(work["cwd"])
            if work.get("limits"):
                meter.set_resource_limits(work["limits"])
            os.execvpe(work["argv"][0], work["argv"], work["env"])
        except OSError as error:
            # 5: EIO
            os.write(failed, str(error.errno or 5).encode())
        except (KeyError, TypeError, ValueError):  # a NUL in an argument, for instance
            # EINVAL
            os.write(failed, b"22")
        finally:
            # 127 as of a shell; nothing of what the supervisor does afterwards may happen in the
            # child, too
            os._exit(127)

    def has_children_after_reaping(self) -> bool:
        """Collect what ended; False when no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.code = os.waitstatus_to_exitcode(status)

    def ask_to_stop(self, seconds: float) -> None:
        # A second stop does not put the end off
        if self.killing_at is None:
            self.killing_at = time.monotonic() + seconds
        if LINUX:
            depths = depth_by_descendant_pid(os.getpid())
            inner = [pid for pid, depth in depths.items() if depth > self.levels]
            # Where nothing but wrappers is left, these
            signal_processes(inner or depths, signal.SIGTERM)
        else:
            self.signal_group(signal.SIGTERM)

    def signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child, number)

    def kill_all(self) -> None:
        """Kill until nothing is left. Stopped first, so that none forks faster than it is killed."""
        until = time.monotonic() + KILL_SECONDS
        if not LINUX:
            self.signal_group(signal.SIGKILL)
            while self.code is None and self.has_children_after_reaping() and time.monotonic() < until:
                time.sleep(0.01)
            return
        frozen: set[int] = set()
        while (fresh := set(depth_by_descendant_pid(os.getpid())) - frozen) and time.monotonic() < until:
            # A stopped process starts no other: once nothing new is found, all are known
            signal_processes(fresh, signal.SIGSTOP)
            frozen |= fresh
        while self.has_children_after_reaping():
            left = depth_by_descendant_pid(os.getpid())
            signal_processes(left, signal.SIGKILL)
            if time.monotonic() > until:
                self.write_status(survivors=sorted(left))
                return
            time.sleep(0.002)

    def has_exceeded_limit(self, *, ended: bool = False) -> bool:
        """Return whether a limit is exceeded; report the first one."""
        if self.meter is None or self.limit:
            return bool(self.limit)
        self.limit = (
            self.meter.limit_exceeded_at_end_or_empty() if ended else self.meter.limit_exceeded_now_or_empty()
        )
        if self.limit:
            self.write_status(limit=self.limit)
        return bool(self.limit)

    def seconds_until_next_look_or_none(self) -> float | None:
        """Seconds until something has to be looked at again."""
        until_killed = [] if self.killing_at is None else [max(0.0, self.killing_at - time.monotonic())]
        return min([*until_killed, *([meter.TICK_SECONDS] if self.meter and LINUX else [])], default=None)

    def run(self, wake: int, pending: bytes) -> None:
        """Run until the command ends, or the worker says or shows that it has to. `pending`: control bytes
        already read."""
        while self.code is None:
            if self.has_exceeded_limit():
                return
            # Lines that came together with the first one are there already
            wait = 0.0 if b"\n" in pending else self.seconds_until_next_look_or_none()
            ready, _, _ = select.select([self.control, wake], [], [], wait)
            if wake in ready:
                os.read(wake, 4096)
                self.has_children_after_reaping()
            if self.control in ready:
                data = os.read(self.control, 65536)
                if not data:
                    return
                pending += data
            while b"\n" in pending:
                line, _, pending = pending.partition(b"\n")
                message = json.loads(line)
                if message.get("kill"):
                    return
                self.ask_to_stop(float(message["stop"]))
            if self.killing_at is not None and time.monotonic() >= self.killing_at:
                return


def first_line_and_rest(control: int) -> tuple[bytes, bytes]:
    """The first line, and what was read beyond it; no line if the worker went away."""
    data = b""
    while b"\n" not in data:
        piece = os.read(control, 65536)
        # The worker is gone, or what comes is none of ours
        if not piece or len(data) > FIRST_LINE:
            return b"", b""
        data += piece
    line, _, rest = data.partition(b"\n")
    return line, rest


def main() -> int:
    control, status = int(sys.argv[1]), int(sys.argv[2])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)  # only the pipe ends it
    # They came over exec, and must not go on to the command
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    wake_read, wake_write = os.pipe()
    # Python refuses a wakeup descriptor that could block
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    # Without a handler nothing is written to the wakeup descriptor
    signal.signal(signal.SIGCHLD, lambda *_: None)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    line, rest = first_line_and_rest(control)
    if not line:
        return 1
    supervisor = Supervisor(control, status)
    if not supervisor.start(json.loads(line)):
        return 0
    supervisor.run(wake_read, rest)
    supervisor.kill_all()
    code = supervisor.code
    if code is not None:
        # Again: the processor time of processes that ended between two measurements counts, too
        supervisor.has_exceeded_limit(ended=True)
        supervisor.write_status(**({"exit": code} if code >= 0 else {"signal": -code}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
