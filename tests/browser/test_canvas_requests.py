"""What the forms of the canvas send: one word of a person is one request."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from pipelines.formats import native
from pipelines.lines.publishing import create_line, save_draft
from pipelines.models import Line
from tests.browser.canvas import draft, line_settings, rename_chosen, saved
from tests.browser.conftest import Enter
from tests.browser.formed import DOCUMENT, configure, unfold
from tests.factories import World
from tests.pages.conftest import door


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "formed", "Formed", DOCUMENT, world.admin)


@pytest.fixture
def canvas(line: Line, enter_canvas: Enter) -> Page:
    return enter_canvas(line)


@pytest.fixture
def asked(canvas: Page, line: Line, world: World) -> list[str]:
    """What the canvas asks of the server, as method and the rest of the address of the draft."""
    found: list[str] = []
    start = canvas.url.partition("/p/")[0] + door(world, "/draft", line.key).replace("/api/", "/api/v1/", 1)

    def note(request: Request) -> None:
        if "/api/" in request.url:
            found.append(f"{request.method} {request.url.removeprefix(start)}")

    canvas.on("request", note)
    return found


@pytest.mark.wide
def test_one_word_is_one_request(canvas: Page, line: Line, world: World, asked: list[str]) -> None:
    """The name of a station, a field of its form, its key: with a text of the line, and without one."""

    def edit(number: int) -> None:
        form = configure(canvas, "build")
        expect(form.get_by_label("Folder", exact=True)).to_be_visible()
        asked.clear()
        for wanted, act in enumerate((_rename, _folder, _key), 1):
            act(canvas, form)
            expect(canvas.locator(".ed-whose")).to_contain_text(f"Draft {number + wanted}")
            saved(canvas)
        canvas.locator('.react-flow__node[data-id="check"]').click()
        expect(canvas.locator("#ed-name")).to_have_value("Check")
        assert asked[:3] == ["POST /forms/station"] * 3
        assert not [each for each in asked if each.startswith(("PATCH", "PUT"))]
        station = draft(line)["stations"][0]
        assert (station["key"], station["name"], station["work"]["cwd"]) == ("make", "Compile", "src")
        assert draft(line)["stations"][1]["rules"][0]["to"] == "make"

    edit(1)
    comment(line, world, 4)
    canvas.reload()
    edit(5)
    keeps_its_comment(line)


@pytest.mark.wide
def test_lists_durations_and_buttons_are_one_request_too(
    canvas: Page, line: Line, world: World, asked: list[str]
) -> None:
    """What is typed into them is written as the server would: with a text of the line, and without one."""

    def edit(number: int) -> None:
        form = configure(canvas, "build")
        unfold(form, "Limits")
        unfold(form, "Where it runs")
        fill = {
            "Program and arguments": "make all {{ input.who }}",
            "Environment": "LEVEL=debug\nHOW=a=b",
            "Labels": "fast, small",
            "Timeout": "90",
        }
        expect(form.get_by_label("Timeout", exact=True)).to_be_visible()
        for wanted, (label, text) in enumerate(fill.items(), 1):
            asked.clear()
            form.get_by_label(label, exact=True).fill(text)
            canvas.keyboard.press("Control+Enter")
            stored("station", number + wanted)
        canvas.locator('.react-flow__node[data-id="@start"]').click()
        expect(canvas.locator(".ef-preview")).to_contain_text("Whom to greet")
        for wanted, button in enumerate(("Add a field", "Move field-2 up", "Delete field-2"), 5):
            asked.clear()
            form.get_by_role("button", name=button).click()
            stored("inputs", number + wanted)
            expect(form.locator(".ef-row")).to_have_count(1 if button.startswith("Delete") else 2)
        station = draft(line)["stations"][0]
        assert station["work"]["argv"] == ["make", "all", "{{ input.who }}"]
        assert station["work"]["env"] == {"LEVEL": "debug", "HOW": "a=b"}
        assert (station["labels"], station["limits"]) == (["fast", "small"], {"max_timeout": 90})
        assert draft(line)["inputs"] == DOCUMENT["inputs"]

    def stored(what: str, number: int) -> None:
        expect(canvas.locator(".ed-whose")).to_contain_text(f"Draft {number}")
        saved(canvas)
        assert asked[0] == f"POST /forms/{what}"
        assert not [each for each in asked if each.startswith(("PATCH", "PUT"))]

    edit(1)
    comment(line, world, 8)
    canvas.reload()
    edit(9)
    keeps_its_comment(line)


@pytest.mark.wide
def test_what_a_control_turns_into_something_else_is_one_request_too(
    canvas: Page, line: Line, world: World, asked: list[str]
) -> None:
    """Quoted arguments, JSON over what has no field, choices that turn their part, fields with company."""
    form, drafts = canvas.locator(".ef-form"), iter(range(2, 100))

    def fill(label: str, text: str) -> None:
        form.get_by_label(label, exact=True).first.fill(text)
        canvas.keyboard.press("Control+Enter")
        stored(label)

    def choose(label: str, value: str) -> None:
        form.get_by_label(label, exact=True).first.select_option(value)
        stored(label)

    def stored(label: str) -> None:
        expect(canvas.locator(".ed-whose")).to_contain_text(f"Draft {next(drafts)}")
        saved(canvas)
        assert [each for each in asked if "/forms/" in each], label
        assert not [each for each in asked if each.startswith(("PATCH", "PUT"))], label
        asked.clear()

    configure(canvas, "build")
    unfold(form, "Everything else")
    unfold(form, "Gate and join")
    fill("Program and arguments", "make 'all of it' \"a {{ input.who }}\"")
    fill("Everything else", '{"extra": {"ours": [1]}}')
    form.get_by_label("Check", exact=True).check()
    stored("join")
    form.get_by_label("Check", exact=True).uncheck()
    stored("no join")
    choose("Kind of work", "hook")
    canvas.get_by_role("tab", name="Rules").click()
    canvas.locator('[data-rule="on"] .ed-rule-head').click()
    unfold(form, "Limits")
    choose("Condition", "result")
    choose("Condition", "not")
    choose("Condition", "inside")
    choose("Condition", "output")
    choose("Comparison", "gt")
    fill("Value", "3")
    choose("Back to a station where the task was already", "yes")
    choose("After that", "to:check")
    choose("Target", "*fork")
    rule = draft(line)["stations"][0]["rules"][0]
    canvas.get_by_role("button", name="Close").click()
    line_settings(canvas, "Gates")
    canvas.get_by_role("button", name="Look asked once").click()
    for title in ("Their words", "Due, and who is told", "A tool that decides"):
        unfold(form, title)
    choose("Checks", "any")
    form.get_by_role("button", name="Add a check").click()
    stored("a check")
    fill("Value", "high")
    form.get_by_role("button", name="Add a requirement").click()
    stored("a requirement")
    choose("Asked is a", "user")
    fill("A decision is wanted within", "4h")
    fill("A decision is wanted within", "")
    form.locator('[name="offers"][value="reject"]').uncheck()
    stored("the words")
    fill("Program and arguments", "true")
    fill("Program and arguments", "")
    station, gate = draft(line)["stations"][0], draft(line)["gates"][0]
    assert station["work"] == {"kind": "hook", "argv": ["make", "all of it", "a {{ input.who }}"]}
    assert (station["extra"], "join" in station) == ({"ours": [1]}, False)
    assert rule["when"] == {"output": {"path": "$", "op": "gt", "value": 3}}
    assert (rule["to"], rule["allow_revisit"], rule["on_exhausted"]) == (
        ["check", "build"],
        True,
        {"to": "check"},
    )
    assert gate["checks"] == {"any": [{"field": "exit_code", "operator": "equals", "value": "high"}]}
    assert (gate["approval"], gate["offers"]) == (
        {"who": [{"user": world.admin.username}]},
        ["approve", "send_back"],
    )
    assert {"due", "tool"} & set(gate) == set()


def comment(line: Line, world: World, number: int) -> None:
    save_draft(line, "# why it is here\n" + native.dumps(DOCUMENT), world.admin, number)


def keeps_its_comment(line: Line) -> None:
    line.refresh_from_db()
    assert "# why it is here" in line.draft_text
    assert native.loads(line.draft_text) == line.draft


def _rename(canvas: Page, form: Locator) -> None:
    rename_chosen(canvas, "Compile")


def _folder(canvas: Page, form: Locator) -> None:
    form.get_by_label("Folder", exact=True).fill("src")
    canvas.keyboard.press("Enter")


def _key(canvas: Page, form: Locator) -> None:
    form.get_by_label("Key", exact=True).fill("make")
    canvas.keyboard.press("Tab")
