"""Pages with a drawing stand still while they load, as the browser itself counts it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines import publishing
from pipelines.models import User
from pipelines.web.editor import drawing_tasks
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at
from tests.pages.test_stored_drawings import draw_all, simple
from tests.pages.test_stored_drawings_browser import SHIFT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("not_requested"),
]
MAX_SHIFT = 0.02


FEW, ALL = ("overview", "task", "editor"), ()


@pytest.mark.parametrize(
    ("size", "pages"),
    [(DESKTOP, FEW), *(pytest.param(size, ALL, marks=pytest.mark.wide) for size in (DESKTOP, PHONE))],
)
def test_no_page_with_a_drawing_shifts(
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[Page | BrowserContext, User], None],
    world: World,
    size: dict[str, int],
    pages: tuple[str, ...],
) -> None:
    """On these pages, or on all."""
    version = world.line(simple())
    waiting = world.start(version)
    world.report(waiting)
    line = publishing.save_draft(
        version.line, simple() | {"name": "Next"}, world.admin, version.line.draft_number
    )
    drawing_tasks._draw_draft(line.pk, line.draft_number)
    addresses = {
        "overview": at(world, "line", line.key),
        "task": at(world, "task", waiting.name),
        "live graph": at(world, "line-live", line.key) + "?view=graph",
        "publish": at(world, "line-publish", line.key),
        "versions": at(world, "line-versions", line.key),
        "editor": at(world, "line-draw", line.key),
        "home": reverse("home"),
        "review": reverse("gate-visit", args=[world.visit(waiting).pk]),
    }
    addresses = {name: addresses[name] for name in pages or addresses}
    context = new_context(viewport=size)
    sign_in(context, world.admin)
    page = context.new_page()
    for address in addresses.values():
        page.goto(address)
    draw_all()
    page.add_init_script(f"({SHIFT})()")
    shifts = {}
    for name, address in addresses.items():
        # The first time the letters are loaded: nobody's browser has them in a test.
        for _time in ("the letters are loaded", "it is measured"):
            page.goto(address)
            expect(page.locator("main")).to_be_visible()
            page.wait_for_load_state("networkidle")
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        shifts[name] = (page.evaluate("window.shift"), page.evaluate("window.sources"))
    assert {name: shift for name, shift in shifts.items() if shift[0] > MAX_SHIFT} == {}
