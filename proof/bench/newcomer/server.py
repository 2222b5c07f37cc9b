"""`make run` in a clean clone, with an empty home and state, until it prints its address; and its end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KEPT = re.compile(
    r"^(PATH|LANG|PIP_|UV_|SSL_|NODE_EXTRA|REQUESTS_|npm_config_|HTTPS?_PROXY|NO_PROXY)", re.IGNORECASE
)
SETTINGS = (".npmrc", ".config/pip", ".pip")
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+/\S*)")
PATIENCE = 900


def environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Of a shell on a fresh machine: which package registries there are is the machine's, everything else is new."""
    home.mkdir()
    for name in SETTINGS:
        of = Path.home() / name
        if of.is_dir():
            shutil.copytree(of, home / name)
        elif of.exists():
            shutil.copy(of, home / name)
    kept = {name: value for name, value in os.environ.items() if KEPT.match(name)}
    own = str(ROOT / ".venv")
    path = [each for each in kept["PATH"].split(os.pathsep) if not each.startswith(own)]
    return {**kept, "PATH": os.pathsep.join(path), "HOME": str(home), **more}


@contextmanager
def running(folder: Path, port: int, env: Mapping[str, str]) -> Iterator[str]:
    """The address that it printed, with the one-time link."""
    clone, log = folder / "gateline", folder / "run.log"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    process = subprocess.Popen(
        ["make", "run", f"PORT={port}"],
        cwd=clone,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield _address(process, log)
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    deadline = time.monotonic() + PATIENCE
    with log.open("w") as kept:
        for line in process.stdout:
            kept.write(line)
            kept.flush()
            if "Gateline runs at" in line:
                return ADDRESS.findall(line)[-1]
            assert time.monotonic() < deadline, "make run did not end its set-up"
    raise AssertionError(f"make run ended:\n{log.read_text()[-3000:]}")
