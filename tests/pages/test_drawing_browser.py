"""A line on pages, in a real browser: one drawing, with the marks of a task; a list where there is no script."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import User
from tests.factories import World, station
from tests.fixtures.browser import PHONE
from tests.pages.conftest import at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]

RULES = [
    {"id": "good", "label": "Good", "when": {"result": "success"}, "to": "ship", "gates": ["look"]},
    {"id": "poor", "label": "Poor", "to": "completed", "gates": ["look"]},
]
PLACE = "document.querySelector('.react-flow__node-station').style.transform"


@pytest.mark.wide
@pytest.mark.smoke(1)
def test_one_hexagon_says_here_and_the_focus_stays_while_the_task_goes_on(
    page: Page, sign_in: SignIn, world: World
) -> None:
    """A gate on two rules, of which the task came by one; the drawing is not made anew by a hint."""
    version = world.line(
        stations=[station("build", *RULES, name="Build"), station("ship", name="Ship")],
        gates=[{"key": "look", "name": "A look"}],
    )
    task = world.start(version)
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    drawing = page.get_by_role("figure", name="Path")
    link = drawing.get_by_role("link", name="Station Build")
    link.focus()
    drawn = page.evaluate("window.drawn = document.querySelector('#task-drawing .react-flow')")
    assert drawn is not None
    before = page.evaluate(PLACE)
    world.report(task)
    asked = drawing.locator(".ed-gate[data-state=attention]")
    expect(asked).to_have_attribute("data-rule", "good")
    expect(asked).to_contain_text("here for")
    expect(drawing.locator(".shown-over", has_text="here for")).to_have_count(1)
    expect(drawing.locator(".ed-way[data-rule=good]")).to_have_attribute("data-mark", "waits")
    expect(drawing.locator(".ed-way[data-rule=poor]")).to_have_attribute("data-mark", "not")
    assert page.evaluate("window.drawn.isConnected")
    assert page.evaluate(PLACE) == before
    expect(link).to_be_focused()
    link.press("Enter")
    expect(page.get_by_role("dialog", name="Build")).to_be_visible()


def test_a_long_line_on_a_phone_stands_from_above_to_below_and_says_that_it_goes_on(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    keys = [f"step{number}" for number in range(9)]
    stations = [
        station(key, {"id": f"on-{key}", "to": to})
        for key, to in zip(keys, [*keys[1:], "completed"], strict=True)
    ]
    world.line(stations=stations, key="long")
    context = new_context(viewport=PHONE)
    sign_in(context, world.viewer)
    page = context.new_page()
    for address in (at(world, "line", "long"), f"{at(world, 'line-live', 'long')}?view=graph"):
        page.goto(address)
        sign = page.get_by_text("More below: drag the picture")
        expect(sign).to_be_visible()
        boxes = [node.bounding_box() for node in page.locator(".react-flow__node-station").all()]
        assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
        page.get_by_role("button", name="Zoom out").click()
        expect(sign).to_have_count(0)


def test_without_script_stations_and_rules_stand_in_its_place(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    version = world.line(
        stations=[station("build", *RULES, name="Build"), station("ship", name="Ship")],
        gates=[{"key": "look", "name": "A look"}],
    )
    context = new_context(java_script_enabled=False)
    sign_in(context, world.viewer)
    page = context.new_page()
    page.goto(at(world, "line", version.line.key))
    shown = page.get_by_role("figure", name=version.line.name)
    expect(shown.get_by_text("Good → Ship (A look)")).to_be_visible()
    expect(shown.locator(".react-flow")).to_have_count(0)


@pytest.mark.wide
def test_on_a_phone_a_long_name_of_a_line_leaves_room_for_the_way_back(
    page: Page, sign_in: SignIn, world: World
) -> None:
    version = world.line(stations=["build"], name="From a request to the merged change")
    page.set_viewport_size(PHONE)
    sign_in(page, world.viewer)
    page.goto(at(world, "line", version.line.key))
    trail = page.get_by_role("navigation", name="Breadcrumb")
    back, here = trail.get_by_role("link").last.bounding_box(), trail.locator("[aria-current]").bounding_box()
    around = trail.bounding_box()
    assert back and here and around
    assert back["width"] > 20
    assert here["x"] + here["width"] <= around["x"] + around["width"] + 1


JUMPS = """() => {
  window.jump = 0;
  const moved = each => Math.abs(each.currentRect.y - each.previousRect.y);
  new PerformanceObserver(list => list.getEntries().forEach(each => {
    window.jump = Math.max(window.jump, ...each.sources.map(moved));
  })).observe({ type: "layout-shift", buffered: true });
}"""
"""How far anything was moved at most, in pixels."""
LETTERS = 30
"""Another font may come a little later and break a line elsewhere, which moves what is below by one."""


@pytest.mark.wide
@pytest.mark.parametrize("many", [2, 6])
def test_an_overview_on_a_phone_does_not_jump_when_its_drawing_comes(
    page: Page, sign_in: SignIn, world: World, many: int
) -> None:
    keys = [f"s{number}" for number in range(many)]
    to = [*keys[1:], "completed"]
    version = world.line(
        stations=[station(key, {"id": f"r-{key}", "to": on}) for key, on in zip(keys, to, strict=True)]
    )
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.add_init_script(f"({JUMPS})()")
    sign_in(page, world.operator)
    page.goto(at(world, "line", version.line.key), wait_until="commit")
    frame = page.locator(".graph-card .line-shown")
    expect(frame).to_be_visible()
    expect(frame.locator(".ed-station")).to_have_count(many)
    box = frame.bounding_box()
    assert box
    inside = [each.bounding_box() for each in frame.locator(".ed-station").all()]
    assert all(
        each and box["y"] <= each["y"] and each["y"] + each["height"] <= box["y"] + box["height"]
        for each in inside
    )
    settled = "() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(window.jump))))"
    assert page.evaluate(settled) <= LETTERS
