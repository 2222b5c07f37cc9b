"""The drawing at the top of the README: exported by the canvas itself, and as the demo line is now.

`make picture` draws it anew."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from playwright.sync_api import Page, expect

from pipelines.lines import publishing
from pipelines.lines.demo import example
from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at

PICTURE = Path(settings.BASE_DIR) / "docs" / "pictures" / "demo-line.svg"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
NEAR = 12.0
"""Pixels by which browsers place the same drawing differently."""


def test_the_picture_of_the_readme_is_the_demo_line(
    world: World, page: Page, site: Site, sign_in: Callable[[Page, User], None]
) -> None:
    text = example.example_line_text("fix-lint-findings", "https://git.example.com/team/app.git")
    publishing.create_line(world.project, "drawn", "Fix lint findings", text, world.admin)
    page.set_viewport_size({"width": 1440, "height": 900})
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    # All edges are there: the layout takes a moment.
    expect(page.locator('.ed-way[data-rule="tested"]').first).to_be_visible()
    expect(page.get_by_text("Drawing the edges…")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("Export as a picture")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    drawn = download.value.path().read_text()
    if os.environ.get("PICTURE"):
        PICTURE.write_text(drawn)
    kept = PICTURE.read_text()
    assert NUMBER.sub("", kept) == NUMBER.sub("", drawn), "the demo line changed: run `make picture`"
    pairs = zip(NUMBER.findall(kept), NUMBER.findall(drawn), strict=True)
    assert max(abs(float(old) - float(new)) for old, new in pairs) < NEAR
    readme = (Path(settings.BASE_DIR) / "README.md").read_text()
    assert readme.index("docs/pictures/demo-line.svg") < readme.index("\n## ")
