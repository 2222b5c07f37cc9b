"""The live socket's client in a real browser: hints, gaps, a blocked socket. The server's side is tested with it
in tests/live; here the far end is scripted, so that it can misbehave on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests import waiting
from tests.design.conftest import Shown

pytestmark = pytest.mark.browser
Show = Callable[..., Shown]

PAGE = "/_design/?frame=shell&live=team/app"
# What the page tells itself, in order. The events do not bubble: the window hears them on their way down.
RECORD = """
window.heard = [];
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    window.sockets.push(this);
  }
};
for (const name of ["gl:resync", "gl:changed", "gl:task", "gl:task-WI-app-1", "gl:inbox", "gl:live-state"]) {
  window.addEventListener(name, (event) => {
    const { detail } = event;
    window.heard.push(detail?.task && name === "gl:task" ? `${detail.task} ${detail.version}` : detail?.state ?? name);
  }, true);
}
"""


SETTLED = "window.sockets.every(({ readyState }) => readyState === WebSocket.OPEN || readyState === WebSocket.CLOSED)"


class Far:
    """The far end of the page's sockets: each connection that it made, with the address it asked for."""

    def __init__(self) -> None:
        self.sockets: list[WebSocketRoute] = []
        self.greeting: str | None = None
        self.refuse = False

    def __call__(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        if self.refuse:
            socket.close(code=1013)
        elif self.greeting:
            socket.send(self.greeting)

    def hint(self, *hints: tuple[str, int]) -> None:
        self.say({"hints": [{"task": task, "version": version} for task, version in hints]})

    def say(self, value: object) -> None:
        self.sockets[-1].send(value if isinstance(value, str) else json.dumps(value))


@pytest.fixture
def far() -> Far:
    return Far()


def opened(show: Show, far: Far, **options: Any) -> Page:
    shown = show(**options)
    page = shown.page
    page.clock.install()
    page.route_web_socket("**/live/**", far)
    page.add_init_script(RECORD)  # after the route, whose sockets it counts
    page.goto(shown.base + PAGE)
    return page


def heard(page: Page) -> list[str]:
    return list(page.evaluate("window.heard"))


def until(page: Page, name: str, times: int = 1) -> None:
    """Waits until the page has told itself `name` so many times. (The policy forbids waiting in the page.)"""
    waiting.until(lambda: heard(page).count(name) >= times, lambda: f"{name} among {heard(page)}", page)


def stop_the_clock(page: Page) -> None:
    """From now on time passes in the page by `pass_by` alone."""
    page.clock.pause_at(page.evaluate("Date.now()") + 1_000)
    settle(page)


def pass_by(page: Page, seconds: int) -> None:
    """The page's clock, second by second: a socket opens in real time and must not be overtaken."""
    for _ in range(seconds):
        page.clock.run_for(1_000)
        settle(page)


def settle(page: Page) -> None:
    """Until each socket is open or has gone."""
    waiting.until(lambda: page.evaluate(SETTLED), "the page's sockets", page)


def test_it_asks_for_its_project_and_fetches_only_once_it_is_subscribed(show: Show, far: Far) -> None:
    page = opened(show, far)
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "live")
    assert far.sockets[0].url.endswith("/live/?project=team%2Fapp")
    assert heard(page)[:2] == ["live", "gl:resync"]


@pytest.mark.wide
def test_it_tells_news_and_ignores_what_is_older(show: Show, far: Far) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    far.hint(("WI-app-1", 5), ("WI-app-2", 1))
    far.hint(("WI-app-1", 4))
    far.hint(("WI-app-1", 5))
    far.say({"task": "WI-app-1", "version": 6})
    until(page, "WI-app-1 6")
    assert [each for each in heard(page) if each.startswith("WI-")] == [
        "WI-app-1 5",
        "WI-app-2 1",
        "WI-app-1 6",
    ]
    assert heard(page).count("gl:task-WI-app-1") == 2


@pytest.mark.wide
def test_many_hints_in_a_burst_cost_one_fetch(show: Show, far: Far) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    page.clock.pause_at(page.evaluate("Date.now()") + 1_000)
    before = heard(page).count("gl:changed")
    for number in range(50):
        far.hint((f"WI-app-{number}", 1))
    until(page, "WI-app-49 1")
    page.clock.run_for(200)
    assert heard(page).count("gl:changed") == before + 1


@pytest.mark.parametrize(
    "nonsense", ["", "{", "[]", "null", "7", '{"task": 1}', '{"hints": [{"task": "WI-app-1"}]}']
)
@pytest.mark.wide
def test_nonsense_changes_nothing(show: Show, far: Far, nonsense: str) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    far.say(nonsense)
    far.hint(("WI-app-9", 1))
    until(page, "WI-app-9 1")
    assert [each for each in heard(page) if each.startswith("WI-")] == ["WI-app-9 1"]


@pytest.mark.wide
def test_a_resync_fetches_everything_and_forgets_the_versions(show: Show, far: Far) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    far.hint(("WI-app-1", 5))
    far.say({"resync": True})
    far.hint(("WI-app-1", 5))
    until(page, "WI-app-1 5", 2)
    told = heard(page)
    first = told.index("WI-app-1 5")
    second = told.index("WI-app-1 5", first + 1)
    assert "gl:resync" in told[first:second]


def test_a_lost_socket_comes_back_and_fetches_what_it_missed(show: Show, far: Far) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    page.clock.run_for(6_000)
    far.sockets[0].close(code=1012)
    until(page, "reconnecting")
    expect(page.locator("[data-live-state]").first).to_contain_text("last update")
    page.clock.run_for(600)
    until(page, "gl:resync", 2)
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "live")


def test_blocked_sockets_make_it_poll_every_five_seconds_and_say_so(show: Show, far: Far) -> None:
    far.refuse = True
    page = opened(show, far)
    stop_the_clock(page)
    pass_by(page, 16)
    until(page, "polling")
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "polling")
    before = heard(page).count("gl:changed")
    tried = len(far.sockets)
    pass_by(page, 16)
    assert heard(page).count("gl:changed") - before >= 3
    # It goes on trying, ever more rarely.
    assert 1 <= len(far.sockets) - tried <= 4
    far.refuse = False
    pass_by(page, 16)
    expect(page.locator("[data-live-state]").first).to_have_attribute("data-state", "live")


@pytest.mark.wide
def test_a_socket_that_is_dropped_at_once_is_not_asked_again_and_again(show: Show, far: Far) -> None:
    far.refuse = True
    page = opened(show, far)
    stop_the_clock(page)
    tried = len(far.sockets)
    pass_by(page, 60)
    assert len(far.sockets) - tried <= 12


@pytest.mark.wide
def test_who_is_signed_out_is_told_and_not_reconnected(show: Show, far: Far) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    far.sockets[0].close(code=4403)
    until(page, "ended")
    expect(page.locator("#notices")).to_contain_text("You are signed out")
    page.clock.run_for(60_000)
    assert len(far.sockets) == 1


@pytest.mark.wide
def test_a_network_that_is_gone_is_said_at_once(show: Show, far: Far) -> None:
    page = opened(show, far)
    until(page, "gl:resync")
    page.context.set_offline(True)
    until(page, "offline")
    page.context.set_offline(False)
    until(page, "gl:resync", 2)


PARTS = """
const drawn = (name) => `<div id="${name}" data-quiet hx-get="/parts/${name}" hx-swap="outerHTML"
  hx-trigger="gl:changed from:body, gl:resync from:body" hx-sync="this:queue last">${name}</div>`;
const place = document.createElement("section");
place.innerHTML = drawn("one") + drawn("two");
document.body.append(place);
window.htmx.process(place);
window.drawn = drawn;
"""


def test_parts_that_news_overtook_together_are_asked_for_again_and_not_for_ever(show: Show, far: Far) -> None:
    """An answer that was asked for before the last news is old when it comes; two such are no news for each other."""
    page = opened(show, far)
    until(page, "gl:resync")
    until(page, "gl:changed")
    asked: list[Route] = []
    page.route("**/parts/*", lambda route: asked.append(route))
    page.evaluate(PARTS)

    def wait_until_asked(number: int) -> None:
        waiting.until(lambda: len(asked) >= number, lambda: f"{number} among {len(asked)} requests", page)

    def answer() -> int:
        """Answer all that is asked, once; returns how many that were."""
        routes = asked[:]
        asked.clear()
        for route in routes:
            name = route.request.url.rpartition("/")[2]
            route.fulfill(body=page.evaluate("(name) => window.drawn(name)", name), content_type="text/html")
        return len(routes)

    stop_the_clock(page)
    far.hint(("WI-app-1", 1))
    until(page, "WI-app-1 1")
    pass_by(page, 1)
    wait_until_asked(2)
    # The parts are on their way, and something else moves
    far.hint(("WI-app-1", 2))
    until(page, "WI-app-1 2")
    pass_by(page, 1)
    rounds = []
    while asked and len(rounds) < 6:
        rounds.append(answer())
        # Its answer settles by the clock of the page, and what it asks then comes from outside of it
        pass_by(page, 2)
    assert 2 <= len(rounds) <= 4, f"once more, and not for ever: {rounds}"
    assert asked == []
