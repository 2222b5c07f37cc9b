"""Hidden characters in names of a line: written out on the canvas and in the palette, kept in fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.lines import publishing
from tests.browser.canvas import draft, node
from tests.factories import World, station

NAME, SHOWN = "Pay \u202eevil\x9b\u200b", "Pay \\u202eevil\\x9b\\u200b"


@pytest.mark.wide
def test_no_name_on_the_canvas_or_in_the_palette_turns_itself_round(
    world: World, enter_canvas: Callable[..., Page]
) -> None:
    rule = {"id": "on", "label": "On\u2066", "when": {"always": True}, "to": "b"}
    given: dict[str, Any] = {
        "gateline": 1,
        "key": "drawn",
        "name": "Drawn",
        "stations": [station("a", rule, name=NAME, kind="noop"), station("b", kind="noop")],
    }
    line = publishing.create_line(world.project, "drawn", "Drawn", given, world.admin)
    page = enter_canvas(line)
    expect(node(page, "a").locator(".ed-name")).to_have_text(SHOWN)
    expect(node(page, "a")).to_have_attribute("aria-label", re.compile("^" + re.escape(SHOWN)))
    edge = page.locator('.react-flow__edge[data-id="on>b"]')
    expect(edge).to_have_attribute("aria-label", re.compile(re.escape("On\\u2066")))
    node(page, "a").click()
    field = page.get_by_label("Name", exact=True)
    expect(field).to_have_value(NAME)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("evil")
    expect(page.get_by_role("option", name=SHOWN).first).to_be_visible()
    text = page.evaluate("document.body.innerText")
    assert not {"\u202e", "\x9b", "\u200b", "\u2066"} & set(text)
    line.refresh_from_db()
    assert draft(line)["stations"][0]["name"] == NAME
