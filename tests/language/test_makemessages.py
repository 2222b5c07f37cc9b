"""`manage.py makemessages` finds every text: as many as Python finds without GNU gettext."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from django.core.management import call_command

from tests.language import messages
from tests.language.messages import PYTHON, ROOT, SCRIPTS, TEMPLATES


@pytest.mark.wide
def test_a_catalogue_has_texts_of_python_templates_and_scripts() -> None:
    django = {text for text, _ in messages.python_and_templates()}
    assert {"Approve", "Sign in", ("%(n)s rule", "%(n)s rules")} & django
    assert "Tidy the canvas" not in django
    assert "Undo" in {text for text, _ in messages.scripts()}


@pytest.mark.wide
@pytest.mark.skipif(shutil.which("xgettext") is None, reason="GNU gettext is not installed")
@pytest.mark.parametrize(
    ("domain", "found"), [("django", messages.python_and_templates), ("djangojs", messages.scripts)]
)
def test_makemessages_finds_what_the_tests_find(
    domain: str, found: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: object
) -> None:
    # It writes beside what it reads: in a copy.
    for folder in (*PYTHON, *TEMPLATES, *SCRIPTS):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    settings.LOCALE_PATHS = [tmp_path / "locale"]  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path)
    call_command("makemessages", locale=["de"], domain=domain, verbosity=0)
    with (tmp_path / "locale" / "de" / "LC_MESSAGES" / f"{domain}.po").open("rb") as file:
        written = {(message.id, message.context) for message in read_po(file) if message.id}
    expected = {text if isinstance(text, str) else text[:2] for text, _ in found()}  # type: ignore[operator]
    assert {id_ if isinstance(id_, str) else tuple(id_) for id_, _ in written} == expected
