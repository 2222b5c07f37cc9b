"""A whole document comes into a line that is drawn: by file, by paste, as a template; and goes again by one undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pipelines.api.imports import FIRST
from pipelines.formats import native
from pipelines.lines.publishing import save_draft
from pipelines.lines.starters.catalogue import BY_KEY
from pipelines.models import Line, User
from tests.browser.canvas import node, saved
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

CLIP = """{
  "gateline": "stations",
  "stations": [{
    "key": "pack", "name": "Pack", "work": {"kind": "noop"}, "extra": {"__proto__": 12345678901234567890},
    "rules": [{"id": "on", "label": "On", "to": "ship", "gates": ["look"]}, {"id": "off", "to": "elsewhere"}]
  }],
  "gates": [{"key": "look", "name": "Look", "mode": "manual"}]
}"""
OTHER = """\
# Kept with the text
key: other
name: Other
stations:
  - key: build
    name: Build
    work: {kind: noop}
    rules:
      - {id: all, to: pack}  # to the packers
  - key: pack
    name: Pack
    work: {kind: manual, instructions: Pack it.}
"""
ALP = '{"id": "x", "stations": [{"id": "a"}], "transitionRules": [], "gates": [{"id": "g", "tool": {"kind": "cli"}}]}'
PASTE = """text => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    document.activeElement.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


@pytest.mark.wide
def test_a_document_is_looked_at_applied_as_one_change_and_undone_with_its_comments(
    open_canvas: Callable[..., Page], world: World, drawn: Line, site: Site, tmp_path: Path
) -> None:
    page = open_canvas(world.admin)
    before = drawn.draft
    node(page, "build").focus()
    page.evaluate(PASTE, ALP)
    dialog = page.get_by_role("dialog", name="Import a document into this line")
    expect(dialog).to_contain_text("Different from the document of ALP (Agentics)")
    expect(dialog.get_by_label("Document, as YAML or JSON")).to_have_value(ALP)
    broken = tmp_path / "broken.yaml"
    broken.write_text("key: x\nstations: [\n")
    dialog.locator("input[type=file]").set_input_files(broken)
    dialog.get_by_role("button", name="Line 3, column 1").click()
    expect(dialog.get_by_label("Document, as YAML or JSON")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("Shift+I")
    expect(dialog.get_by_label("Document, as YAML or JSON")).to_have_value("key: x\nstations: [\n")
    chosen = tmp_path / "other.yaml"
    chosen.write_text(OTHER)
    dialog.locator("input[type=file]").set_input_files(chosen)
    expect(dialog).to_contain_text("Where tasks go")
    dialog.get_by_role("button", name="Apply to the line").click()
    expect(node(page, "pack")).to_be_visible()
    expect(node(page, "ship")).to_have_count(0)
    saved(page)
    drawn.refresh_from_db()
    assert (drawn.draft["key"], drawn.draft["name"]) == ("drawn", "Other")
    assert drawn.draft_text == OTHER.replace("key: other", "key: drawn")
    page.locator(".ed-canvas").focus()
    page.keyboard.press("Control+z")
    expect(node(page, "ship")).to_be_visible()
    saved(page)
    drawn.refresh_from_db()
    assert drawn.draft == before
    assert "Kept with the text" not in drawn.draft_text


@pytest.mark.wide
def test_an_empty_line_begins_with_a_template_by_one_change(
    page: Page, site: Site, world: World, drawn: Line, sign_in: Callable[[Page, User], None]
) -> None:
    save_draft(drawn, {"gateline": 1, "key": "drawn", "name": "Mine", "stations": []}, world.admin, 1)
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    starters = page.locator(".ed-starter:is(button)")
    expect(starters).to_have_count(3)
    starters.nth(2).press("Enter")
    triage = BY_KEY[FIRST[2]]
    expect(page.locator(".ed-station")).to_have_count(len(triage.line.stations))
    expect(node(page, triage.line.stations[0].key)).to_be_focused()
    saved(page)
    drawn.refresh_from_db()
    assert drawn.draft == {**native.loads(triage.text), "key": "drawn", "name": "Mine"}
    page.keyboard.press("Control+z")
    expect(starters).to_have_count(3)
    saved(page)
    drawn.refresh_from_db()
    assert drawn.draft["stations"] == []


@pytest.mark.wide
def test_pasted_stations_bring_their_gates_and_say_what_leads_nowhere(
    open_canvas: Callable[..., Page], world: World, drawn: Line
) -> None:
    page = open_canvas(world.admin)
    node(page, "build").focus()
    page.evaluate(PASTE, CLIP)
    expect(node(page, "pack")).to_be_visible()
    expect(page.locator(".ed-notice")).to_contain_text("leads to nothing in this line: off → elsewhere")
    saved(page)
    drawn.refresh_from_db()
    assert drawn.draft["gates"] == [{"key": "look", "name": "Look", "mode": "manual"}]
    pasted = drawn.draft["stations"][2]
    assert pasted["extra"] == {"__proto__": 12345678901234567890}
    assert [rule["to"] for rule in pasted["rules"]] == ["ship"]
