"""The text of a line beside its canvas, in a real browser: a change of one is a change of the other, comments stay,
and nothing typed is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import BrowserContext, Error, Locator, Page, expect

from pipelines.formats import native
from pipelines.lines.publishing import create_line
from pipelines.models import Line, User
from pipelines.routing.document.line import DocumentError
from tests.browser.canvas import SAVING, node
from tests.browser.conftest import Enter
from tests.browser.test_canvas import saved
from tests.factories import World
from tests.fixtures.site import Site
from tests.pages.conftest import at
from tests.routing.test_native import PLAIN, REFUSED
from tests.waiting import until

TEXT = """\
# Why this line is here
gateline: 1
key: drawn
name: "Drawn"   # as people call it

stations:
  # It all begins here
  - key: build
    name: Build
    work: {kind: noop}
    rules:
      - {id: broken, when: {result: failure}, to: failed}  # the rare case
      - id: all
        to: ship

  - key: ship
    work: {kind: manual}
    rules: [{id: shipped, to: completed}]
"""


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", TEXT, world.admin)


@pytest.fixture
def page_(line: Line, enter_canvas: Enter) -> Page:
    """Canvas and text beside each other."""
    page = enter_canvas(line)
    page.get_by_role("button", name="Both", exact=True).click()
    expect(page.locator(".cm-content")).to_contain_text("Why this line is here")
    return page


def words(page: Page, text: str) -> Locator:
    return page.locator(".cm-line", has_text=text).first


def typed(page: Page, behind: str, text: str) -> None:
    """At the end of the first line that says `behind`."""
    words(page, behind).click()
    page.keyboard.press("End")
    page.keyboard.insert_text(text)


def stored(line: Line) -> Line:
    line.refresh_from_db()
    return line


@pytest.mark.wide
def test_what_is_typed_is_drawn_and_what_is_drawn_is_written_and_no_comment_goes(
    page_: Page, line: Line
) -> None:
    typed(page_, "name: Build", " everything")
    expect(page_.locator('.react-flow__node[data-id="build"]')).to_contain_text("Build everything")
    saved(page_)
    typed_text = TEXT.replace("name: Build", "name: Build everything")
    assert stored(line).draft_text == typed_text
    page_.locator('.react-flow__node[data-id="ship"]').click()
    page_.locator('.react-flow__node[data-id="ship"]').press("Delete")
    expect(page_.locator(".cm-content")).not_to_contain_text("key: ship")
    saved(page_)
    kept = stored(line).draft_text
    assert native.loads(kept) == line.draft
    for comment in (
        "# Why this line is here",
        "# as people call it",
        "# It all begins here",
        "# the rare case",
    ):
        assert comment in kept
    page_.locator(".react-flow__pane").click()
    page_.keyboard.press("Control+z")
    page_.keyboard.press("Control+z")
    expect(page_.locator(".cm-content")).to_contain_text("key: ship")
    saved(page_)
    assert stored(line).draft == native.loads(TEXT)


@pytest.mark.wide
def test_a_comment_alone_is_saved_too(page_: Page, line: Line) -> None:
    typed(page_, "gateline: 1", "  # the law")
    expect(page_.locator(".ed-save")).not_to_have_attribute("data-state", "saved")
    saved(page_)
    assert "gateline: 1  # the law\n" in stored(line).draft_text
    assert line.draft == native.loads(TEXT)


@pytest.mark.wide
def test_a_text_that_cannot_be_read_yet_is_kept_and_the_canvas_says_so(page_: Page, line: Line) -> None:
    typed(page_, "name: Build", "\n    labels: [x")
    alert = page_.get_by_role("alert")
    expect(alert).to_contain_text("cannot be read")
    expect(alert).to_contain_text("The canvas shows the last readable state")
    page_.locator('.react-flow__node[data-id="ship"]').click()
    page_.locator('.react-flow__node[data-id="ship"]').press("Delete")
    expect(page_.locator(".ed-station")).to_have_count(2)
    page_.reload()
    expect(page_.locator(".cm-content")).to_contain_text("labels: [x")
    expect(page_.get_by_role("alert")).to_contain_text("cannot be read")
    assert stored(line).draft_text == TEXT
    typed(page_, "labels: [x", "]")
    expect(page_.get_by_role("alert")).to_have_count(0)
    saved(page_)
    assert stored(line).draft["stations"][0]["labels"] == ["x"]


FAULTS = [
    ("    name: Build", "    name: Build\n    labels: [x", "    labels: [x"),
    ("    work: {kind: noop}", "    work: {kind: noop", "    work: {kind: noop"),
    ("    name: Build", '    name: "Build', '    name: "Build'),
    ("    name: Build", "    name: 'Build", "    name: 'Build"),
    ("    name: Build", "     name: Build", "     name: Build"),
    ("    name: Build", "\tname: Build", "\tname: Build"),
    ("    name: Build", "    name: Build\n    name: Make", "    name: Make"),
    (
        "      - {id: broken, when: {result: failure}, to: failed}",
        "      - {to: failed}",
        "      - {to: failed}",
    ),
    ("  - key: ship", "  - name: ship", "  - name: ship"),
]


@pytest.mark.wide
def test_a_fault_in_the_text_points_at_its_own_line(page_: Page) -> None:
    alert = page_.get_by_role("alert")
    for old, new, place in FAULTS:
        lines = TEXT.replace(old, new).splitlines()
        page_.locator(".cm-content").click()
        page_.keyboard.press("Control+a")
        page_.keyboard.press("Delete")
        page_.keyboard.insert_text("\n".join(lines))
        number = next(index for index, line in enumerate(lines, 1) if line.startswith(place))
        expect(alert).to_contain_text(f"Line {number} cannot be read")
    page_.get_by_role("button", name="Form", exact=True).click()
    alert.get_by_role("button", name="Go there").click()
    expect(page_.locator(".cm-content")).to_be_focused()
    expect(page_.locator(".cm-activeLine")).to_contain_text("name: ship")


@pytest.mark.wide
def test_what_is_typed_while_the_server_is_away_outlives_a_reload(page_: Page, line: Line) -> None:
    page_.route(SAVING, lambda route: route.abort())
    typed(page_, "name: Build", " well  # and fast")
    expect(page_.get_by_role("alert")).to_contain_text("The server cannot be reached")
    page_.unroute(SAVING)
    page_.reload()
    expect(page_.locator('.react-flow__node[data-id="build"]')).to_contain_text("Build well")
    saved(page_)
    assert "name: Build well  # and fast\n" in stored(line).draft_text


@pytest.mark.wide
def test_what_is_chosen_on_one_side_is_marked_on_the_other(page_: Page) -> None:
    page_.locator('.react-flow__node[data-id="ship"]').click()
    expect(page_.locator(".ed-code-chosen").first).to_contain_text("key: ship")
    words(page_, "id: all").click()
    expect(page_.locator('.react-flow__node[data-id="build"]')).to_have_class(re.compile("selected"))
    expect(page_.locator(".ed-code-chosen").first).to_contain_text("id: all")


A_MOMENT = 1000  # ms, between two moves of a hand


def rest_on(found: Locator, shown: Locator) -> None:
    """Point at it until what explains it is shown. No hand is quite still: a move over words that are drawn anew in
    the same moment, as they are after a save, tells the editor nothing, and the next one does."""

    def pointed() -> bool:
        found.hover(position={"x": 4, "y": 4})
        found.hover(position={"x": 5, "y": 5})
        with suppress(Error):
            shown.wait_for(timeout=A_MOMENT)
            return True
        return False

    until(pointed, "the explanation")


@pytest.mark.wide
def test_the_schema_completes_and_explains_and_findings_stand_at_their_place(page_: Page) -> None:
    typed(page_, "name: Build", "")
    page_.keyboard.press("Enter")
    page_.keyboard.type("result_doc")
    option = page_.get_by_role("option", name="result_document")
    expect(option).to_be_visible()
    option.click()
    page_.keyboard.type("req")
    page_.get_by_role("option", name="required").click()
    expect(words(page_, "result_document: required")).to_be_visible()
    saved(page_)
    meaning = page_.locator(".ed-code-meaning")
    rest_on(words(page_, "result_document").get_by_text("result_document"), meaning)
    expect(meaning).to_contain_text("One of: required, optional, none")
    typed(page_, "to: ship", "ping")
    saved(page_)
    expect(page_.locator(".cm-lintRange-error").first).to_be_visible()
    found = page_.locator(".cm-diagnostic-error").first
    rest_on(page_.locator(".cm-lintRange-error").first, found)
    expect(found).to_contain_text("shipping")


SCALARS = [f"x: {text}\n" for text, _ in PLAIN]
MORE = [
    "a: &x {n: 1}\nb: *x\n",
    "a: &x [1]\nb: [*x, *x]\n",
    "a: |\n  one\n   two\n\nb: >\n  folded\n  text\n",
    "a: 'it''s'\nb: \"\\u00e9\\n\"\n",
    "? a\n: 1\n",
    "a: 12345678901234567890\n",
    "a: {b, c: }\n",
    "a: [x, {y: 1}, ]\n",
    "'5': x\n",
    "{a: on, b: [1]}",
    '{"a": "\\ud83d\\ude00", "b": "\\/", "c": 1E2}',
    "a: -0\nb: 1.50\nc: 1e3\nd: 0.1\n",
    "a: multi\n  line plain\n",
    "a:\n- 1\n- 2\n",
    "a: <<\n<<: b\n",
    "--- \na: 1\n...\n",
    "a: 2024-01-02T03:04:05Z\nb: 0b11\nc: 1__0\n",
]
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)
DEEP = "a: &x " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*x" + "]" * 60
BROKEN = [text for text, *_ in REFUSED if isinstance(text, str) and len(text) < 100_000]
LINES = [path.read_text() for path in sorted((settings.BASE_DIR / "pipelines").glob("**/lines/*.yaml"))]
READ = """async ([address, texts]) => {
  const worker = new Worker(address, {type: "module"});
  const answer = (id, text) => new Promise((done) => {
    worker.addEventListener("message", ({data}) => data.id === id && done(data.answered));
    worker.addEventListener("error", ({message}) => done({message}));
    worker.postMessage({id, asked: {do: "read", text}});
  });
  const found = await Promise.all(texts.map((text, id) => answer(id, text)));
  const digits = (_key, value) => typeof value === "bigint" ? JSON.rawJSON(String(value)) : value;
  return JSON.stringify(found.map((each) => (each.ok ? {value: each.value} : {message: each.message})), digits);
}"""


def server_reads(text: str) -> Any:
    try:
        return native.loads(text)
    except DocumentError:
        return None


def as_browsers_hold_it(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_int=lambda digits: float(digits))


@pytest.mark.parametrize(
    "lines", [LINES[::6], pytest.param(LINES, marks=pytest.mark.wide)], ids=["some", "all"]
)
def test_browser_and_server_read_the_same_from_every_text(page: Page, site: Site, lines: list[str]) -> None:
    [built] = Path(settings.BASE_DIR, "static/dist/assets").glob("worker-*.js")
    texts = [*SCALARS, *MORE, BOMB, DEEP, *BROKEN, TEXT, *lines]
    page.goto("/sign-in/")
    found = json.loads(page.evaluate(READ, [f"/static/dist/assets/{built.name}", texts]))
    differ = []
    for text, here in zip(texts, found, strict=True):
        there = server_reads(text)
        if as_browsers_hold_it(here.get("value")) != as_browsers_hold_it(there):
            differ.append((text[:60], here, there))
    assert not differ
    assert sum("value" in each for each in found) > len(SCALARS)
    assert sum("message" in each for each in found) > len(BROKEN)


@pytest.mark.wide
def test_a_text_opened_offline_comes_when_the_server_is_there_again(
    line: Line,
    world: World,
    new_context: Callable[..., BrowserContext],
    sign_in: Callable[[BrowserContext, User], None],
) -> None:
    # The browser of the other tests may have read the editor of texts already, and has it without a server.
    context = new_context()
    sign_in(context, world.admin)
    page = context.new_page()
    page.goto(at(world, "line-draw", line.key))
    expect(page.locator(".ed-station")).to_have_count(2)
    page.context.set_offline(True)
    page.get_by_role("button", name="Both", exact=True).click()
    expect(page.get_by_text("The server cannot be reached. The text loads when it is back.")).to_be_visible()
    expect(page.locator('[data-id="build"]')).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator(".cm-content")).to_contain_text("Why this line is here")


@pytest.mark.wide
def test_two_tabs_keep_their_unread_texts_apart_and_what_a_closed_one_left_is_found(
    line: Line, page_: Page, enter_canvas: Enter
) -> None:
    typed(page_, "name: Build", "\n    labels: [one")
    expect(page_.get_by_role("alert")).to_contain_text("cannot be read")
    second = page_.context.new_page()
    second.goto(page_.url)
    second.get_by_role("button", name="Both", exact=True).click()
    expect(second.locator(".cm-content")).to_contain_text("Why this line is here")
    expect(second.locator(".cm-content")).not_to_contain_text("labels: [one")
    typed(second, "key: ship", "\n    labels: [two")
    expect(second.get_by_role("alert")).to_contain_text("cannot be read")
    for page, own, other in [(page_, "one", "two"), (second, "two", "one")]:
        page.reload()
        expect(page.locator(".cm-content")).to_contain_text(f"labels: [{own}")
        expect(page.locator(".cm-content")).not_to_contain_text(f"labels: [{other}")
    page_.close()
    third = second.context.new_page()
    third.goto(second.url)
    expect(third.locator(".cm-content")).to_contain_text("labels: [one")
    expect(third.get_by_role("alert")).to_contain_text("cannot be read")
    typed(third, "labels: [one", "]")
    expect(third.get_by_role("alert")).to_have_count(0)
    saved(third)
    assert stored(line).draft["stations"][0]["labels"] == ["one"]
    expect(second.locator(".cm-content")).to_contain_text("labels: [two")


SLOWLY_WRITTEN = """
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message) {
    window.setTimeout(() => post.call(this, message), message.asked?.do === "write" ? 900 : 0);
};
"""


@pytest.mark.wide
def test_what_was_opened_is_stored_again_when_changes_are_undone_while_the_first_is_on_its_way(
    line: Line, page: Page, enter_canvas: Enter
) -> None:
    """Its text is the one that was opened, not the one that was stored last."""
    page.add_init_script(SLOWLY_WRITTEN)
    enter_canvas(line)
    canvas = page.locator(".ed-canvas")
    with page.expect_response(SAVING):
        node(page, "ship").focus()
        page.keyboard.press("Alt+ArrowDown")
        # Its text is being written now: the next change comes before that is done.
        expect(page.locator(".ed-save")).to_have_attribute("data-state", "saving")
        page.keyboard.press("Alt+ArrowDown")
    canvas.focus()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    saved(page)
    line.refresh_from_db()
    assert line.draft_number == 3
    assert line.draft_text == TEXT
