"""Files and folders let go on the page of a new line: each document is shown, and the chosen become lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import User
from tests.browser.looking import look
from tests.dialects import test_imported as own
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

pytestmark = pytest.mark.wide
LOSES = {**own.ALP, "gates": [{"id": "human", "name": "Human", "tool": {"kind": "cli"}}]}
WRONG = {"name": "wrong", "stages": [{"id": "a", "skill": "s", "onPass": "nowhere"}]}
DROP = """files => {
  const data = new DataTransfer();
  for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"])
    document.querySelector("[data-import]").dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def here(page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]) -> Page:
    sign_in(page, world.designer)
    page.goto(site.url + at(world, "lines-new"))
    expect(page.locator("[data-drop-words]")).to_be_visible()
    return page


def drop(page: Page, **files: Any) -> None:
    page.evaluate(DROP, {name.replace("_", "."): text for name, text in files.items()})


def test_several_are_shown_with_what_they_lose_and_the_chosen_become_lines(
    here: Page, world: World, tmp_path: Path
) -> None:
    drop(here, alp_json=json.dumps(LOSES), flux_yaml=own.FLUX, wrong_json=json.dumps(WRONG), note_txt="x")
    found = here.locator("[data-found]")
    expect(found.get_by_role("heading", name="3 documents found")).to_be_visible()
    expect(here.get_by_role("button", name="Create 2 lines")).to_be_enabled()
    rows = found.get_by_role("listitem").filter(has=here.get_by_role("checkbox"))
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("Vibecheck · ALP (Agentics) · 5 stations · 2 rules · 1 gate")
    expect(rows.nth(2)).to_contain_text("Cannot be read: 1 problem")
    expect(rows.nth(2)).to_contain_text("nowhere")
    expect(rows.nth(2).get_by_role("checkbox")).to_be_disabled()
    rows.nth(0).locator("summary").click()
    expect(rows.nth(0)).to_contain_text("tool")
    look(here, tmp_path, "several")
    rows.nth(1).get_by_role("checkbox").uncheck()
    assert not world.project.lines.exists(), "nothing is saved before somebody says so"
    here.get_by_role("button", name="Create 1 line").click()
    expect(here.get_by_role("link", name="Open Vibecheck")).to_be_focused()
    assert [each.key for each in world.project.lines.all()] == ["vibecheck"]
    here.get_by_role("link", name="Open Vibecheck").click()
    here.wait_for_url("**/draw/**")


def test_one_that_is_dropped_is_drawn_and_none_says_so(here: Page) -> None:
    drop(here, note_txt="no document")
    expect(here.locator("[data-import-fault]")).to_contain_text("There is no document in it")
    drop(here, flux_yaml=own.FLUX)
    expect(here.get_by_role("heading", name="standard, from Flux")).to_be_visible()
    expect(here.locator(".graph-card .react-flow__node-station").first).to_be_visible()


def test_a_folder_of_several_is_chosen_and_kept_by_keys_alone(
    here: Page, world: World, tmp_path: Path
) -> None:
    line = tmp_path / "all" / "line" / ".agentics"
    (line / "stations" / "01-a").mkdir(parents=True)
    (line / "assembly-line.json").write_text('{"id": "a-line", "name": "A line"}')
    (line / "stations" / "01-a" / "station.json").write_text('{"trigger": {"type": "dispatch_worker"}}')
    (tmp_path / "all" / "chain.json").write_text(own.CONTENOX)
    (tmp_path / "all" / "bad.json").write_bytes(b"\xff\xfe")
    here.get_by_label("Folder").set_input_files(tmp_path / "all")
    expect(here.get_by_role("button", name="Create 2 lines")).to_be_enabled()
    expect(here.locator("[data-found]")).to_contain_text("It is not text in UTF-8.")
    expect(here.locator("[data-found]")).to_be_focused()
    # Past the two boxes, and whatever says what is lost.
    for _time in range(8):
        here.keyboard.press("Tab")
        if here.evaluate("document.activeElement.matches('[data-found-keep]')"):
            break
    here.keyboard.press("Enter")
    expect(here.get_by_role("link", name="Open A line")).to_be_visible()
    expect(here.get_by_role("link", name="Open moderation")).to_be_focused()
    assert {each.key for each in world.project.lines.all()} == {"a-line", "moderation"}
