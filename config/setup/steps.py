"""A step of the set-up: skipped when its inputs have not changed, shown while it runs, plain when it fails."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOW_EVERY = 15.0  # seconds, where the output is no terminal
DATABASE, START = "Database and demo", "Web and worker"
"""Steps that `manage.py up` begins and `manage.py announce` ends: both load for seconds before they do anything."""


class SetupError(Exception):
    """Carries a sentence for a person and a remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}\n{remedy}")


class StepFailed(SetupError):
    """A command of a step failed; `output` is what it said."""

    def __init__(self, label: str, output: str, remedy: str) -> None:
        super().__init__(f"{output.strip()[-3000:]}\n\n{label}: failed.", remedy)
        self.output = output


def digest_of_inputs(*inputs: Path | str) -> str:
    """Return one hash over texts, files and whole folders, by names relative to the project."""
    total = hashlib.sha256()
    for item in inputs:
        for path in _files_of_path(item) if isinstance(item, Path) else ():
            total.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
        if isinstance(item, str):
            total.update(item.encode() + b"\0")
    return total.hexdigest()


def _files_of_path(item: Path) -> Iterable[Path]:
    if item.is_dir():
        return sorted(path for path in item.rglob("*") if path.is_file())
    return [item] if item.is_file() else []


def is_stamp_fresh(stamp: Path, inputs: str) -> bool:
    return stamp.is_file() and stamp.read_text() == inputs


def print_at_once(text: str) -> None:
    print(text, flush=True)


@contextmanager
def exclusive_setup() -> Iterator[None]:
    """Two set-ups in one folder would tread on each other: the second waits."""
    # This file is there in every checkout: no lock file has to be made, or removed.
    with Path(__file__).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_at_once("Another set-up runs in this folder: waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class SetupStep:
    """Named step of the set-up as a newcomer sees it: one line, which ends with the seconds that all of it
    took. Nothing is printed while nothing has to be done. `begin`: where another process has shown it already, the
    `time.monotonic()` of that."""

    def __init__(self, name: str, begin: float | None = None) -> None:
        self.name = name
        self.begin = begin

    def __enter__(self) -> SetupStep:
        _steps_at_work.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        _steps_at_work.remove(self)
        if self.begin is not None and kind is None:
            self._print_progress(f"{self.name}: {self._seconds_since_begin()} s", last=True)

    def show(self, detail: str = "") -> None:
        """Says that the step is at work; on a terminal with what it does now."""
        if self.begin is None:
            self.begin = time.monotonic()
            self._print_progress(f"{self.name} …")
        elif sys.stdout.isatty():
            self._print_progress(f"{self.name} … {self._seconds_since_begin()} s  {detail}")

    def end_terminal_line(self) -> None:
        """End its line, where an error follows."""
        if sys.stdout.isatty():
            print(flush=True)

    def _seconds_since_begin(self) -> str:
        return f"{time.monotonic() - (self.begin or 0):.0f}"

    def _print_progress(self, text: str, *, last: bool = False) -> None:
        if sys.stdout.isatty():
            # Back to the start of the line, and clear it
            print(f"\r\x1b[K{text}", end="\n" if last else "", flush=True)
        else:
            print(text, flush=True)


_steps_at_work: list[SetupStep] = []


def run_long_command(
    label: str, command: Sequence[str | Path], *, remedy: str, env: Mapping[str, str] | None = None
) -> None:
    """Runs a long command and shows that it goes on. StepFailed with its output."""
    # A file, not a pipe: nobody has to read while the command runs.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            if _steps_at_work:
                _show_until_ended(_steps_at_work[-1], label, process)
            else:
                with SetupStep(label) as stage:
                    _show_until_ended(stage, "", process)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if process.returncode:
            output.seek(0)
            raise StepFailed(label, _text_without_colours(output.read()), remedy)


def _show_until_ended(stage: SetupStep, label: str, process: subprocess.Popen[bytes]) -> None:
    lively = sys.stdout.isatty()
    begin = time.monotonic()
    stage.show(label)
    while process.poll() is None:
        try:
            process.wait(0.2 if lively else SHOW_EVERY)
        except subprocess.TimeoutExpired:
            if lively:
                stage.show(label)
            else:
                print(f"  still at it after {time.monotonic() - begin:.0f} s", flush=True)


def _text_without_colours(output: bytes) -> str:
    """Drops the colours and the overwritten lines of a terminal."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n]*\r(?!\n)", "", output.decode(errors="replace"))


def environment_for_tools(**more: str) -> dict[str, str]:
    """Ours, without what would lead pip, uv or npm into another environment."""
    variables = {
        name: value
        for name, value in os.environ.items()
        # These would lead pip, uv or npm into another environment
        if name not in {"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "CONDA_PREFIX", "NODE_ENV"}
    }
    return variables | more


# As Node, OpenSSL, uv and pip tell of a network or a certificate that fails
NO_NETWORK = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|_CERT|CERTIFICATE_VERIFY|dns error|"
    r"name resolution|Connection refused|[Tt]imed out|Network is unreachable|Failed to (fetch|establish)|"
    r"error sending request",
)
