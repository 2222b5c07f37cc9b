"""The wheels: built, and compared with the files of the product, none of which is missing, and no other is there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from config.setup.steps import ROOT, SetupError
from gateline import __version__

SERVER = (
    "manage.py",
    "config",
    "pipelines",
    "reviews",
    "templates",
    "static",
    "docs",
    # Pages of the help that lie beside docs/
    "SECURITY.md",
    "proof/proof.md",
)
BESIDE_TESTS = re.compile(r"\.test\.tsx?$")
BUILT_PAGES = "gateline_server/static/dist/"
NOTES = re.compile(
    rf"^## {re.escape(__version__)}(?:, .+)?\n(?P<notes>.+?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)


def check_versions() -> None:
    """Raise SetupError unless both wheels would have the same version."""
    server = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if server != __version__:
        raise SetupError(
            f"pyproject.toml has version {server}, gateline/__init__.py has {__version__}.",
            "Write the version that is released into both.",
        )


def release_notes() -> str:
    """Return the changelog's section of this version. SetupError where it has none."""
    match = NOTES.search((ROOT / "CHANGELOG.md").read_text())
    if match is None:
        raise SetupError(
            f"CHANGELOG.md has no section “## {__version__}”.", "Write what changes for people who use it."
        )
    return f"# Gateline {__version__}\n\n{match['notes'].strip()}\n"


def check_committed() -> None:
    """Raise SetupError where the checkout has files or changes that no commit has."""
    changes = _git("status", "--porcelain")
    if changes:
        raise SetupError(
            f"Not everything here is committed:\n{changes.rstrip()}",
            "Commit it, or take it back: git stash -u",
        )


def build(project: Path, folder: Path) -> Path:
    """Build the wheel of the project file in `project`; answer its path, the only one in `folder`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def differences(wheel: Path, expected: set[str]) -> list[str]:
    """Name the files that are missing, and those that no release has. The built pages and what the wheel says of itself
    are in it besides."""
    with zipfile.ZipFile(wheel) as archive:
        files = {
            name
            for name in archive.namelist()
            if ".dist-info/" not in name and not name.startswith(BUILT_PAGES)
        }
    missing = [f"{wheel.name} lacks {name}." for name in sorted(expected - files)]
    return missing + [
        f"{wheel.name} has {name}, which is no file of the product." for name in sorted(files - expected)
    ]


def server_files() -> set[str]:
    """Return the paths that the server's wheel has to have: all files of the product but tests that lie beside them."""
    return {f"gateline_server/{name}" for name in _product_files(*SERVER) if not BESIDE_TESTS.search(name)}


def client_files() -> set[str]:
    """Return the paths that the wheel of the command line has to have."""
    return {name for name in _product_files("gateline") if name.endswith((".py", "py.typed"))}


def _product_files(*folders: str) -> list[str]:
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders).split("\0")
    return [name for name in names if (ROOT / name).is_file()]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout
