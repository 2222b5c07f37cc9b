"""Escape sequences, marks of direction and characters without width: written out wherever people read."""

from __future__ import annotations

import pytest

from config import logs
from pipelines.models import Task
from pipelines.web.shell.visible import visible, visible_page
from tests.factories import World
from tests.pages.conftest import As, at, text

HIDDEN = ["\x1b", "\x7f", "\x9b", "\u200b", "\u200d", "\u200e", "\u202e", "\u2066", "\ufeff", "\U000e0041"]


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_a_hidden_character_is_written_out(hidden: str) -> None:
    assert visible(f"a{hidden}b") == f"a{ascii(hidden)[1:-1]}b"


def test_what_is_seen_stays() -> None:
    for seen in ("ä ß 日本語 עברית العربية\ttab\nline", "👩\u200d🔬 👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥"):
        assert visible(seen) == seen


def test_fields_and_scripts_keep_what_they_hold() -> None:
    kept = [
        '<textarea name="x">a\u202eb</textarea>',
        '<input value="a\u202eb">',
        "<script>let a = 'a\u202eb'</script>",
    ]
    page = "".join(kept) + '<p title="a\u202eb">a\u202eb</p>'
    assert visible_page(page) == "".join(kept) + '<p title="a\\u202eb">a\\u202eb</p>'


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


def test_the_log_of_the_server_acts_on_no_terminal() -> None:
    event = {"event": "asked for \x1b]0;x\x07", "path": "/\u202e", "status": 404}
    assert logs._visible(None, "info", dict(event)) == {
        "event": "asked for \\x1b]0;x\\x07",
        "path": "/\\u202e",
        "status": 404,
    }
