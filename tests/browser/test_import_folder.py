"""A folder of another system's documents, chosen on the page of a new line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

RULE = '[{"id": "r", "from": "first", "to": "failed", "condition": "failure"}]'


@pytest.mark.wide
def test_a_folder_is_chosen_drawn_and_kept(
    page: Page, site: Site, world: World, sign_in: Callable[[Page, User], None], tmp_path: Path
) -> None:
    line = tmp_path / "line" / ".agentics"
    for key in ("first", "second"):
        station = line / "stations" / f"0{len(key)}-{key}"
        station.mkdir(parents=True)
        (station / "station.json").write_text(f'{{"id": "{key}", "trigger": {{"type": "dispatch_worker"}}}}')
    (line / "assembly-line.json").write_text('{"id": "a-line", "name": "A line"}')
    (line / "transitions.json").write_text(RULE)
    (line / "picture.png").write_bytes(b"no document")
    sign_in(page, world.designer)
    page.goto(site.url + at(world, "lines-new"))
    page.get_by_label("Folder").set_input_files(tmp_path / "line")
    page.get_by_role("button", name="Create line").click()
    expect(page.get_by_role("heading", name="A line, from ALP (Agentics)")).to_be_visible()
    expect(page.locator(".graph-card .react-flow__node-station").first).to_be_visible()
    page.get_by_role("button", name="Create line").click()
    page.wait_for_url("**/draw/**")
    assert world.project.lines.get().key == "a-line"
