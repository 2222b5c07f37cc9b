"""The command where `make run` brings it: beside the server of this checkout. tests/ops/test_release.py installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from config.setup import packages
from gateline import __version__


def test_make_run_brings_the_command_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    folder.mkdir()
    monkeypatch.setattr(packages, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(packages, "GATELINE", folder / "gateline")
    packages._write_command_file_if_changed()
    said = subprocess.check_output([folder / "gateline", "--version"], text=True, cwd=tmp_path)
    assert said == f"gateline {__version__}\n"
