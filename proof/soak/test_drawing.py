"""2,000 generated lines, laid out and looked at geometrically (static/editor/drawing/geometry.test.ts), and as many of
another kind measured as the server draws them (proof/drawings.py)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import settings

pytestmark = pytest.mark.soak
LINES = 2_000
PARTS = 20
"""Of the random ones: each is measured in a minute or two of a busy machine."""


def test_no_generated_line_is_drawn_with_a_fault() -> None:
    command = ("node_modules/.bin/vitest", "run", "static/editor/drawing/geometry.test.ts")
    run = subprocess.run(
        command,
        cwd=settings.BASE_DIR,
        env={**os.environ, "DRAWINGS": str(LINES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4_000:] + run.stderr[-4_000:]
    assert f"{LINES} lines" in run.stdout


@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_nothing_crosses_the_main_way_of_a_random_line(part: int) -> None:
    command = (sys.executable, "-m", "proof.drawings", "--random", str(LINES), "--part", f"{part}/{PARTS}")
    run = subprocess.run(command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4_000:] + run.stderr[-4_000:]
    assert f"random: {LINES // PARTS} lines" in run.stdout
