"""The command where people have it: beside the server of this checkout, and installed by itself."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from config.setup import packages
from gateline import __version__
from tests.fixtures.site import ROOT


def test_make_run_brings_the_command_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    folder.mkdir()
    monkeypatch.setattr(packages, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(packages, "GATELINE", folder / "gateline")
    packages._ensure_command()
    said = subprocess.check_output([folder / "gateline", "--version"], text=True, cwd=tmp_path)
    assert said == f"gateline {__version__}\n"


@pytest.mark.wide
def test_it_installs_by_itself_and_needs_nothing_of_the_server(tmp_path: Path) -> None:
    """In an environment of its own, with what its own project file names."""
    venv.create(tmp_path / "env", with_pip=True)
    command = tmp_path / "env" / "bin"
    subprocess.run([command / "pip", "install", "-q", str(ROOT / "gateline")], check=True, cwd=tmp_path)
    said = subprocess.check_output([command / "gateline", "--help"], text=True, cwd=tmp_path)
    assert "Start a task." in said
    brought = subprocess.check_output([command / "pip", "list", "--format=freeze"], text=True)
    assert "Django" not in brought
    assert "django" not in brought
