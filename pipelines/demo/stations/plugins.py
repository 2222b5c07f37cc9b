"""Which pytest plugins of the worker a suite gets: the ones that its repository names."""

from __future__ import annotations

import re
from importlib.metadata import distributions, entry_points
from pathlib import Path

NAMED_IN = (
    "*.toml",
    "*.cfg",
    "*.ini",
    "*.txt",
    "setup.py",
    "conftest.py",
    "requirements/*",
    "tests/conftest.py",
)
MOST_BYTES = 1 << 20  # of one file


def unnamed(root: Path) -> list[str]:
    """pytest options that leave out the installed plugins that no file of the repository at `root` names.

    A plugin that happens to be installed beside Gateline must not change what another repository's suite says.
    """
    words = named(root)
    return sorted(
        {
            f"-pno:{plugin.name}"
            for plugin in entry_points(group="pytest11")
            if plugin.dist is not None and plain(plugin.dist.name) not in words
        }
    )


def absent(root: Path) -> list[str]:
    """The pytest plugins that the repository names and this worker has not."""
    there = {plain(found.name) for found in distributions()}
    return sorted(word for word in named(root) if word.startswith("pytest-") and word not in there)


def named(root: Path) -> set[str]:
    """Every word in the repository's files of requirements and configuration."""
    words: set[str] = set()
    for pattern in NAMED_IN:
        for path in root.glob(pattern):
            if path.is_file() and path.stat().st_size <= MOST_BYTES:
                words |= set(
                    map(plain, re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*", path.read_text("utf-8", "replace")))
                )
    return words


def plain(name: str) -> str:
    """A distribution's name in its normal form (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
