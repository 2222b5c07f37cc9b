"""A folder of another system's documents, chosen or dropped on the page of a new line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

pytestmark = pytest.mark.wide
RULE = '[{"id": "r", "from": "first", "to": "failed", "condition": "failure"}]'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    line = tmp_path / "line" / ".agentics"
    for key in ("first", "second"):
        station = line / "stations" / f"0{len(key)}-{key}"
        station.mkdir(parents=True)
        (station / "station.json").write_text(f'{{"id": "{key}", "trigger": {{"type": "dispatch_worker"}}}}')
    (line / "assembly-line.json").write_text('{"id": "a-line", "name": "A line"}')
    (line / "transitions.json").write_text(RULE)
    (line / "picture.png").write_bytes(b"no document")
    return tmp_path / "line"


@pytest.fixture
def here(page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None]) -> Page:
    sign_in(page, world.designer)
    page.goto(site.url + at(world, "lines-new"))
    expect(page.locator("[data-drop-words]")).to_be_visible()
    return page


def drop(page: Page, *paths: Path) -> None:
    """As the system does it: a browser reads a folder only of what was really dropped."""
    place = page.locator("[data-import]")
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send(
            "Input.dispatchDragEvent",
            {
                "type": kind,
                "x": box["x"] + box["width"] / 2,
                "y": box["y"] + 20,
                "data": {"items": [], "files": [str(each) for each in paths], "dragOperationsMask": 1},
            },
        )


def is_kept(page: Page, world: World) -> None:
    expect(page.get_by_role("heading", name="A line, from ALP (Agentics)")).to_be_visible()
    expect(page.locator(".graph-card .react-flow__node-station")).to_have_count(2)
    assert not world.project.lines.exists(), "nothing is saved before somebody says so"
    page.get_by_role("button", name="Create line").click()
    page.wait_for_url("**/draw/**")
    assert world.project.lines.get().key == "a-line"


def test_a_folder_is_chosen_drawn_and_kept(here: Page, world: World, folder: Path) -> None:
    here.get_by_label("Folder").set_input_files(folder)
    here.get_by_role("button", name="Create line").click()
    is_kept(here, world)


def test_a_folder_that_is_really_dropped_is_drawn_and_kept(here: Page, world: World, folder: Path) -> None:
    drop(here, folder)
    is_kept(here, world)
