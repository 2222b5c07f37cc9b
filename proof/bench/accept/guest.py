"""Somebody at a browser who knows the words of the README: presses, fills in and looks for these alone."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from proof.bench.accept.readme import Readme

LONG = 120_000
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
ROLES = ("button", "link", "menuitem", "tab", "checkbox", "radio")


class Guest:
    """`pictures`: where the film goes, one picture of each step at both widths."""

    def __init__(self, browser: Browser, readme: Readme, name: str, pictures: Path) -> None:
        self.readme, self.name, self.pictures = readme, name, pictures
        self.page: Page = browser.new_context(viewport=DESKTOP, reduced_motion="reduce").new_page()
        self.page.set_default_timeout(LONG)
        self.frames = 0

    def go(self, address: str) -> None:
        self.page.goto(address)

    def press(self, name: str, of: str = "", *, within: str = "body", whole: bool = False) -> None:
        """Presses what is called so, or begins so unless the `whole` name counts; `of`: which of several, as its whole
        name says."""
        words = [self.readme.word(word) for word in (name, of) if word]
        self._named(" ".join(words), within, whole=whole).click()

    def choose(self, path: str) -> None:
        """Presses one after the other of `Lines › Fix lint findings`."""
        for name in path.split(" › "):
            self.press(name)

    def fill(self, label: str, value: str) -> None:
        field = self._field(label)
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(label=value)
        else:
            field.fill(value)

    def value(self, label: str) -> str:
        """Text that stands in the field."""
        return self._field(label).input_value()

    def approve(self, *, opened: bool = False) -> None:
        """Approves; a file alone is open from the start, and more are ticked."""
        self.press("Approve")
        if not opened:
            self.tick("Approve without opening")
        self.press("Confirm approval")

    def tick(self, label: str) -> None:
        """Ticks what is called so, or has that in its sentence."""
        name = re.compile(rf"\b{re.escape(self.readme.word(label))}\b")
        boxes = self.page.get_by_role("checkbox", name=name).or_(self.page.get_by_role("radio", name=name))
        boxes.filter(visible=True).first.check()

    def see(self, text: str) -> None:
        """Waits until the page says it."""
        expect(self.page.get_by_text(self.readme.word(text)).filter(visible=True).first).to_be_visible(
            timeout=LONG
        )

    def film(self, name: str) -> None:
        self.frames += 1
        self.pictures.mkdir(parents=True, exist_ok=True)
        for size in (PHONE, DESKTOP):
            self.page.set_viewport_size(size)
            # A drawing is laid out once its part of the front end is there.
            with suppress(PlaywrightTimeout):
                self.page.wait_for_load_state("networkidle", timeout=5000)
            self.page.wait_for_timeout(150)
            file = (
                f"{self.name}-{self.frames:02}-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{size['width']}.png"
            )
            self.page.screenshot(path=self.pictures / file, full_page=True)

    def _field(self, label: str) -> Locator:
        """The field of this label, which may say besides that it is optional."""
        name = re.compile(rf"^\s*{re.escape(self.readme.word(label))}\b")
        return self.page.get_by_label(name).filter(visible=True).first

    def _named(self, name: str, within: str, *, whole: bool = False) -> Locator:
        begins = re.compile(rf"^{re.escape(name)}\b")
        # What the page is about comes before what every page has around it.
        places = [self.page.locator(part) for part in ([within] if within != "body" else ["main", "body"])]
        candidates = [
            place.get_by_role(role, name=words, exact=True)  # type: ignore[arg-type]
            for words in ((name,) if whole else (name, begins))
            for place in places
            for role in ROLES
        ]
        union = candidates[0]
        for candidate in candidates[1:]:
            union = union.or_(candidate)
        expect(union.filter(visible=True).first).to_be_visible(timeout=LONG)
        for candidate in candidates:
            if (target := candidate.filter(visible=True)).count():
                return target.first
        return union.first
