"""What went wrong is put right from Home in a real browser, in at most three actions, by mouse and by keyboard alone.

An action is a click, a text that is typed, or a key that opens, chooses or sends; keys that move the focus are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from pipelines.models import Task, User
from tests.axe import grave
from tests.changes.leaving import leave
from tests.factories import World, station
from tests.fixtures.browser import PHONE
from tests.pages.conftest import at
from tests.reviews.conftest import gated
from tests.reviews.inbox_items import late, stuck
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SignIn = Callable[[Page | BrowserContext, User], None]
MOST_ACTIONS, MOST_STEPS = 3, 12
LETTER = "letter.txt"
ASKED = "Which guarantee has the chair?"


def blocked(world: World) -> Task:
    task = world.start(world.line(stations=["describe", "ship"], key="pages"))
    question = f"{ASKED}\n- two years\n- five years"
    world.report(task, {"result": "blocked", "summary": "Two suppliers deliver it.", "blockers": [question]})
    return task


def asked_for_words(world: World) -> Task:
    task = world.start(world.line(stations=["describe", "ship"], key="pages"))
    world.report(task, {"result": "blocked", "summary": "Nobody knows its name.", "blockers": ["A name"]})
    return task


def failed_branch(world: World) -> Task:
    both = {"id": "both", "to": ["german", "french"], "when": {"result": "success"}}
    done = {"to": "print", "when": {"result": "success"}}
    join = {"wait_for": ["german", "french"], "aggregation": "all-pass"}
    branches = [station(key, {"id": key, **done}) for key in ("german", "french")]
    line = {"key": "catalogue", "policy": {"no_match": "stuck", "on_failure": "stuck"}}
    task = world.start(
        world.line(stations=[station("layout", both), *branches, station("print", join=join)], **line)
    )
    world.report(task)
    world.report(task, {"result": "failure", "summary": "The dictionary is gone."}, station="french")
    world.report(task, station="german")
    return task


def sent_back_twice(world: World) -> Task:
    task = world.start(world.line(**gated(description="Is this what our customers should read?")))
    for words in ("From Monday", "From 7 December: 20 %"):
        leave(world, task, {LETTER: words.encode()})
        world.vote(task, "send_back", by=world.admin, reason=f"Not “{words}”.")
    leave(world, task, {LETTER: b"From 7 December: 25 %"})
    return task


@dataclass
class Hand:
    """One person at the page, who counts what they do; `steps` only moved the focus."""

    page: Page
    actions: int = 0
    steps: int = 0

    def click(self, name: str, role: str = "button") -> None:
        self.actions += 1
        self.page.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]

    def write(self, text: str) -> None:
        self.actions += 1
        self.page.keyboard.type(text)

    def press(self, key: str) -> None:
        self.actions += 1
        self.page.keyboard.press(key)

    def go_to(self, target: Locator, key: str = "Tab") -> None:
        expect(target).to_be_visible()
        while not target.evaluate("element => element === document.activeElement"):
            assert self.steps < MOST_STEPS, f"{target} is too far"
            self.steps += 1
            self.page.keyboard.press(key)


@pytest.fixture
def hand(page: Page, sign_in: SignIn, world: World) -> Callable[[], Hand]:
    def at_home() -> Hand:
        sign_in(page, world.reviewer)
        page.goto(reverse("home"), wait_until="networkidle")
        expect(page.locator("#needs-you .need-row")).to_have_count(1)
        return Hand(page)

    return at_home


def opens(hand: Hand, keys: bool) -> None:
    """Open the only item of Home."""
    if keys:
        hand.go_to(hand.page.locator("#needs-you .need-row"), "j")
        hand.press("Enter")
    else:
        hand.actions += 1
        hand.page.locator("#needs-you .need-row").click()
    # A key before that would be of a page that is still on its way
    expect(hand.page.locator("#dossier-title")).to_be_focused()


def pressed(hand: Hand, name: str, keys: bool) -> None:
    if keys:
        hand.go_to(hand.page.locator(".need").get_by_role("button", name=name))
        hand.press("Enter")
    else:
        hand.click(name)


@pytest.mark.smoke(3)
@pytest.mark.parametrize("keys", [False, True], ids=["mouse", "keys"])
@pytest.mark.parametrize(
    ("made", "verb", "place"),
    [(stuck, "Retry", "weigh"), (failed_branch, "Run french again", "french"), (late, "Run again", "count"),
     (blocked, "five years", "describe")],
    ids=["stuck", "fork", "late", "blocked"],
)  # fmt: skip
def test_it_is_put_right_by_two_actions(
    world: World, hand: Callable[[], Hand], made: Callable[[World], Task], verb: str, place: str, keys: bool
) -> None:
    task = made(world)
    person = hand()
    opens(person, keys)
    pressed(person, verb, keys)
    expect(person.page.locator(".task-head")).to_contain_text(task.name)
    job = world.job(task, place)
    assert (job.state, job.visit) == ("queued", 2)
    assert job.feedback == ("five years" if made is blocked else "")
    assert person.actions <= MOST_ACTIONS, person
    for left in (place, "print", "ship"):
        if task.jobs.filter(station=left).exclude(state="done").exists():
            world.report(task, {"result": "success", "eval": "never"}, station=left)
    assert world.status(task) == "completed"


@pytest.mark.smoke(1)
@pytest.mark.parametrize("keys", [False, True], ids=["mouse", "keys"])
def test_a_question_without_choices_is_answered_by_three_actions(
    world: World, hand: Callable[[], Hand], keys: bool
) -> None:
    task = asked_for_words(world)
    person = hand()
    opens(person, keys)
    field = person.page.get_by_label("Answer", exact=True)
    expect(person.page.get_by_text("Nobody knows its name.").first).to_be_in_viewport()
    if keys:
        person.go_to(field)
    else:
        # To click into the field is part of writing there
        field.click()
    person.write("Oak")
    person.press("Control+Enter")
    expect(person.page.locator(".task-head")).to_contain_text(task.name)
    assert world.job(task).feedback == "Oak"
    assert person.actions <= MOST_ACTIONS, person


@pytest.mark.smoke(1)
@pytest.mark.parametrize("keys", [True, False], ids=["keys", "mouse"])
def test_what_was_sent_back_twice_is_approved_by_three_actions(
    world: World, hand: Callable[[], Hand], keys: bool
) -> None:
    task = sent_back_twice(world)
    person = hand()
    opens(person, keys)
    for fact in ("From 7 December: 25 %", "Not “From Monday”.", "Not “From 7 December: 20 %”."):
        expect(person.page.get_by_text(fact).first).to_be_in_viewport()
    expect(person.page.get_by_text("not opened")).to_have_count(0)
    if keys:
        person.press("a")
        person.press("Control+Enter")
    else:
        person.click("Approve → ship")
        person.click("Confirm approval")
    expect(person.page.locator(".task-head")).to_contain_text(task.name)
    assert world.at(task) == ["ship"]
    assert person.actions <= MOST_ACTIONS, person


@pytest.mark.parametrize("made", [stuck, failed_branch, late, blocked, asked_for_words, sent_back_twice])
def test_the_first_tab_after_opening_reaches_what_is_to_be_done(
    world: World, hand: Callable[[], Hand], made: Callable[[World], Task]
) -> None:
    made(world)
    person = hand()
    opens(person, keys=True)
    person.page.keyboard.press("Tab")
    expect(person.page.locator(":is(.need-verbs, .need-choices, .decision) :focus")).to_have_count(1)


def test_whoever_used_keys_goes_on_at_the_heading_of_what_is_shown(
    world: World, page: Page, sign_in: SignIn
) -> None:
    tasks = [stuck(world), failed_branch(world)]
    sign_in(page, world.reviewer)
    page.goto(reverse("home"), wait_until="networkidle")
    for row in page.locator("#needs-you .need-row").all()[:1]:
        row.press("Enter")
    expect(page.locator("#dossier-title")).to_contain_text(tasks[0].name)
    page.keyboard.press("t")
    expect(page.get_by_role("button", name="Retry")).to_be_focused()
    assert world.status(tasks[0]) == "stuck", "a letter only goes to its verb"
    page.keyboard.press("Enter")
    expect(page.locator("#dossier-title")).to_contain_text(tasks[1].name)
    expect(page.locator("#dossier-title")).to_be_focused()
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Only french runs again: {tasks[1].name}")).to_be_visible()
    expect(page.locator(".task-head h1")).to_be_focused()
    expect(page.locator(".history")).to_contain_text("Only french was run again by hand")


def test_a_branch_is_named_where_it_is_run_again(world: World, page: Page, sign_in: SignIn) -> None:
    task = failed_branch(world)
    sign_in(page, world.reviewer)
    page.goto(at(world, "task", task.name))
    page.keyboard.press("t")
    dialog = page.get_by_role("dialog", name="Run french again")
    expect(dialog).to_contain_text("Only this branch moves; the others stay as they are.")
    expect(dialog).to_contain_text("french starts.")
    dialog.get_by_role("button", name="Move").click()
    expect(page.get_by_text("Only french runs again", exact=True)).to_be_visible()
    expect(page.locator(".task-head h1")).to_be_focused()


def test_an_answer_is_read_in_history_activity_and_timeline(
    world: World, page: Page, sign_in: SignIn
) -> None:
    task = blocked(world)
    sign_in(page, world.reviewer)
    page.goto(at(world, "task", task.name))
    page.keyboard.press("2")
    expect(page.get_by_role("button", name="five years")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Answered", exact=True)).to_be_visible()
    words = f"{world.reviewer} answered: five years"
    expect(page.locator(".history")).to_contain_text(words)
    expect(page.locator("#timeline")).to_contain_text(words)
    page.goto(reverse("activity"))
    expect(page.locator(".feed-row").filter(has_text=words)).to_have_count(1)


def test_letters_are_listed_and_can_be_switched_off(world: World, hand: Callable[[], Hand]) -> None:
    stuck(world)
    person = hand()
    opens(person, keys=True)
    page = person.page
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Go to Retry or Run again")
    page.keyboard.press("Escape")
    page.evaluate("document.documentElement.dataset.letterKeys = 'off'")
    page.keyboard.press("t")
    expect(page.get_by_role("button", name="Retry")).not_to_be_focused()


def test_a_click_is_not_lost_while_the_item_is_fetched(world: World, hand: Callable[[], Hand]) -> None:
    task = stuck(world)
    person = hand()
    opens(person, keys=False)
    page, fetches = person.page, list[Route]()
    page.route(re.compile("fragment=item"), lambda route: fetches.append(route))
    for moves in (1, 2):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('gl:changed'))")
        if moves == 1:
            until(lambda: len(fetches) >= 1, "the fetch of the item", page)
            page.locator(".need").get_by_role("button", name="Retry").click()
    for route in fetches:
        route.continue_()
    expect(page.locator(".task-head")).to_contain_text(task.name)
    assert world.job(task).state == "queued"


@pytest.mark.smoke(1)
@pytest.mark.parametrize("made", [blocked, late, stuck])
def test_an_item_is_readable_on_a_phone(
    world: World, hand: Callable[[], Hand], made: Callable[[World], Task]
) -> None:
    made(world)
    person = hand()
    person.page.set_viewport_size(PHONE)
    opens(person, keys=False)
    expect(person.page.get_by_text("The task so far")).to_be_visible()
    assert person.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert grave(person.page) == []
