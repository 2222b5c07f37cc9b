"""The worker, web and PostgreSQL are killed in each part of what a task does with its repository."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from proof.soak.fleet import ROOT


@pytest.mark.parametrize(
    "rounds", [pytest.param(1, marks=pytest.mark.wide), pytest.param(25, marks=pytest.mark.soak)]
)
def test_whatever_is_killed_one_change_lands(rounds: int) -> None:
    words = [sys.executable, "-m", "proof.soak.repository_kills", "--rounds", str(rounds)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600 + 240 * rounds)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout)
    assert counts["worker in push"] == counts["postgres in merge"] == counts["web in fetch"] == rounds
