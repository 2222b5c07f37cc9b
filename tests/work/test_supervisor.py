"""No process outlives its attempt: every test starts real processes and looks for them afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.work.processes.process import CannotStart, Launch, Process, ProcessEnd
from tests.waiting import eventually
from tests.work.conftest import PYTHON, alive

ENV = {"PATH": os.defpath, "LANG": "C.UTF-8"}
ROOT = Path(__file__).resolve().parents[2]

# A process that leaves its session, its parent and its streams, and writes its number to a file.
ESCAPES = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for end in (0, 1, 2): os.close(end)
        with open(sys.argv[1] + '.new', 'w') as file: file.write(str(os.getpid()))
        os.rename(sys.argv[1] + '.new', sys.argv[1])
        time.sleep(600)
    os._exit(0)
"""


def launch(program: str, *arguments: str, cwd: Path = Path("/")) -> Launch:
    return Launch((PYTHON, "-I", "-c", program, *arguments), ENV, cwd)


async def ended(program: str, *arguments: str) -> ProcessEnd:
    async with Process(launch(program, *arguments)) as process:
        await process.stdout.read()
        return await process.wait()


async def test_it_reports_the_exit_code() -> None:
    assert await ended("raise SystemExit(3)") == ProcessEnd(3)


async def test_it_reports_the_signal_that_ended_the_command() -> None:
    assert await ended("import os; os.kill(os.getpid(), 9)") == ProcessEnd(137, 9)


@pytest.mark.parametrize(
    ("argv", "cwd"), [(("/does/not/exist",), "/"), ((PYTHON,), "/does/not/exist"), (("/etc/passwd",), "/")]
)
async def test_it_says_why_a_command_cannot_be_started(argv: tuple[str, ...], cwd: str) -> None:
    with pytest.raises(CannotStart):
        async with Process(Launch(argv, ENV, Path(cwd))):
            pass


async def test_it_gives_a_command_time_to_end_by_itself() -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    async with Process(launch(program)) as process:
        await process.stdout.readline()
        process.stop(30)
        assert await process.wait() == ProcessEnd(7)


async def test_it_kills_what_does_not_want_to_end() -> None:
    program = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    async with Process(launch(program)) as process:
        await process.stdout.readline()
        process.stop(0.2)
        assert await process.wait() == ProcessEnd(137, 9)


async def test_what_a_command_leaves_behind_is_gone_before_its_end_is_reported(tmp_path: Path) -> None:
    left = tmp_path / "pid"
    program = f"{ESCAPES}\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    assert await ended(program, str(left)) == ProcessEnd(0)
    assert not alive(int(left.read_text()))


async def test_cancelling_kills_everything_before_it_returns(tmp_path: Path) -> None:
    left = tmp_path / "pid"

    async def run() -> None:
        async with Process(launch(f"{ESCAPES}\ntime.sleep(600)", str(left))) as process:
            await process.wait()

    task = asyncio.create_task(run())
    await eventually(left.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(int(left.read_text()))


WORKER = """
import asyncio, sys
from pathlib import Path
from pipelines.work.processes.process import Launch, Process

async def main():
    async with Process(Launch(sys.argv[1:], {"PATH": "/usr/bin:/bin"}, Path("/"))) as process:
        await process.wait()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is followed")
async def test_everything_dies_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    left, own = tmp_path / "escaped", tmp_path / "own"
    program = f"{ESCAPES}\nopen(sys.argv[2], 'w').write(str(os.getpid()))\ntime.sleep(600)"
    worker = subprocess.Popen(  # noqa: ASYNC220
        [PYTHON, "-c", WORKER, PYTHON, "-I", "-c", program, str(left), str(own)], cwd=ROOT
    )
    await eventually(lambda: left.exists() and own.exists() and own.read_text())
    pids = [int(left.read_text()), int(own.read_text())]
    assert all(map(alive, pids))
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    await eventually(lambda: not any(map(alive, pids)))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the process group is followed")
async def test_a_command_that_multiplies_is_killed_to_the_last() -> None:
    program = (
        "import os, time\n"
        "print('ready', flush=True)\n"
        "for _ in range(6):\n"
        "    os.fork()\n"
        "os.setsid() if os.getpid() != os.getpgrp() else None\n"
        "time.sleep(600)"
    )
    async with Process(launch(program)) as process:
        await process.stdout.readline()
        process.kill()
        outcome = await process.wait()
    assert outcome == ProcessEnd(137, 9)


async def test_a_command_that_does_not_read_holds_up_nobody() -> None:
    quiet = Launch((PYTHON, "-I", "-c", "import os; os.close(0); print('done')"), ENV, Path("/"), stdin=True)
    async with Process(quiet) as process:
        assert process.stdin is not None
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                process.stdin.write(b"x" * 65536)
                await process.stdin.drain()
        assert await process.wait() == ProcessEnd(0)
