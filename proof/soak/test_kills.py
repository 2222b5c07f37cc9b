"""The long proofs of killing (`make soak`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proof.soak.fleet import ROOT


def kills(*words: str, seconds: float) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "proof.soak.kills", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.soak
@pytest.mark.parametrize("line", ["whole-law", "plain"])
def test_everything_ends_whatever_is_killed(line: str) -> None:
    words = ["--tasks", "200", "--kills", "50", "--postgres", "10", "--restarts", "20", "--line", line]
    print(kills(*words, seconds=5400))
