"""Words on the drawing of a shipped line: none stands over another or under a shape, whatever a task did there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.formats import native
from pipelines.lines.demo import example
from pipelines.lines.starters.catalogue import STARTERS
from pipelines.models import User
from tests.factories import World
from tests.fixtures.browser import DESKTOP, PHONE
from tests.pages.conftest import at
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
LINES = {key: example.example_line_text(key, "") for key in example.KEYS}
LINES |= {f"starter {starter.key}": starter.text for starter in STARTERS}
COVERED = """() => {
  const canvas = document.querySelector('.react-flow')
  const shared = (one, other, from, to) => Math.min(one[to], other[to]) - Math.max(one[from], other[from])
  const meet = (one, other) => shared(one, other, 'left', 'right') > 1 && shared(one, other, 'top', 'bottom') > 1
  const visible = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    !element.closest('.visually-hidden, .react-flow__minimap, .diff-zoom')
  const clipped = ({ left, right, top, bottom }, element) => {
    // Letters are less high than their line.
    const aside = 0.15 * (bottom - top)
    const box = { left, right, top: top + aside, bottom: bottom - aside }
    for (let parent = element; parent !== canvas; parent = parent.parentElement) {
      if (getComputedStyle(parent).overflowX === 'visible') continue
      const frame = parent.getBoundingClientRect()
      box.left = Math.max(box.left, frame.left)
      box.right = Math.min(box.right, frame.right)
    }
    return box
  }
  const words = []
  const texts = document.createTreeWalker(canvas, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const element = text.parentElement
    if (!text.data.trim() || !visible(element)) continue
    const range = document.createRange()
    range.selectNodeContents(text)
    for (const box of range.getClientRects()) words.push({ element, text: text.data, box: clipped(box, element) })
  }
  const names = ['station', 'end', 'start', 'hexagon', 'port', 'retry', 'stub', 'limit', 'endless', 'gate-count']
  const shapes = [...canvas.querySelectorAll(names.map((name) => '.ed-' + name).join())].filter(visible)
  const faults = words.flatMap((one, index) => [
    ...words.slice(index + 1)
      .filter((other) => other.element !== one.element && meet(one.box, other.box))
      .map((other) => one.text + ' and ' + other.text),
    ...shapes
      .filter((shape) => !shape.contains(one.element) && meet(one.box, shape.getBoundingClientRect()))
      .map((shape) => one.text + ' and the shape of ' + shape.className),
  ])
  return [words.length, [...new Set(faults)]]
}"""
MARKED = """() => {
  const told = document.getElementById('live-told')
  const path = JSON.parse(told.dataset.told)
  const mark = (state, words, brief) => ({ state, words, brief, since: '', ticking: '' })
  const since = new Date(Date.now() - 3599000).toISOString()
  for (const { dataset } of document.querySelectorAll('.react-flow__node-station'))
    path.places[dataset.id] = mark('taken', '12 min in 3 runs', '12 min')
  for (const { dataset } of document.querySelectorAll('.ed-gate'))
    path.gates[dataset.rule] =
      { ...mark('attention', 'here for 59 min 59 s', '{about}'), since, ticking: 'here for {time}' }
  told.dataset.told = JSON.stringify(path)
  document.dispatchEvent(new Event('gl:path'))
}"""

CUT = """() => [...document.querySelectorAll('.shown-over, .shown-over span')]
  .filter((element) => element.checkVisibility() && element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.textContent)"""


def stands_clear(page: Page) -> None:
    """Letters take their size when the zoom stands still."""
    until(lambda: not page.evaluate(COVERED)[1], lambda: str(page.evaluate(COVERED)), page)
    words, _ = page.evaluate(COVERED)
    assert words > 2


@pytest.mark.wide
@pytest.mark.smoke(3)
@pytest.mark.parametrize("name", LINES)
def test_no_words_of_a_shipped_line_are_covered(page: Page, sign_in: SignIn, world: World, name: str) -> None:
    line = world.line(native.loads(LINES[name])).line
    sign_in(page, world.operator)
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.goto(at(world, "line", line.key))
        expect(page.locator(".line-shown .ed-station").first).to_be_visible()
        stands_clear(page)
        page.goto(at(world, "line-live", line.key) + "?view=graph")
        expect(page.locator(".line-shown .ed-station").first).to_be_visible()
        page.evaluate(MARKED)
        expect(page.locator(".shown-over").first).to_contain_text("12 min in 3 runs")
        stands_clear(page)
        assert page.evaluate(CUT) == []
