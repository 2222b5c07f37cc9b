"""Keys of their own, so that no test changes the ones of the suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from config import state
from pipelines.models import Line, Owner, Project, StoredValue, User
from pipelines.ports.vault import store

Put = Callable[..., StoredValue]


@pytest.fixture
def key_file(tmp_path: Path, settings: Any) -> Path:
    settings.ENCRYPTION_KEY_FILE = state.ensure_encryption_keys_file(tmp_path)
    return tmp_path / "encryption-keys"


@pytest.fixture
def put(key_file: Path) -> Put:
    def place(
        of: Owner | Project | Line, name: str, value: str, *, kind: str = "secret", by: User
    ) -> StoredValue:
        return store.create_or_replace_value(
            store.ValuePlace(of), name, value, kind=kind, by=by, now=timezone.now()
        )

    return place
