"""Two recordings of one state are the same, so that a difference between two commits is one of the product."""

from __future__ import annotations

import filecmp
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.site import ROOT


@pytest.mark.soak
def test_two_recordings_are_equal(tmp_path: Path) -> None:
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-m", "tests.recording", str(tmp_path / name)], cwd=ROOT, check=True)
    comparison = filecmp.dircmp(tmp_path / "one", tmp_path / "two", ignore=[])
    kinds = {"api", "commands", "followed", "fragments", "jobs", "mails", "pages"}
    assert set(comparison.common_dirs) == kinds and not comparison.left_only + comparison.right_only
    for kind, inner in comparison.subdirs.items():
        assert inner.left_list == inner.right_list, kind
        _same, different, unread = filecmp.cmpfiles(
            inner.left, inner.right, inner.common_files, shallow=False
        )
        assert different + unread == [], kind
