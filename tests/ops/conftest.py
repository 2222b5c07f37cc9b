from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ops.processes import nothing_left


@contextmanager
def open_folder() -> Iterator[Path]:
    """One that every user may reach; pytest's own temporary folders are closed to the user who runs root's database."""
    folder = Path(tempfile.mkdtemp(prefix="gl-"))
    folder.chmod(0o755)
    with nothing_left(folder):
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """A state folder."""
    with open_folder() as folder:
        yield folder / "state"
