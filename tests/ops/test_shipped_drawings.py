"""The lines that ship with the product are drawn at set-up: a new installation shows them without a Node, as Node draws
them, and takes none that another program drew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from config.setup import front_end, packages
from pipelines.lines import drawings, shipped_drawings
from pipelines.lines.demo import example
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.management.shipped_pictures import shipped_pictures
from pipelines.models import Drawing, Line, User
from pipelines.web.editor import drawing_tasks
from pipelines.web.lines.drawing import picture_of
from pipelines.work.drawing import Drawer

SMALL = ("review-before-delivery", "agent-draft")


@pytest.fixture(scope="module", autouse=True)
def _drawn_at_set_up() -> None:
    """Nothing is done where `make` has run since the last change."""
    front_end.ensure_drawings()


@pytest.mark.smoke(3)
@pytest.mark.parametrize("number", range(len(example.KEYS) * 2 + len(STARTERS)))
def test_set_up_draws_what_node_draws_for_a_running_product(number: int, drawer: Drawer) -> None:
    digest, picture = [*shipped_pictures().items()][number]
    assert shipped_drawings.shipped_drawing_or_none(digest) == drawer.drawings_wide_and_narrow(picture)


@pytest.mark.wide
@pytest.mark.django_db
@pytest.mark.usefixtures("no_node")
def test_a_new_installation_has_its_lines_drawn_without_a_node(client: Client) -> None:
    admin = User.objects.create_superuser("admin", password="of a test")
    call_command("load_demo", verbosity=0)
    for line in Line.objects.all():
        drawing_tasks._draw_version(line.live_id)
    assert not Drawing.objects.filter(wide="")
    assert Drawing.objects.count() == len(example.KEYS) * 2, "as pages show them, and on their canvases"
    assert not Line.objects.filter(drawing=None)
    client.force_login(admin)
    for line in Line.objects.all():
        answer = client.get(reverse("line-draw", args=["demo", "app", line.key]))
        assert '"stored": {' in answer.content.decode(), (line.key, answer.status_code, answer.headers)
    # Nobody has asked for these yet
    page = client.get(reverse("lines-new", args=["demo", "app"])).content.decode()
    assert page.count("<svg xmlns") == len(STARTERS) * len(drawings.FRAMES)


def test_what_another_program_drew_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = next(iter(shipped_pictures().values()))
    assert shipped_drawings.is_drawn_at_set_up(drawings.picture_digest(picture))
    monkeypatch.setattr(drawings, "PROGRAM", tmp_path / "drawing.mjs")
    drawings.PROGRAM.write_text("another")
    drawings._program_digest_or_empty.cache_clear()
    try:
        assert shipped_drawings.shipped_drawing_or_none(drawings.picture_digest(picture)) is None
    finally:
        drawings._program_digest_or_empty.cache_clear()


def test_only_what_is_new_is_drawn_and_what_no_line_has_any_more_goes(tmp_path: Path) -> None:
    (first, one), (second, two) = (
        (starter.key, picture_of(starter.line).given) for starter in STARTERS if starter.key in SMALL
    )
    assert shipped_drawings.draw_missing_and_delete_others(lambda: {first: one}, tmp_path, "a") == 1
    begun = (tmp_path / f"{first}.json").stat().st_mtime_ns
    assert (
        shipped_drawings.draw_missing_and_delete_others(lambda: {first: one, second: two}, tmp_path, "b") == 1
    )
    assert (tmp_path / f"{first}.json").stat().st_mtime_ns == begun
    assert shipped_drawings.draw_missing_and_delete_others(lambda: {second: two}, tmp_path, "c") == 0
    assert [path.stem for path in tmp_path.glob("*.json")] == [second]
    assert (tmp_path / ".gateline-stamp").read_text() == "c"


def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Another program instead of the one that draws."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(packages, "PYTHON", program)
    monkeypatch.setattr(front_end, "SHIPPED", tmp_path)
    monkeypatch.setattr(front_end, "node_environment", lambda: {"PATH": "/usr/bin:/bin", "SECRET_KEY": "x"})


def test_no_key_of_this_installation_is_given_to_what_draws(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(monkeypatch, tmp_path, f'env > "{tmp_path}/environment"')
    front_end.ensure_drawings()
    assert "SECRET_KEY" not in (tmp_path / "environment").read_text()


def test_set_up_goes_on_where_the_lines_cannot_be_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, tmp_path, "echo no seccomp here >&2; exit 1")
    front_end.ensure_drawings()
    said = capsys.readouterr().out
    assert "no seccomp here" in said and "These lines are drawn once somebody looks at them." in said


def test_set_up_draws_nothing_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    stand_in(monkeypatch, tmp_path, "exit 1")
    (tmp_path / ".gateline-stamp").write_text(front_end._digest_of_drawing_inputs())
    front_end.ensure_drawings()
    assert capsys.readouterr().out == ""
