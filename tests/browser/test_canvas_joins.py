"""A fork with a join, drawn in a real browser: what keeps it from working is found and put right, then a task runs
through it by the engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from pipelines.models import Line, User
from pipelines.publishing import create_line
from tests.factories import World, document, station
from tests.fixtures.site import Site
from tests.pages.conftest import at

DOCUMENT = document(
    key="drawn",
    stations=[
        station("plan", {"id": "go", "to": "qa"}, name="Plan"),
        station("qa", {"id": "tested", "to": "release"}, name="Quality"),
        station("security", {"id": "secured", "to": "release"}, name="Security"),
        station("release", {"id": "out", "to": "completed"}, name="Release"),
    ],
)


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", DOCUMENT, world.admin)


@pytest.fixture
def canvas(page: Page, site: Site, world: World, line: Line, sign_in: Callable[[Page, User], None]) -> Page:
    world.admin.set_password("a password")
    world.admin.save(update_fields=["password"])
    sign_in(page, world.admin)
    page.goto(at(world, "line-draw", "drawn"))
    expect(page.locator(".ed-station")).to_have_count(4)
    return page


def middle(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def node(page: Page, key: str) -> Locator:
    return page.locator(f'.react-flow__node[data-id="{key}"]')


def problem(page: Page, check: str) -> Locator:
    return page.locator(f'.ed-problem[data-check="{check}"]')


def saved(page: Page) -> None:
    expect(page.locator(".ed-save")).to_have_attribute("data-state", "saved", timeout=20_000)


def test_a_fork_with_a_join_is_drawn_put_right_and_run(canvas: Page, world: World, line: Line) -> None:
    _fork(canvas)
    form = _join(canvas)
    unfillable = problem(canvas, "unfillable-join")
    expect(unfillable).to_contain_text("waits for plan, which never leads to release")
    _forbid(canvas)
    parallel = problem(canvas, "forbidden-parallel")
    expect(parallel).to_contain_text("qa and security can run in parallel")

    canvas.locator(".ef-form").get_by_role("button", name="Delete Quality ∥ Security").click()
    expect(parallel).to_have_count(0)
    node(canvas, "release").click()
    form.locator("summary", has_text="Gate and join").click()
    form.get_by_label("Plan", exact=True).uncheck()
    form.get_by_label("Security", exact=True).check()
    expect(unfillable).to_have_count(0)
    expect(node(canvas, "release")).to_contain_text("all pass")
    saved(canvas)
    line.refresh_from_db()
    assert line.draft["stations"][0]["rules"][0]["to"] == ["qa", "security"]
    assert line.draft["stations"][3]["join"] == {"wait_for": ["qa", "security"]}
    _run(canvas, world, line)


def _fork(page: Page) -> None:
    """By dragging the number of the rule onto a second station."""
    x, y = middle(page.locator('[data-port="go"]'))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*middle(node(page, "security")), steps=8)
    page.mouse.up()
    expect(page.locator('.ed-way[data-rule="go"] .ed-fork')).to_have_count(1)


def _join(page: Page) -> Locator:
    node(page, "release").click()
    page.get_by_role("tab", name="Configure").click()
    form = page.locator(".ef-form")
    form.locator("summary", has_text="Gate and join").click()
    form.get_by_label("Quality", exact=True).check()
    form.get_by_label("Plan", exact=True).check()
    return form


def _forbid(page: Page) -> None:
    page.locator(".ed-canvas").press("Shift+L")
    form = page.locator(".ef-form")
    form.locator("summary", has_text="Side by side").click()
    form.get_by_role("button", name="Add a pair").click()
    form.get_by_label("While this station runs", exact=True).select_option("qa")
    form.get_by_label("this one may not", exact=True).select_option("security")


def _run(page: Page, world: World, line: Line) -> None:
    page.goto(at(world, "line-publish", "drawn"))
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.locator("#publish-go").get_by_role("button", name="Publish").click()
    expect(page.get_by_role("heading", name="Drawn").first).to_be_visible()
    line.refresh_from_db()
    assert line.live is not None
    task = world.start(line.live)
    for key in ("plan", "qa"):
        world.report(task, station=key)
    page.goto(at(world, "task", task.name))
    expect(page.get_by_text("Waits for Security.")).to_be_visible()
    world.report(task, station="security")
    page.reload()
    expect(page.get_by_text("Quality passed, Security passed")).to_be_visible()
    world.report(task, station="release")
    assert world.status(task) == "completed"
