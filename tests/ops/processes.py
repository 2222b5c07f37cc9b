"""Real processes for the tests of operation: started, watched, killed, and never left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.waiting import LONG

ROOT = Path(__file__).resolve().parents[2]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see what is left")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def living_in(folder: Path) -> list[int]:
    """Every living process whose working folder or command line lies in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        if (str(folder) in words or place.startswith(str(folder))) and alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def children() -> dict[int, list[int]]:
    """Which processes each has started, of all that there are now."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            found.setdefault(parent, []).append(int(entry.name))
    return found


def descendants(pid: int) -> Iterator[int]:
    """What a process has started, and what that has."""
    started, left = children(), [pid]
    while left:
        more = started.get(left.pop(), [])
        yield from more
        left += more


def end_helper_of(up: int) -> None:
    """End what `manage.py up` has prepared the database with, and which checks the installation after that."""
    for pid in children().get(up, []):
        with suppress(OSError):
            if b"\0announce\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)


OURS = {
    "DATABASE_URL",
    "GATELINE_ROLE",
    "GATELINE_HOME",
    "DJANGO_SETTINGS_MODULE",
    "DJANGO_ALLOW_ASYNC_UNSAFE",
}


def clean_environment(**more: str) -> dict[str, str]:
    """As a newcomer's shell: without what the tests set for themselves."""
    return {name: value for name, value in os.environ.items() if name not in OURS} | more


ONE_BY_ONE = """
import contextlib, io, json, runpy, sys
answers = sys.stdout
for line in sys.stdin:
    sys.argv, code, out, err = ["manage.py", *json.loads(line)], 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path("manage.py", run_name="__main__")
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
            print(ended.code if isinstance(ended.code, str) else "", file=err)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""


class Commands:
    """Commands of an installation, one after the other in one process: to load the product takes longer than most of
    them. As long as it lives it holds the embedded server, as any command does."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", ONE_BY_ONE],
            cwd=ROOT,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        code, out, err = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(words, code, out, err)

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(LONG)


USER = """
import sys
from pathlib import Path
from config.embedded.server_share import acquire_share
share = acquire_share(Path(sys.argv[1]), durable=sys.argv[2] == "durable")
print("ready", flush=True)
sys.stdin.read()
"""


class ServerUser:
    """A process that holds a share in the embedded server until it is told to leave."""

    def __init__(self, home: Path, *, durable: bool = False, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(home), "durable" if durable else "throwaway"],
            cwd=ROOT,
            env=clean_environment(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", "the server did not start"

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(LONG)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(LONG)


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Kills what still runs from the folder when the test is over, so that no test disturbs another."""
    try:
        yield
    finally:
        for pid in living_in(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
