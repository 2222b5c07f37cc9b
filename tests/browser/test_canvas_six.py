"""A line of six stations with a fork, a join, a loop and a gate, drawn by keyboard alone and by mouse alone, undone to
nothing and redone. What it takes is counted: presses and clicks, and the seconds that the page's script ran."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from pipelines.lines.publishing import create_line
from pipelines.models import Line, User
from tests.browser.canvas import draft, drag, middle, node, saved, settled
from tests.browser.conftest import Enter
from tests.factories import World, document
from tests.pages.conftest import at
from tests.waiting import until

WAY = """element => element === document.activeElement ? '' :
  document.activeElement.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_PRECEDING ? 'Shift+Tab' : 'Tab'"""

HALFWAY = """path => {
  const { x, y } = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
  return [x, y];
}"""


class Hands:
    """What one person does: a press of a key, a word typed, a click or a drag is one action each."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable")
        self._before = self._script()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.actions += 1

    def write(self, words: str) -> None:
        self.page.keyboard.type(words)
        self.actions += 1

    def reach(self, found: Locator) -> None:
        expect(found).to_be_visible()
        for _ in range(150):
            way = found.evaluate(WAY)
            if not way:
                return
            self.press(way)
        expect(found).to_be_focused()

    def enter(self, found: Locator) -> None:
        self.reach(found)
        self.press("Enter")

    def tick(self, found: Locator) -> None:
        self.reach(found)
        self.press("Space")

    def click(self, found: Locator) -> None:
        found.click()
        self.actions += 1

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        drag(self.page, start, end)
        self.actions += 1

    def seconds(self) -> float:
        return round(self._script() - self._before, 2)

    def _script(self) -> float:
        told = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in told if each["name"] == "ScriptDuration"))


@pytest.fixture
def line(world: World) -> Line:
    return create_line(world.project, "drawn", "Drawn", document([], key="drawn"), world.admin)


@pytest.fixture
def hands(line: Line, enter_canvas: Enter) -> Hands:
    return Hands(enter_canvas(line))


def fields(page: Page) -> Locator:
    return page.locator("#ed-name")


@pytest.mark.wide
def test_a_new_station_has_its_name_ready_and_its_key_follows_it(hands: Hands, line: Line) -> None:
    page = hands.page
    page.get_by_role("button", name="Add a first station").press("Enter")
    named(hands, "Plan")
    onward(hands, "Build")
    saved(page)
    plan, build = draft(line)["stations"]
    assert [plan["key"], build["key"]] == ["plan", "build"]
    assert [(rule["id"], rule["to"]) for rule in plan["rules"]] == [("plan-to-build", "build")]
    expect(page.get_by_role("tab", name="Configure")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".ed-inspector-head")).not_to_contain_text("plan")
    page.keyboard.press("Control+z")
    expect(node(page, "no-op")).to_be_focused()


def named(hands: Hands, name: str) -> None:
    """The field has the focus, with what stands in it selected."""
    expect(fields(hands.page)).to_be_focused()
    hands.write(name)
    hands.press("Enter")
    expect(hands.page.locator(".react-flow__node:focus")).to_contain_text(name)


def onward(hands: Hands, name: str) -> None:
    """From the station that has the focus to a new one."""
    hands.press("l")
    expect(hands.page.get_by_role("dialog")).to_be_visible()
    hands.write("no-op")
    hands.press("Enter")
    named(hands, name)


def goes_to(hands: Hands, name: str, *keys: str) -> None:
    hands.press("l")
    expect(hands.page.get_by_role("dialog")).to_be_visible()
    hands.write(name)
    hands.press(*keys, "Enter")
    expect(hands.page.get_by_role("dialog")).to_have_count(0)


def goto(hands: Hands, name: str) -> None:
    """By the command palette, which knows every place by its name."""
    hands.press("Control+k")
    hands.write(f"Go to {name}")
    expect(hands.page.get_by_role("option", name=f"Go to {name}").first).to_be_visible()
    hands.press("Enter")
    expect(hands.page.get_by_role("dialog")).to_have_count(0)
    expect(hands.page.locator(".react-flow__node:focus")).to_contain_text(name)


def by_keyboard(hands: Hands) -> None:
    page = hands.page
    hands.reach(page.get_by_role("button", name="Add a first station"))
    hands.press("Enter")
    named(hands, "Plan")
    onward(hands, "Build")
    onward(hands, "Lint")
    hands.press("ArrowLeft")
    onward(hands, "Test")
    # The rule to Lint leads to Test, too; the one to Test alone goes.
    hands.press("ArrowLeft", "ArrowDown")
    goes_to(hands, "Test", "Shift+Enter")
    hands.press("Home", "ArrowRight", "ArrowDown", "ArrowDown")
    focused = page.locator(".react-flow__edge:focus")
    while "build-to-test>" not in (focused.get_attribute("data-id") or ""):
        hands.press("ArrowDown")
    hands.press("Delete")
    goto(hands, "Lint")
    onward(hands, "Review")
    goto(hands, "Test")
    goes_to(hands, "Review")
    goto(hands, "Review")
    onward(hands, "Ship")
    goes_to(hands, "Completed")
    # From the canvas Tab leads to the palette; F6 goes on to the settings, and to the problems.
    hands.press("F6", "F6")
    hands.enter(page.locator(".ed-problems").get_by_role("button", name="Wait for both").first)
    hands.press("Escape")
    goto(hands, "Review")
    goes_to(hands, "Build")
    hands.press("Enter")
    hands.reach(page.get_by_role("tab", selected=True))
    hands.press("Home", "ArrowRight")
    failing(hands, hands.reach, hands.enter, hands.tick)
    hands.press("Escape")
    goto(hands, "Review")
    hands.press("ArrowDown", "ArrowDown", "Tab")
    hands.write("person")
    hands.press("Enter")


def failing(
    hands: Hands,
    reach: Callable[[Locator], None],
    push: Callable[[Locator], None],
    push_box: Callable[[Locator], None],
) -> None:
    """The last rule of the chosen station takes what failed, before the others, at most three times."""
    inspector = hands.page.locator(".ed-inspector")
    rules = inspector.locator(".ed-rule[data-rule]")
    expect(rules).to_have_count(2)
    push(rules.nth(1).locator(".ed-rule-head"))
    condition = inspector.get_by_label("Condition", exact=True)
    reach(condition)
    condition.select_option("result")
    hands.actions += 1
    for name in ("failure", "success"):
        push_box(inspector.get_by_label(name, exact=True))
    expect(rules.nth(1)).to_contain_text("For example {result: failure}")
    push(inspector.get_by_role("button", name="Move above 1, at most 3 times"))
    expect(rules.first).to_contain_text("result is failure")


def by_mouse(hands: Hands) -> None:
    """Names and keys stay those of their kind: a mouse types nothing."""
    page = hands.page
    noop = page.locator(".ed-palette").get_by_role("button", name="No-op", exact=True)
    hands.click(page.get_by_role("button", name="Add a first station"))
    first = page.locator(".ed-station")
    expect(first).to_have_count(1)
    # One after the other: each leads on to the next.
    for number in range(2, 4):
        hands.click(noop)
        expect(page.locator(".ed-station")).to_have_count(number)
    _, build, lint = keys_of(page)
    # One that nothing leads to, because nothing is selected; before the one in which the branches meet.
    hands.click(page.locator(".ed-inspector-head").get_by_role("button", name="Close"))
    hands.click(noop)
    expect(page.locator(".ed-station")).to_have_count(4)
    test = keys_of(page)[-1]
    fitted(hands)
    dragged(hands, f'[data-port="{build}-to-{lint}"]', build, test)
    expect(page.locator(f'.ed-way[data-rule="{build}-to-{lint}"] .ed-fork')).to_have_count(1)
    fresh(hands, lint, 5)
    review = keys_of(page)[-1]
    fitted(hands)
    dragged(hands, '[data-port="@new"]', test, review)
    fresh(hands, review, 6)
    hands.click(page.get_by_role("button", name="Wait for both").first)
    fitted(hands)
    dragged(hands, '[data-port="@new"]', review, build)
    hands.click(node(page, review))
    hands.click(page.get_by_role("tab", name="Rules"))

    failing(hands, lambda found: None, hands.click, hands.click)
    ship = keys_of(page)[-1]
    person = middle(page.locator(".ed-palette").get_by_role("button", name="Person", exact=True))
    fitted(hands)
    edge = page.locator(f'.react-flow__edge[data-id^="{review}-to-{ship}"] path').first
    x, y = edge.evaluate(HALFWAY)
    hands.drag(person, (x, y))
    expect(page.locator(".ed-inspector")).to_contain_text("Who decides")


def fitted(hands: Hands) -> None:
    """Once what was made is laid out, and the canvas stands still."""
    settled(hands.page)
    hands.click(hands.page.get_by_role("button", name="Fit the line"))
    place = hands.page.locator(".react-flow__viewport")
    seen: list[str | None] = []

    def still() -> bool:
        seen.append(place.get_attribute("style"))
        return len(seen) > 3 and len(set(seen[-4:])) == 1

    until(still, "the canvas to stand still", hands.page)


def keys_of(page: Page) -> list[str]:
    """In the order in which they were made."""
    found = page.locator(".react-flow__node-station").evaluate_all("all => all.map(each => each.dataset.id)")
    return sorted(found, key=lambda key: (key != "first-station", len(key), key))


def fresh(hands: Hands, after: str, count: int) -> None:
    page = hands.page
    hands.click(node(page, after).locator('[data-port="@new"]'))
    dialog = page.get_by_role("dialog")
    hands.click(dialog.get_by_role("option", name="No-op New station"))
    expect(page.locator(".ed-station")).to_have_count(count)


def dragged(hands: Hands, port: str, one: str, other: str) -> None:
    page = hands.page
    hands.drag(middle(node(page, one).locator(port)), middle(node(page, other)))


def is_drawn(line: Line) -> None:
    stations = draft(line)["stations"]
    ways = {each["key"]: [rule["to"] for rule in each.get("rules", [])] for each in stations}
    assert len(stations) == 6
    [fork] = [to for targets in ways.values() for to in targets if isinstance(to, list)]
    [join] = [each for each in stations if "join" in each]
    assert sorted(join["join"]["wait_for"]) == sorted(fork)
    [loop] = [rule for each in stations for rule in each.get("rules", []) if rule.get("when")]
    assert (loop["when"], loop["max_retries"]) == ({"result": "failure"}, 3)
    assert [rule["gates"] for each in stations for rule in each.get("rules", []) if rule.get("gates")]


def undone_and_redone(hands: Hands, line: Line) -> None:
    page = hands.page
    saved(page)
    whole = draft(line)
    page.locator(".ed-canvas").focus()
    undo, redo = (page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    for _ in range(60):
        if not undo.is_enabled():
            break
        page.keyboard.press("Control+z")
    # An empty line offers a first station, and templates with drawings of their own.
    expect(page.get_by_role("button", name="Add a first station")).to_be_visible()
    saved(page)
    assert draft(line)["stations"] == []
    for _ in range(60):
        if not redo.is_enabled():
            break
        page.keyboard.press("Control+Shift+z")
    saved(page)
    assert draft(line) == whole


@pytest.mark.wide
def test_six_stations_by_keyboard_alone(hands: Hands, line: Line) -> None:
    by_keyboard(hands)
    saved(hands.page)
    print(f"keyboard: {hands.actions} actions, {hands.seconds()} s of script")
    is_drawn(line)
    undone_and_redone(hands, line)


@pytest.mark.wide
def test_six_stations_by_mouse_alone(hands: Hands, line: Line) -> None:
    by_mouse(hands)
    saved(hands.page)
    print(f"mouse: {hands.actions} actions, {hands.seconds()} s of script")
    is_drawn(line)
    undone_and_redone(hands, line)


def test_six_stations_and_a_gate_run_after_thirteen_clicks(hands: Hands, line: Line) -> None:
    """From a blank canvas, with nothing typed but what a task asks for."""
    page = hands.page
    hands.click(page.get_by_role("button", name="Add a first station"))
    for number in range(2, 7):
        hands.click(page.locator(".ed-palette").get_by_role("button", name="No-op", exact=True))
        expect(page.locator(".ed-station")).to_have_count(number)
    gates = page.locator(".ed-palette").get_by_role("region", name="Gates")
    gate = gates.get_by_role("button", name="Person", exact=True)
    hands.click(gate)
    expect(page.locator(".ed-inspector")).to_contain_text("Who decides")
    saved(page)
    hands.click(page.locator("#editor-bar").get_by_role("button", name="Publish"))
    published_and_run(hands, hands.click)
    print(f"mouse: {hands.actions} clicks")
    assert hands.actions <= 13
    has_run(line)


@pytest.mark.wide
def test_six_stations_and_a_gate_run_by_keyboard_alone(hands: Hands, line: Line) -> None:
    page = hands.page
    hands.reach(page.get_by_role("button", name="Add a first station"))
    hands.press("Enter")
    named(hands, "One")
    for name in ("Two", "Three", "Four", "Five", "Six"):
        onward(hands, name)
    hands.press("Tab")
    hands.write("person")
    hands.press("Enter")
    expect(page.locator(".ed-inspector")).to_contain_text("Who decides")
    saved(page)
    hands.press("F6", "Shift+P")
    published_and_run(hands, hands.enter)
    print(f"keyboard: {hands.actions} actions")
    has_run(line)


def published_and_run(hands: Hands, push: Callable[[Locator], None]) -> None:
    page = hands.page
    push(page.locator("#publish-go").get_by_role("button", name="Publish"))
    page.wait_for_url("**/lines/drawn/")
    push(page.get_by_role("link", name="New task").first)
    push(page.get_by_role("button", name="Start the task"))
    page.wait_for_url("**/tasks/**")


def has_run(line: Line) -> None:
    line.refresh_from_db()
    assert line.live is not None
    stations = line.live.document["stations"]
    assert (len(stations), len(line.live.document["gates"])) == (6, 1)
    assert line.tasks.count() == 1


@pytest.mark.wide
def test_an_end_from_the_palette_is_led_to(hands: Hands, line: Line) -> None:
    page = hands.page
    hands.click(page.get_by_role("button", name="Add a first station"))
    ends = page.locator(".ed-palette").get_by_role("region", name="Ends")
    hands.click(ends.get_by_role("button").first)
    saved(page)
    document = draft(line)
    [station] = document["stations"]
    assert [rule["to"] for rule in station["rules"]] == [end["key"] for end in document["ends"]]


@pytest.fixture
def two(
    new_context: Callable[..., BrowserContext],
    world: World,
    line: Line,
    sign_in: Callable[[BrowserContext, User], None],
) -> list[Hands]:
    """Two people at the blank canvas of the line, each in a browser of their own."""
    made = []
    for user in (world.admin, world.designer):
        context = new_context()
        sign_in(context, user)
        page = context.new_page()
        page.goto(at(world, "line-draw", line.key))
        expect(page.get_by_role("button", name="Add a first station")).to_be_visible()
        made.append(Hands(page))
    return made


@pytest.mark.wide
def test_six_stations_and_a_gate_are_drawn_published_and_run_by_two_people_at_once(
    two: list[Hands], line: Line
) -> None:
    mine, theirs = two
    mine.click(mine.page.get_by_role("button", name="Add a first station"))
    mine.click(added(mine, "No-op"))
    expect(theirs.page.locator(".ed-station")).to_have_count(2)
    theirs.click(node(theirs.page, "no-op"))
    # One adds before the last station, the other behind it, neither waits for what the other does.
    for number, (before, behind) in enumerate([("Manual", "No-op"), ("No-op", "Manual")]):
        mine.click(mine.page.locator(".ed-inspector-head").get_by_role("button", name="Close"))
        mine.click(mine.page.locator(".ed-line-rules .ed-rule-head").first)
        mine.click(added(mine, before))
        theirs.click(added(theirs, behind))
        for hands in two:
            expect(hands.page.locator(".ed-station")).to_have_count(4 + 2 * number)
            saved(hands.page)
    theirs.click(added(theirs, "Person"))
    for hands in two:
        expect(hands.page.locator(".ed-station")).to_have_count(6)
        expect(hands.page.locator('.ed-gate[data-gate="person"]').first).to_be_visible()
        expect(hands.page.locator(".ed-conflict")).to_have_count(0)
        saved(hands.page)
    mine.page.goto(mine.page.url.replace("/draw/", "/publish/"))
    publish = mine.page.locator("#publish-go").get_by_role("button", name="Publish")
    expect(publish).to_be_enabled()
    for box in mine.page.get_by_role("checkbox").all():
        mine.tick(box)
    published_and_run(mine, mine.enter)
    has_run(line)


def added(hands: Hands, name: str) -> Locator:
    return hands.page.locator(".ed-palette").get_by_role("button", name=name, exact=True)
