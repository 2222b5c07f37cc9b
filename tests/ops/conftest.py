from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.processes import nothing_left


@pytest.fixture
def home() -> Iterator[Path]:
    """A state folder that every user may reach; pytest's own temporary folders are root's alone."""
    folder = Path(tempfile.mkdtemp(prefix="gl-"))
    folder.chmod(0o755)
    with nothing_left(folder):
        yield folder / "state"
    shutil.rmtree(folder, ignore_errors=True)
