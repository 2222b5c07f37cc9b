"""The canvas, whose texts come from the catalogue of the scripts, in the bracketed language."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from pipelines.models import User
from tests.factories import World
from tests.fixtures.site import start_web, stop
from tests.language.scene import DATA, make_scene
from tests.language.visible import untranslated
from tests.pages.conftest import at

pytestmark = pytest.mark.browser


@pytest.mark.wide
def test_the_canvas_shows_no_untranslated_text(
    world: World,
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[BrowserContext, User], None],
    brackets: Path,
    tmp_path: Path,
) -> None:
    make_scene(world)
    site = start_web(tmp_path, DJANGO_SETTINGS_MODULE="tests.language.settings", BRACKETS=str(brackets))
    try:
        context = new_context(base_url=site.url)
        sign_in(context, world.admin)
        page = context.new_page()
        page.goto(at(world, "line-draw", "xlin"))
        expect(page.locator(".ed-station")).to_have_count(2)
        left = untranslated(page.content(), DATA)
        page.locator(".ed-station").first.click()
        expect(page.locator("#ed-name")).to_be_visible()
        left += untranslated(page.content(), DATA)
        assert not left, "\n".join(dict.fromkeys(left))
    finally:
        stop(site.process)
