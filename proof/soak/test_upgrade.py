"""An upgrade without a stop (`make soak`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proof.soak.fleet import ROOT


@pytest.mark.soak
def test_an_older_web_and_worker_run_beside_newer_ones_and_nothing_is_lost() -> None:
    words = [sys.executable, "-m", "proof.soak.upgrade", "--tasks", "60", "--beside", "30"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
