"""Each shipped template, begun, published and worked to its end in Chromium by words of the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proof.soak.fleet import ROOT


@pytest.mark.soak
@pytest.mark.browser
def test_each_template_is_worked_to_its_end(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "proof.bench.accept", "--wide", "--folder", str(ROOT)]
    words += ["--pictures", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
