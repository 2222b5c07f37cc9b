"""Child processes of a station: in its own process group, so that whoever stops the station stops them too."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .report import StationError

TAIL_LINES = 400
LONGEST_LINE = 8192  # bytes; longer ones are cut into several


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (negative: a signal), the last lines it wrote, and whether its time was up."""

    code: int
    tail: str
    timed_out: bool = False


def environment(**more: str) -> dict[str, str]:
    """What a child gets to know: where programs are and how text is encoded; nothing of the line."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "TERM") if name in os.environ}
    return kept | more


def stream(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit: float) -> Ended:
    """Run `argv` for at most `limit` seconds and copy what it writes to the log.

    Each line is marked with a bar: a line of a stranger's program must not pass for a signal of this station, which
    only counts at the start of a line (house §4).
    """
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    child = start(argv, cwd=cwd, env=env)
    assert child.stdout is not None
    reader = threading.Thread(target=copy, args=(child.stdout.fileno(), tail), daemon=True)
    reader.start()
    timed_out = not ended_within(child, limit)
    # A grandchild may hold the pipe open for ever; what it writes after its parent's end is not waited for. Nor is
    # the pipe closed: that would wait for the reader.
    reader.join(timeout=5)
    return Ended(child.returncode, "\n".join(tail), timed_out)


def start(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except FileNotFoundError as error:
        raise missing(argv[0]) from error


def ended_within(child: subprocess.Popen[bytes], limit: float) -> bool:
    """Wait for the child; kill it when its time is up."""
    try:
        child.wait(limit)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
    return True


def copy(pipe: int, tail: deque[str]) -> None:
    """Read the pipe to its end; each line goes to the log and to `tail`."""
    rest = b""
    while data := os.read(pipe, 65536):
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > LONGEST_LINE:
            lines, rest = [*lines, rest], b""
        for line in lines:
            show(line, tail)
    if rest:
        show(rest, tail)


def show(line: bytes, tail: deque[str]) -> None:
    text = line.decode("utf-8", "backslashreplace").replace("\r", "")
    sys.stdout.write(f"| {text}\n")
    sys.stdout.flush()
    tail.append(text)


def capture(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit: float, output: Path | None = None
) -> tuple[int, bytes, str]:
    """Run `argv`: (exit code, standard output, standard error). The output goes to the file `output`, if one is named.

    :raises StationError: `timeout`, or `missing_tool`.
    """
    with open(output or os.devnull, "wb") as sink:
        try:
            done = subprocess.run(
                list(argv),
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=sink if output else subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=limit,
                check=False,
            )
        except FileNotFoundError as error:
            raise missing(argv[0]) from error
        except subprocess.TimeoutExpired as error:
            raise StationError(
                f"{Path(argv[0]).name} did not end within {limit:.0f} seconds.", "timeout"
            ) from error
    return done.returncode, done.stdout or b"", done.stderr.decode("utf-8", "backslashreplace")


def missing(program: str) -> StationError:
    return StationError(
        f"The program {Path(program).name} is not on this worker. Install it beside the worker "
        "(the project's own set-up does), or add its folder to GATELINE_STATION_PATH.",
        "missing_tool",
        127,
    )
