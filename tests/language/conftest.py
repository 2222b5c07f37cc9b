"""The bracketed language, compiled once for a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from tests.language.messages import LANGUAGE, write_pseudo_language


@pytest.fixture(scope="session")
def brackets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for `LOCALE_PATHS` with both catalogues."""
    folder = tmp_path_factory.mktemp("brackets")
    write_pseudo_language(folder)
    return folder


@pytest.fixture
def in_brackets(settings: object, brackets: Path) -> Iterator[None]:
    """Every page of this test is in the bracketed language."""
    settings.LOCALE_PATHS = [brackets]  # type: ignore[attr-defined]
    settings.LANGUAGES = [(LANGUAGE, "Brackets")]  # type: ignore[attr-defined]
    settings.LANGUAGE_CODE = LANGUAGE  # type: ignore[attr-defined]
    with translation.override(LANGUAGE):
        yield
