"""The long proof of the door (`make soak`)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proof.soak.fleet import ROOT


@pytest.mark.soak
def test_signed_in_work_goes_on_beside_an_attack() -> None:
    words = [sys.executable, "-m", "proof.soak.door", "--seconds", "60"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
