"""What reviews cost people: recorded of nobody in particular, by the clock of the database; shown by gate and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from pipelines.models import Delivery, GateVisit, Job, Line, Repository, Task, User
from pipelines.queries import versions
from reviews.insights import gates, sampling
from reviews.insights.gates import Decisions
from reviews.insights.selection import InsightsSelection, Period
from reviews.models import Remark, Sitting
from tests.factories import World, document, station
from tests.pages.conftest import at
from tests.pages.test_task_statements import _like, statements
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


def waiting(world: World) -> GateVisit:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    return world.visit(task)


def decisions(world: World) -> Decisions:
    """Return the figures of the only gate that was decided today."""
    today = timezone.localdate()
    lines = list(Line.objects.filter(project=world.project).values_list("pk", flat=True))
    selection = InsightsSelection(lines, Period(today, today), timezone.now())
    [figures] = gates.decision_figures(selection).by_part.values()
    return figures


def attend(client: Client, visit: GateVisit, sitting: str = "") -> str:
    answer = client.post(reverse("gate-attend", args=[visit.pk]), {"sitting": sitting})
    found = re.search(r'value="([^"]+)"', answer.content.decode())
    return found.group(1) if found else ""


def earlier(sitting: str, seconds: float) -> None:
    """As if the page had spoken so long ago."""
    Sitting.objects.filter(pk=sitting).update(last_at=F("last_at") - timedelta(seconds=seconds))


def test_time_counts_between_two_words_of_a_page_and_a_silence_does_not(world: World) -> None:
    visit, client = waiting(world), as_(world.reviewer)
    sitting = attend(client, visit)
    earlier(sitting, 20)
    assert attend(client, visit, sitting) == sitting
    assert 20 <= Sitting.objects.get().seconds < 25
    earlier(sitting, 400)
    attend(client, visit, sitting)
    earlier(sitting, 10)
    attend(client, visit, sitting)
    assert 30 <= Sitting.objects.get().seconds < 35
    # A repeated word adds what has passed, which is nothing.
    for _ in range(5):
        attend(client, visit, sitting)
    assert Sitting.objects.get().seconds < 36


def test_nothing_says_who_it_was(world: World) -> None:
    attend(as_(world.reviewer), waiting(world))
    assert {field.name for field in Sitting._meta.get_fields()} == {"id", "visit", "seconds", "last_at"}


def test_only_who_may_decide_is_counted_and_only_while_it_is_open(world: World) -> None:
    visit, client = waiting(world), as_(world.reviewer)
    assert attend(as_(world.operator), visit) == ""
    sitting = attend(client, visit)
    assert attend(client, visit, "no id") not in ("", sitting)
    world.vote(visit.task, "approve")
    earlier(sitting, 20)
    assert attend(client, visit, sitting) == ""
    assert Sitting.objects.count() == 2 and not Sitting.objects.filter(seconds__gt=5).exists()


def test_the_decision_counts_the_time_until_it(world: World) -> None:
    visit, client = waiting(world), as_(world.reviewer)
    sitting = attend(client, visit)
    earlier(sitting, 30)
    said = {
        "word": "approve",
        "token_version": visit.token_version,
        "evidence_digest": visit.evidence_digest,
        "sitting": sitting,
    }
    assert client.post(reverse("gate-decide", args=[visit.pk]), said).status_code == 302
    assert 30 <= Sitting.objects.get().seconds < 35
    gate = decisions(world)
    assert (gate.decided, gate.approved, gate.timed, gate.quick, gate.sent_back) == (1, 1, 1, 0, 0)
    assert gate.minutes is not None and 0.5 <= gate.minutes < 0.6


def test_figures_by_gate_and_line(world: World) -> None:
    first = waiting(world)
    Sitting.objects.create(visit=first, seconds=90, last_at=timezone.now())
    world.vote(first.task, "send_back", reason="Again")
    world.report(first.task, {"result": "success", "summary": "Better"})
    second = world.visit(first.task)
    Sitting.objects.create(visit=second, seconds=4, last_at=timezone.now())
    world.vote(first.task, "approve")
    world.report(first.task)
    gate = decisions(world)
    assert (gate.decided, gate.approved, gate.sent_back, gate.timed, gate.quick) == (2, 1, 1, 1, 1)
    assert gate.minutes == 94 / 60
    page = as_(world.viewer).get(at(world, "insights")).content.decode()
    assert "Release review" in page and "1.6 min" in page and "100%" in page


def _landed(visit: GateVisit, base: str, tree: str, commit: str, repository: Repository) -> None:
    now = timezone.now()
    Delivery.objects.create(
        job=visit.job, task=visit.task, repository=repository, repository_name="app", visit=visit, to="merge",
        branch="main", base=base, tree=tree, commit=commit, cleared_at=now, landed_at=now,
    )  # fmt: skip


@pytest.mark.broken
def test_a_change_after_which_the_branch_came_back_was_reverted(world: World) -> None:
    repository = Repository.objects.create(
        project=world.project, name="app", address="/no", connected_at=timezone.now()
    )
    visits = []
    for _ in range(4):
        visits.append(waiting(world))
        world.vote(visits[-1].task, "approve")
    trees = ["one", "two", "one", "three"]
    for number, (visit, tree) in enumerate(zip(visits, trees, strict=True)):
        _landed(visit, f"c{number}", tree, f"c{number + 1}", repository)
    assert decisions(world).reverted == 1
    Delivery.objects.filter(tree="one").exclude(base="c0").update(
        landed_at=timezone.now() + timedelta(days=31)
    )
    assert decisions(world).reverted == 0


def approvals(visit: GateVisit, number: int) -> None:
    """More decided visits like this one, each of a task of its own, the last just now, the first 89 days ago."""
    first = 10 + Task.objects.count()
    tasks = Task.objects.bulk_create(_like(visit.task, number=first + n) for n in range(number))
    jobs = Job.objects.bulk_create(
        _like(visit.job, task_id=each.pk, token_id=visit.token_id) for each in tasks
    )
    assert visit.decided_at
    GateVisit.objects.bulk_create(
        _like(visit, job=job, task_id=job.task_id, opened_at=at, decided_at=at)
        for n, job in enumerate(jobs)
        for at in [visit.decided_at - timedelta(days=89 * n / number)]
    )


@pytest.mark.broken
def test_a_gate_that_was_only_ever_approved_is_offered_with_what_a_sample_would_have_seen(
    world: World,
) -> None:
    visit = waiting(world)
    world.vote(visit.task, "approve")
    visit.refresh_from_db()
    approvals(visit, 198)
    [record] = sampling.gate_records(world.project)
    assert (record.decisions, record.unremarked, record.in_a_row, record.rates) == (199, 199, 199, ())
    assert record.answer == "Not yet: 199 of 200 approvals in a row without a comment."
    approvals(visit, 1)
    [offer] = sampling.gate_records(world.project)
    answer = sampling.OFFERED.format(5)
    assert (offer.in_a_row, offer.name, offer.answer) == (200, "Release review", answer)
    # The largest N that lets at most one bad change pass in 30 days, by the bound, and asks about ten
    assert (offer.evidence.bad, round(offer.evidence.pace), offer.share_text) == (0, 69, "1.5%")
    assert [round(rate.bound, 1) for rate in offer.rates] == [0.5, 0.8, 0.9, 1.0]
    assert [bool(rate.objection) for rate in offer.rates] == [False, False, True, True]
    rates = {rate.one_in: rate for rate in offer.rates}
    assert all(rate.asked + rate.unseen == 200 for rate in offer.rates)
    assert 60 < rates[2].asked < 140 and 2 < rates[10].asked < 45 and rates[2].asked > rates[20].asked
    page = as_(world.designer).get(at(world, "insights")).content.decode()
    assert "ask about 1 in 5" in page and f">{rates[10].unseen}<" in page
    assert "May we ask less?" in page and answer in page
    assert "Propose 1 in 2" in page and "Propose 1 in 5" in page and "Propose 1 in 10" not in page
    Remark.objects.create(
        visit=visit, user=world.reviewer, path="a.py", side="new", line=1, content="0" * 64, text="Why?",
        at=timezone.now(),
    )  # fmt: skip
    [record] = sampling.gate_records(world.project)
    assert (record.decisions, record.unremarked, record.rates) == (200, 199, ())


def test_a_gate_that_is_never_offered_says_why(world: World) -> None:
    gates = [
        {"key": "sampled", "sample": {"one_in": 5}},
        {"key": "checked", "requires_approval": False},
        {"key": "merging"},
        {"key": "asking"},
    ]
    merge = station("merge", kind="deliver", work={"to": "merge", "gate": "merging"})
    draft = document(
        [station("build", {"id": "on", "to": "merge", "gates": ["merging"]}), merge], gates=gates
    )
    draft["workspace"] = {"git": {"repository": "input.repository"}}
    draft["inputs"] = [{"key": "repository", "type": "repository", "label": "Repository", "required": True}]
    version = world.line(draft)
    assert [
        sampling.reason_not_to_sample(version.line, gate) for gate in versions.parsed_version(version).gates
    ] == [
        "Asks about 1 in 5 already.",
        "Asks people only where a check does not pass.",
        "No: what it approves is delivered, so it is asked every time.",
        "",
    ]


@pytest.mark.wide
@pytest.mark.broken
@pytest.mark.parametrize("more", [30, pytest.param(990, marks=pytest.mark.wide)])
def test_the_page_asks_as_much_however_many_reviews(world: World, more: int) -> None:
    visit = waiting(world)
    world.vote(visit.task, "approve")
    visit.refresh_from_db()
    client, address = as_(world.admin), at(world, "insights")
    approvals(visit, 200)
    client.get(address)
    before = statements(client, address)
    approvals(visit, more)
    assert statements(client, address) == before


@pytest.mark.wide
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_an_open_review_is_counted_and_the_tab_says_that_it_waits(
    page: Page, sign_in: Callable[[Page | BrowserContext, User], None], world: World
) -> None:
    sign_in(page, world.reviewer)
    visit = waiting(world)
    page.clock.install()
    page.goto(reverse("gate-visit", args=[visit.pk]))
    expect(page.locator("input[name=sitting]")).to_be_attached()
    assert page.title().startswith("(1) ")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("favicon-dot"))
    page.mouse.move(40, 40)
    with page.expect_request("**/attend/") as asked:
        page.clock.run_for(20_000)
    assert f"sitting={Sitting.objects.get().pk}" in str(asked.value.post_data)
    told: list[Any] = []
    page.on("request", lambda each: told.append(each.url) if "/attend/" in each.url else None)
    page.clock.run_for(600_000)
    page.mouse.move(60, 60)
    with page.expect_request("**/attend/"):
        page.clock.run_for(20_000)
    # Without the two minutes there would have been thirty.
    assert len(told) <= 7
