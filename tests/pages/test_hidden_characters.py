"""Escape sequences, marks of direction and characters without width: written out wherever people read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from config import logs
from pipelines.models import Task
from pipelines.routing.basics.hidden_characters import HIDDEN as PATTERN
from pipelines.routing.basics.hidden_characters import escape_hidden, escape_hidden_json, escape_hidden_page
from tests.factories import World
from tests.pages.conftest import As, at, text

HIDDEN = ["\x1b", "\x7f", "\x9b", "\u200b", "\u200d", "\u200e", "\u202e", "\u2066", "\ufeff", "\U000e0041"]


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_a_hidden_character_is_written_out(hidden: str) -> None:
    assert escape_hidden(f"a{hidden}b") == f"a{ascii(hidden)[1:-1]}b"


def test_what_is_seen_stays() -> None:
    for seen in ("ä ß 日本語 עברית العربية\ttab\nline", "👩\u200d🔬 👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥"):
        assert escape_hidden(seen) == seen


def test_json_says_what_it_said() -> None:
    text = json.dumps({"a\u202e": [*HIDDEN, "👩\u200d🔬", "ä"]}, ensure_ascii=False)
    shown = escape_hidden_json(text)
    assert json.loads(shown) == json.loads(text)
    assert not {each for each in HIDDEN if each != "\u200d"} & set(shown) and "👩\u200d🔬" in shown


def test_a_page_and_what_it_draws_by_itself_hide_the_same() -> None:
    ranges = re.findall(r"\[0x(\w+), 0x(\w+)\]", Path("static/ts/visible.ts").read_text())
    drawn = {code for first, last in ranges for code in range(int(first, 16), int(last, 16) + 1)}
    assert drawn == {code for code in range(sys.maxunicode + 1) if PATTERN.match(chr(code))}


def test_fields_and_scripts_keep_what_they_hold() -> None:
    kept = [
        '<textarea name="x">a\u202eb</textarea>',
        '<input value="a\u202eb">',
        "<script>let a = 'a\u202eb'</script>",
    ]
    page = "".join(kept) + '<p title="a\u202eb">a\u202eb</p>'
    assert escape_hidden_page(page) == "".join(kept) + '<p title="a\\u202eb">a\\u202eb</p>'


@pytest.mark.django_db
@pytest.mark.moves
def test_no_page_shows_a_title_that_turns_itself_round(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["a"]))
    Task.objects.filter(pk=task.pk).update(title="Pay \u202eevil\x1b[31m\u200b")
    client = signed_in(world.viewer)
    for address in (at(world, "task", task.name), at(world, "tasks")):
        page = text(client.get(address))
        assert "Pay \\u202eevil\\x1b[31m\\u200b" in page
        assert not {"\u202e", "\x1b", "\u200b"} & set(page)


@pytest.mark.django_db
@pytest.mark.moves
def test_nor_do_lines_of_json(world: World) -> None:
    title = "Pay \u202eevil\x1b[31m\u200b\x9b"
    task = world.start(world.line(stations=["a"]), title=title)
    _token, secret = world.token_of(world.viewer)
    address = f"/api/owners/{task.project.owner.key}/projects/{task.project.key}/work-items"
    items = Client().get(address, headers={"Authorization": f"Bearer {secret}"})
    told = b"".join(items).decode()
    assert "Pay \\u202eevil\\u001b[31m\\u200b\\u009b" in told
    assert not {"\u202e", "\x1b", "\u200b", "\x9b"} & set(told)


def test_a_tool_that_prints_a_document_acts_on_no_terminal(tmp_path: Path) -> None:
    document = tmp_path / "line.json"
    document.write_text(
        json.dumps({"gateline": 1, "key": "x", "name": "X", "stations": [{"key": "a", "\u202ework": 1}]})
    )
    told = subprocess.run(
        [sys.executable, "-m", "pipelines.routing", "lint", str(document)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "\\u202ework" in told.stdout + told.stderr
    assert "\u202e" not in told.stdout + told.stderr


def test_the_log_of_the_server_acts_on_no_terminal() -> None:
    event = {"event": "asked for \x1b]0;x\x07", "path": "/\u202e", "status": 404}
    assert logs._event_safe_to_read(None, "info", dict(event)) == {
        "event": "asked for \\x1b]0;x\\x07",
        "path": "/\\u202e",
        "status": 404,
    }
