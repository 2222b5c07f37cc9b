"""Stored drawings in a real Chromium: seen without script, the first thing that is painted with it, and inert."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.lines import drawings
from pipelines.models import User
from pipelines.web.editor import drawing_tasks
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.fixtures.site import Site, start_web, stop
from tests.pages.conftest import at
from tests.pages.test_stored_drawings import HOSTILE, draw_all, hostile, picture, simple
from tests.waiting import until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("not_requested"),
]
SignIn = Callable[[Page | BrowserContext, User], None]
SHIFT = """() => {
  window.shift = 0;
  window.sources = [];
  new PerformanceObserver(list => list.getEntries().forEach(each => {
    window.shift += each.value;
    window.sources.push([each.value, ...each.sources.map(({ node, previousRect, currentRect }) =>
      `${node?.className ?? node?.nodeName} ${previousRect.y} -> ${currentRect.y}`)].join("; "));
  })).observe({ type: "layout-shift", buffered: true });
}"""
FARTHEST_TONE = """async hex => {
  const bytes = Uint8Array.from(hex.match(/../g), pair => parseInt(pair, 16));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, picture.width, picture.height);
  const background = data[0];
  let farthest = background;
  for (let at = 0; at < data.length; at += 4)
    if (Math.abs(data[at] - background) > Math.abs(farthest - background)) farthest = data[at];
  return [background, farthest];
}"""
"""Red of the ground, and of what differs most from it."""
ENLARGE = """image => {
  image.style.cssText =
    "position: fixed; inset: 0; z-index: 99; inline-size: 900px; block-size: 500px; background: var(--surface)";
}"""
NODES = """markup => {
  const place = document.createElement("div");
  place.innerHTML = markup;
  document.body.append(place);
  const all = [...place.querySelectorAll("*")];
  return [
    [...new Set(all.map(each => each.localName))].sort(),
    [...new Set(all.flatMap(each => each.getAttributeNames()))].filter(each => /^on|href|src|style/.test(each)),
    all.every(each => each.namespaceURI === "http://www.w3.org/2000/svg"),
  ];
}"""


def visit(page: Page, addresses: list[str]) -> None:
    """So that each drawing is asked for, and drawn."""
    for address in addresses:
        page.goto(address)
    draw_all()


@pytest.mark.smoke(1)
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_stations_are_seen_without_script_and_nothing_moves_with_it(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, size: dict[str, int]
) -> None:
    version = world.line(simple())
    task = world.start(version)
    addresses = [
        at(world, "line", version.line.key),
        at(world, "task", task.name),
    ]
    plain = new_context(java_script_enabled=False, viewport=size)
    sign_in(plain, world.operator)
    page = plain.new_page()
    visit(page, addresses)
    for address in addresses:
        page.goto(address)
        for name in ("Build", "Ship"):
            expect(page.locator(".line-still svg text:visible", has_text=name)).to_have_count(1)
    context = new_context(viewport=size)
    sign_in(context, world.operator)
    page = context.new_page()
    page.add_init_script(f"({SHIFT})()")
    for address in addresses:
        for _time in ("the letters are loaded", "it is measured"):
            page.goto(address)
            expect(page.locator(".line-shown .ed-station")).to_have_count(2)
        expect(page.locator("[data-line-still]")).to_have_count(0)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert page.evaluate("window.shift") <= 0.02, (address, page.evaluate("window.sources"))


def test_hostile_words_stay_words_in_the_page(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World
) -> None:
    given = picture(hostile())
    drawn = drawings.DRAWER.drawings_wide_and_narrow(given)
    context = new_context()
    sign_in(context, world.operator)
    page = context.new_page()
    said: list[Any] = []
    asked: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog))
    page.goto(at(world, "lines"))
    page.on("request", lambda request: asked.append(request.url))
    for frame in drawings.FRAMES:
        svg = drawings.checked_svg(drawn[frame]["svg"], given)
        elements, attributes, all_svg = page.evaluate(NODES, svg)
        assert set(elements) <= {"svg", "g", "title", "text", "path", "rect", "circle", "polygon"}
        assert (attributes, all_svg) == ([], True)
        assert HOSTILE[0] in page.locator("title", has_text="</text>").first.text_content()  # type: ignore[operator]
    page.wait_for_load_state("networkidle")
    assert (said, [url for url in asked if "evil" in url]) == ([], [])


@pytest.fixture
def site_without_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transactional_db: None
) -> Iterator[Site]:
    """A web process in an environment of Python that has no Node beside it, and none on its path."""
    environment = Path(sys.executable).parent.parent
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "lib").symlink_to(environment / "lib")
    (tmp_path / "pyvenv.cfg").write_text((environment / "pyvenv.cfg").read_text())
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    # One that was forked has the Python of the first, with Node beside it where set-up installed that
    site = start_web(tmp_path, alone=True, PATH=str(tmp_path))
    yield site
    stop(site.process)


@pytest.mark.wide
def test_where_no_node_runs_the_browser_of_a_designer_draws_for_all(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, site_without_node: Site
) -> None:
    address = at(world, "line", world.line(simple()).line.key)
    context = new_context(base_url=site_without_node.url)
    sign_in(context, world.designer)
    page = context.new_page()
    with page.expect_response(lambda answer: "/drawings/" in answer.url) as handed_over:
        page.goto(address)
    assert handed_over.value.status == 204, handed_over.value.text()
    plain = new_context(base_url=site_without_node.url, java_script_enabled=False)
    sign_in(plain, world.viewer)
    page = plain.new_page()
    page.goto(address)
    expect(page.locator(".line-still svg text:visible", has_text="Build")).to_have_count(1)


@pytest.mark.smoke(1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_image_of_a_list_has_the_colours_of_the_page(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, theme: str
) -> None:
    drawing_tasks._draw_version(world.line(simple()).pk)
    # The page follows the person, not the system
    context = new_context(viewport=DESKTOP, color_scheme="light")
    world.viewer.theme = theme
    world.viewer.save()
    sign_in(context, world.viewer)
    page = context.new_page()
    page.goto(at(world, "lines"))
    image = page.locator(".line-image")
    expect(image).to_be_visible()
    until(lambda: image.evaluate("image => image.complete && image.naturalWidth > 0"), "the image", page)
    ground, edge = page.evaluate(FARTHEST_TONE, image.screenshot().hex())
    image.evaluate(ENLARGE)
    ground_of_large, text = page.evaluate(FARTHEST_TONE, image.screenshot().hex())
    assert ground_of_large == ground
    # In a list no word can be read: its edges stay, and its words come with the width
    if theme == "light":
        assert text < edge - 30 < ground - 100, (ground, edge, text)
    else:
        assert text > edge + 30 > ground + 100, (ground, edge, text)
