"""Somebody at a browser: does what a person reads and presses, and keeps the machine's time apart from theirs.

The machine's time is measured. A person's is reckoned from what there was to do: words that are new on the page at a
reader's usual pace, a moment to find and press each control, and typing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page

WORDS_A_SECOND = 230 / 60
SECONDS_A_PRESS = 3.0
CHARACTERS_A_SECOND = 3.5
SECONDS_TO_PASTE = 5.0
LONGEST = 25 * 60 * 1000
IN_THE_WINDOW = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width > 1 && box.height > 1 && box.top < innerHeight) found.push(walker.currentNode.data.trim());
  }
  return found.filter(Boolean).join("\\n");
}"""


@dataclass
class NewcomerStep:
    """`apart`: seconds of the measurement itself, in none of the two times. `beside`: people read while it works."""

    name: str
    machine: float = 0.0
    apart: float = 0.0
    words: int = 0
    presses: int = 0
    typed: int = 0
    pastes: int = 0
    beside: bool = False

    @property
    def together(self) -> float:
        return max(self.machine, self.person) if self.beside else self.machine + self.person

    @property
    def person(self) -> float:
        reading = self.words / WORDS_A_SECOND + self.presses * SECONDS_A_PRESS
        return reading + self.typed / CHARACTERS_A_SECOND + self.pastes * SECONDS_TO_PASTE


@dataclass
class Person:
    steps: list[NewcomerStep] = field(default_factory=list)
    _read: set[str] = field(default_factory=set)

    @contextmanager
    def step(self, name: str, *, beside: bool = False) -> Iterator[NewcomerStep]:
        found = NewcomerStep(name, beside=beside)
        self.steps.append(found)
        began = time.monotonic()
        yield found
        found.machine = time.monotonic() - began - found.apart
        print(f"{name}: {found.machine:.1f} s, a person {found.person:.0f} s", flush=True)

    def reads(self, text: str) -> None:
        """What was read before is not read again."""
        new = [line for line in text.splitlines() if line.strip() and line not in self._read]
        self._read |= set(new)
        self.steps[-1].words += sum(len(re.findall(r"\w+", line)) for line in new)

    def looks(self, page: Page, *, whole: bool) -> None:
        """`whole`: also what has to be scrolled to, as of a form that is filled in; else what the window shows."""
        self.reads(page.locator("main").first.inner_text() if whole else page.evaluate(IN_THE_WINDOW))

    def presses(self, target: Locator) -> None:
        target.click(timeout=LONGEST)
        self.steps[-1].presses += 1

    def types(self, target: Locator, text: str) -> None:
        target.fill(text)
        self.steps[-1].typed += len(text)

    def pastes(self, target: Locator, text: str) -> None:
        target.fill(text)
        self.steps[-1].pastes += 1
