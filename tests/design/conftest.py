"""The design pages on a server of their own: they need no database, so each test costs milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread
from playwright.sync_api import Browser, ConsoleMessage, Page

from pipelines.templatetags import gateline
from tests.waiting import LONG_MS


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a server for the design pages and the static files."""
    if not gateline.front_end_built():
        pytest.skip("the front end is not built: run npm ci and npm run build")
    thread = LiveServerThread("127.0.0.1", StaticFilesHandler, connections_override={})
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    if thread.error:
        raise thread.error
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()


class Shown:
    """A page that remembers what went wrong on it: script errors, refused and missing resources."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base, self.faults = page, base, list[str]()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(message.text)

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path, wait_until="networkidle")
        return self.page


@pytest.fixture
def show(address: str, settings: Any, browser: Browser) -> Iterator[Callable[..., Shown]]:
    """`show(width=390, theme="dark")` answers a page in a fresh browser context."""
    settings.DEBUG = True
    settings.ROOT_URLCONF = "tests.design.urls"
    contexts = []

    def make(width: int = 1440, theme: str = "light", **more: Any) -> Shown:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce", **more)
        context.set_default_timeout(LONG_MS)
        contexts.append(context)
        return Shown(context.new_page(), address)

    yield make
    for context in contexts:
        context.close()
