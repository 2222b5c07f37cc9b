"""The timeline of one task on its page: a row for each run and gate, with who decided and what it cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines import engine
from pipelines.models import Task, User
from pipelines.queries.task_view import TaskView
from pipelines.queries.visit_rows import TaskTimelineView, task_timeline_view
from tests.browser.looking import look
from tests.engine.joining import begun, gate5
from tests.engine.stateful import clock
from tests.engine.test_byhand import evaluated
from tests.factories import World, document, make_world, station
from tests.pages.conftest import As, at, text
from tests.pages.test_timelines import minutes_ago
from tests.pages.test_waiting_for_input import ASKS

pytestmark = pytest.mark.django_db
SignIn = Callable[[Page | BrowserContext, User], None]
LINE = document(
    [
        station("plan", {"id": "planned", "to": "build"}),
        station("build", {"id": "again", "when": {"result": "failure"}, "to": "build"},
                {"id": "built", "to": "ship", "gates": ["look"]}),
        station("ship"),
    ],
    gates=[{"key": "look", "name": "Code review",
            "approval": {"who": [{"role": "reviewer", "count": 2}]}}],
)  # fmt: skip


def cost(dollars: float) -> dict[str, object]:
    return {"result": "success", "facts": {"usage": {"cost_usd": dollars}}}


def timeline_of(task: Task) -> TaskTimelineView:
    task.refresh_from_db()
    return task_timeline_view(TaskView(task, timezone.now()))


def sent_back_once(world: World) -> Task:
    task = world.start(world.line(LINE), title="Rate limiting")
    world.report(task, cost(0.06))
    world.report(task, {"result": "failure", "feedback": "2 tests failed"})
    world.report(task, cost(0.58))
    first, second = world.reviewers(2)
    world.vote(task, by=first)
    world.vote(task, "send_back", by=second, reason="Count by address")
    world.report(task, cost(0.49))
    return task


def test_a_row_for_each_run_and_gate_in_their_order(world: World) -> None:
    task = sent_back_once(world)
    rows = timeline_of(task).rows
    assert [(row.name, row.repeat) for row in rows] == [
        ("plan", ""), ("build", ""), ("build", "run 2"), ("Code review", ""),
        ("build", "run 3"), ("Code review", "round 2"),
    ]  # fmt: skip
    assert [row.spending.amount_text for row in rows] == ["$0.06", "", "$0.58", "", "$0.49", ""]
    assert rows[1].tone == "danger" and rows[1].remarks
    assert [row.seconds is None for row in rows] == [False] * 5 + [True]


def test_a_gate_says_who_decided_and_a_round_what_it_cost(world: World) -> None:
    task = sent_back_once(world)
    timeline = timeline_of(task)
    approved, sent_back = timeline.rows[3].remarks
    assert approved.endswith("approved") and sent_back.endswith("sent it back: Count by address")
    first, last = timeline.rounds
    assert first.ending.startswith("Sent back by ") and first.spending.amount_text == "$0.64"
    assert (last.ending, last.spending.amount_text) == ("", "$0.49")
    assert timeline.rounds[0].until == timeline.rounds[1].since and timeline.rounds[1].until is None


def test_votes_are_marks_on_the_bar_of_their_gate(world: World, signed_in: As) -> None:
    task = sent_back_once(world)
    first, second = timeline_of(task).rows[3], timeline_of(task).rows[5]
    assert [(mark.tone, mark.label) for mark in first.marks] == [
        ("approved", first.remarks[0]),
        ("returned", first.remarks[1]),
    ]
    votes = task.events.filter(kind="gate.voted").order_by("seq")
    assert [mark.at for mark in first.marks] == [vote.at for vote in votes]
    assert list(second.marks) == []
    world.vote(task, "reject", by=User.objects.filter(username__startswith="reviewer")[0], reason="No")
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    marks = re.findall(r'<svg class="gantt-mark gantt-mark-(\w+)" x="([\d.]+)%" y="50%"><title>([^<]*)', page)
    assert [tone for tone, _place, _title in marks] == ["approved", "returned", "rejected"]
    assert "sent it back: Count by address, " in marks[1][2] and "rejected: No, " in marks[2][2]
    places = [float(place) for _tone, place, _title in marks]
    assert places == sorted(places) and places[-1] <= 100


def test_what_closed_without_a_decision_has_no_mark(world: World) -> None:
    task = sent_back_once(world)
    token = world.token(task)
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to="build")
    row = timeline_of(task).rows[5]
    assert row.remarks == ["Code review closed without a decision"] and row.marks == []


def test_an_evaluation_that_a_person_answers_has_a_row_with_the_answer(world: World) -> None:
    task = evaluated(world)
    run, asked = timeline_of(task).rows
    assert (asked.name, asked.seconds, asked.bars[0].tone) == ("build · Is it good?", None, "blocked")
    token = world.token(task)
    engine.answer_blocked_token(
        token.pk, user=world.operator, token_version=token.version, fact="yes", text="I looked."
    )
    rows = timeline_of(task).rows
    assert [row.name for row in rows] == ["build", "build · Is it good?", "ship"]
    assert rows[1].seconds is not None
    [answer] = rows[1].remarks
    assert "answered yes" in answer and "I looked." in answer
    # Its time is no wait of the run before it
    assert [bar.tone for bar in rows[0].bars] == [bar.tone for bar in run.bars]
    assert "blocked" not in [bar.tone for bar in run.bars]


def test_nothing_was_sent_back_then_there_are_no_rounds(world: World) -> None:
    task = world.start(world.line(LINE))
    world.report(task)
    assert timeline_of(task).rounds == []


def test_a_lost_runner_is_another_attempt_in_the_same_row(world: World) -> None:
    task = world.start(world.line(LINE))
    world.started(task)
    world.lose(task)
    world.started(task)
    [row] = timeline_of(task).rows
    assert row.repeat == "attempt 2"


def test_what_asks_waits_in_the_row_of_its_run(world: World) -> None:
    task = world.start(world.line(stations=["plan", "ship"]))
    world.report(task, ASKS)
    [row] = timeline_of(task).rows
    assert [bar.tone for bar in row.bars][-1] == "waiting" and row.until is None


@pytest.mark.django_db(transaction=True)
def test_what_was_stuck_or_blocked_keeps_its_colour_when_it_goes_on(world: World) -> None:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "ok"}}, "to": "completed"}
    policy = {"no_match": "stuck", "on_failure": "stuck"}
    outcomes = ({"result": "success", "eval": "odd"}, {"result": "failure"}, {"result": "blocked"})
    with clock.installed():
        minutes_ago(40)
        task = world.start(world.line(stations=[station("plan", rule)], policy=policy))
        for number, outcome in enumerate(outcomes):
            minutes_ago(38 - 10 * number)
            world.report(task, outcome)
            minutes_ago(32 - 10 * number)
            token = world.token(task)
            engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
    rows = timeline_of(task).rows[:3]
    assert [[bar.tone for bar in row.bars if bar.tone != "queued"] for row in rows] == [
        ["running", "stuck"], ["failed", "stuck"], ["running", "blocked"]
    ]  # fmt: skip
    assert all(bar.until for row in rows for bar in row.bars)


def test_branches_are_rows_that_run_beside_each_other(world: World, signed_in: As) -> None:
    task = begun(world, gate5(world))
    qa, security = world.started(task, "qa"), world.started(task, "security")
    assert qa.started_at and security.started_at
    rows = timeline_of(task).rows
    assert [(row.name, row.is_branch) for row in rows] == [("plan", False), ("qa", True), ("security", True)]
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    assert page.count("in a branch") == 2


def test_the_page_shows_it_without_a_script_and_with_every_hint(world: World, signed_in: As) -> None:
    task = sent_back_once(world)
    client = signed_in(world.viewer)
    for address in (at(world, "task", task.name), at(world, "task", task.name) + "?fragment=live"):
        page = text(client.get(address))
        part = page.partition('id="timeline"')[2].partition("</section>")[0]
        words = re.sub(r"<title>.*?</title>|<[^>]+>", " ", part)
        assert (
            re.search(r"Sent back by \S+", words)
            and "Since then" in words
            and "$0.64" in words
            and "run 3" in words
        )
        assert "sent it back: Count by address" in words
        assert part.count("gantt-row") == 7
    theirs = make_world()
    assert signed_in(theirs.admin).get(at(world, "task", task.name)).status_code == 404


def with_a_past(world: World) -> Task:
    minutes_ago(140)
    task = world.start(world.line(LINE), title="Add rate limiting to sign-in")
    minutes_ago(138)
    world.started(task)
    minutes_ago(130)
    world.report(task, cost(0.06))
    minutes_ago(129)
    world.started(task)
    minutes_ago(118)
    world.report(task, {"result": "failure", "feedback": "2 tests failed"})
    world.started(task)
    minutes_ago(100)
    world.report(task, cost(0.58))
    first, second = world.reviewers(2)
    minutes_ago(90)
    world.vote(task, by=first)
    minutes_ago(70)
    world.vote(task, "send_back", by=second, reason="Count by address, not by account")
    world.started(task)
    minutes_ago(40)
    world.report(task, cost(0.49))
    minutes_ago(15)
    world.vote(task, by=first)
    return task


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_running_bar_grows_and_a_hint_brings_the_next_row(
    new_context: Callable[..., BrowserContext], sign_in: SignIn, world: World, tmp_path: Path
) -> None:
    with clock.installed():
        task = with_a_past(world)
    page = new_context().new_page()
    sign_in(page, world.operator)
    page.goto(at(world, "task", task.name))
    timeline = page.locator("#timeline")
    expect(timeline.locator("li.gantt-row")).to_have_count(6)
    bar = timeline.locator("[data-grows]")
    before = bar.get_attribute("width") or ""
    expect(bar).not_to_have_attribute("width", before)
    look(page, tmp_path, "task")
    _, second = User.objects.filter(username__startswith="reviewer").order_by("pk")
    world.vote(task, by=second)
    expect(timeline.get_by_role("link", name="ship")).to_be_visible()
    timeline.get_by_role("link", name="plan").press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.django_db(transaction=True)
def test_a_branch_that_waits_for_a_person_is_not_stuck_with_the_other(world: World) -> None:
    both = station("plan", {"id": "both", "to": ["german", "french"]})
    asked = station(
        "german", {"id": "on", "when": {"eval": {"op": "equals", "value": "ok"}}, "to": "completed"}
    )
    with clock.installed():
        minutes_ago(20)
        version = world.line(stations=[both, asked, station("french")], policy={"on_failure": "stuck"})
        task = world.start(version)
        world.report(task)
        minutes_ago(10)
        world.report(task, ASKS, station="german")
        world.report(task, {"result": "failure"}, station="french")
        minutes_ago(5)
        token = world.token(task, "german")
        engine.answer_blocked_token(
            token.pk, user=world.operator, token_version=token.version, text="As before"
        )
    german, french, again = timeline_of(task).rows[1:]
    assert [[bar.tone for bar in row.bars if bar.tone != "queued"] for row in (german, french)] == [
        ["running", "waiting"], ["failed", "stuck"]
    ]  # fmt: skip
    assert again.remarks == [f"{world.operator} answered: As before"]


def test_a_run_that_somebody_stopped_says_so(world: World, signed_in: As) -> None:
    task = world.start(world.line(LINE))
    world.started(task)
    token = world.token(task)
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
    stopped, again = timeline_of(task).rows
    assert (list(stopped.remarks), stopped.tone, list(again.remarks)) == (["stopped"], "", [])
    page = text(signed_in(world.viewer).get(at(world, "line-live", "line"), {"view": "timeline"}))
    assert "plan, stopped: running" in page
