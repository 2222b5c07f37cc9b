"""A runner without a database: the server is restarted and the runner killed, and every task is done exactly once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from proof.soak.fleet import ROOT


@pytest.mark.parametrize(
    ("tasks", "restarts", "kills"),
    [pytest.param(8, 1, 2, marks=pytest.mark.wide), pytest.param(100, 2, 5, marks=pytest.mark.soak)],
)
def test_whatever_is_killed_each_station_is_done_once(tasks: int, restarts: int, kills: int) -> None:
    words = [sys.executable, "-m", "proof.soak.runner_kills"]
    words += ["--tasks", str(tasks), "--restarts", str(restarts), "--kills", str(kills)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["wrong"] == []
