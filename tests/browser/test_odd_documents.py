"""What a document says passes every door and every command of the canvas unchanged, however odd its numbers, keys and
texts are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pipelines.formats import native
from pipelines.models import Line
from pipelines.routing.basics.canonical import canonical_json
from tests.browser.canvas import draft, node, saved
from tests.browser.conftest import Enter
from tests.browser.test_canvas_import import PASTE
from tests.factories import World
from tests.odd import Drawing, written
from tests.pages.conftest import at, door

SENT = """async ({ address, text }) => {
    const csrf = /(?:^|;\\s*)gateline_csrf=([^;]+)/.exec(document.cookie)?.[1] ?? "";
    const headers = { "X-CSRFToken": csrf, "Content-Type": "text/plain" };
    const answer = await fetch(address, { method: "PUT", headers, body: text });
    return [answer.status, await answer.text()];
}"""
COPIED = """() => {
    const data = new DataTransfer();
    document.activeElement.dispatchEvent(
        new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true }));
    return data.getData("text/plain");
}"""


def comparable(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Bytes of each part, without what the tried commands change: where things stand, copies, and the first name."""
    found = dict(document)
    stations = {
        each["key"]: dict(each) for each in found.pop("stations") if each["key"] in ("one", "two", "three")
    }
    for each in stations.values():
        each.pop("name", None)
    extra = dict(found.pop("extra", {}))
    extra["editor"] = {key: each for key, each in extra.get("editor", {}).items() if key != "positions"}
    parts = {**{f"line {key}": each for key, each in found.items()}, "extra": extra}
    parts |= {f"station {key}": each for key, each in stations.items()}
    return {key: canonical_json(each) for key, each in parts.items()}


def renamed(page: Page) -> None:
    node(page, "one").focus()
    page.locator("#ed-name").fill("Another name")
    page.keyboard.press("Enter")


def nudged(page: Page) -> None:
    node(page, "two").focus()
    page.keyboard.press("Alt+ArrowDown")


def duplicated(page: Page) -> None:
    node(page, "two").focus()
    page.keyboard.press("Control+d")


def pasted(page: Page) -> None:
    node(page, "three").focus()
    page.evaluate(PASTE, page.evaluate(COPIED))


def removed_and_back(page: Page) -> None:
    node(page, "three").focus()
    page.keyboard.press("Delete")
    page.locator(".ed-canvas").focus()
    page.keyboard.press("Control+z")


def again(page: Page) -> None:
    page.locator(".ed-canvas").focus()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+Shift+z")


def added(page: Page) -> None:
    # Behind what is chosen a station is led to by a rule of that: nothing is.
    page.locator(".ed-canvas").focus()
    page.keyboard.press("Escape")
    page.locator("#ed-search").fill("manual")
    page.keyboard.press("Enter")
    page.locator("#ed-search").fill("")


COMMANDS: tuple[Callable[[Page], None], ...] = (
    added,
    renamed,
    nudged,
    duplicated,
    pasted,
    removed_and_back,
)


def passes(page: Page, world: World, line: Line, seed: int) -> list[str]:
    """Send one document, do something with it on the canvas, and take all of that back; return what became of it.

    Every tenth is opened with its page; the others reach the open canvas as somebody else's save does.
    """
    drawing = Drawing(f"odd {seed}")
    text = written(drawing)
    if seed % 10 == 0:
        page.goto("/help/")
        page.evaluate("localStorage.clear()")
    line.refresh_from_db()
    address = door(world, f"/draft?based_on={line.draft_number}")
    status, answer = page.evaluate(SENT, {"address": address, "text": text})
    assert status == 200, answer
    before = native.loads(text)
    assert line_text(line) == text
    faults = [f"{seed}: stored otherwise"] if canonical_json(draft(line)) != canonical_json(before) else []
    if seed % 10 == 0:
        page.goto(at(world, "line-draw", "drawn"))
    expect(node(page, "three")).to_contain_text(f"Three odd {seed}")
    expect(page.locator(".ed-station")).to_have_count(3)
    chosen = drawing.random.sample(COMMANDS, 2)
    for command in COMMANDS:
        if command in chosen:
            command(page)
    again(page)
    saved(page)
    faults += different(f"{seed} {[command.__name__ for command in chosen]}", before, draft(line))
    assert canonical_json(native.loads(line_text(line))) == canonical_json(draft(line))
    page.locator(".ed-canvas").focus()
    for _ in range(6):
        page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    saved(page)
    return faults + different(f"{seed} undone", before, draft(line), whole=True)


def line_text(line: Line) -> str:
    line.refresh_from_db()
    return line.draft_text


def different(
    seed: str, before: Mapping[str, Any], after: Mapping[str, Any], *, whole: bool = False
) -> list[str]:
    old, new = ({"line": canonical_json(each)} if whole else comparable(each) for each in (before, after))
    return [
        f"{seed}: {key}: {old.get(key, b'')[:300]!r} … {new.get(key, b'')[:300]!r}"
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]


def run(page: Page, world: World, line: Line, seeds: Iterable[int]) -> None:
    faults = [fault for seed in seeds for fault in passes(page, world, line, seed)]
    assert not faults, "\n".join(faults)


def test_odd_documents_pass_doors_and_commands_unchanged(
    enter_canvas: Enter, world: World, drawn: Line
) -> None:
    run(enter_canvas(drawn), world, drawn, (250, 251))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 2_000, 50))
def test_two_thousand_odd_documents_pass_unchanged(
    enter_canvas: Enter, world: World, drawn: Line, first: int
) -> None:
    run(enter_canvas(drawn), world, drawn, range(first, first + 50))
