"""Band of Insights: what a period cost and what came of it, each figure with the list of its tasks."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from pipelines.models import Delivery, Line, Task
from reviews.insights.band import band_of_period
from reviews.insights.figures import Insights
from reviews.insights.sample_size import GateEvidence
from reviews.insights.selection import Period
from tests.factories import World
from tests.pages.conftest import As, at, text
from tests.pages.insights_data import history_rewritten, seed
from tests.pages.test_task_statements import statements

pytestmark = [pytest.mark.django_db, pytest.mark.broken]


def shown(world: World, period: Period | None = None) -> Insights:
    lines, today = list(Line.objects.filter(project=world.project)), timezone.localdate()
    return Insights(
        world.project, lines, period or Period(today - timedelta(days=89), today, 90), None, timezone.now()
    )


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_the_band_says_what_was_spent_for_what_and_each_figure_leads_to_its_tasks(
    world: World, signed_in: As
) -> None:
    seed(world)
    client, address = signed_in(world.viewer), at(world, "insights")
    page, band = text(client.get(f"{address}?days=90")), band_of_period(shown(world))
    accepted = shown(world).changes.total.accepted
    assert f"{band.cost} of agent cost" in words(page) and f"for {accepted} accepted changes" in words(page)
    minutes = words(band.minutes)
    assert f"{minutes} of people’s time" in words(page)
    assert "1 was reverted so far; 4 are not 30 days old yet." in words(page)
    links = re.findall(r'href="([?]days=90&amp;tasks=(\w+))"', page)
    assert [name for _query, name in links] == ["accepted", "cost", "minutes", "reverted", "slowest"]
    for query, name in links:
        listed = words(text(client.get(address + query.replace("&amp;", "&"))))
        number = re.search(r"All (\d+)", listed)
        assert number
        if name in ("accepted", "slowest"):
            assert int(number[1]) == accepted
        if name == "cost":
            assert f"All {number[1]} {band.cost}" in listed
        if name == "minutes":
            assert f"{minutes} Tasks whose reviews ended" in listed
    assert client.get(f"{address}?tasks=people").status_code == 404


def test_a_reverted_change_names_the_task_that_took_it_back(world: World, signed_in: As) -> None:
    seed(world)
    done, undone = [delivery.task for delivery in Delivery.objects.order_by("base")[2:4]]
    for address in (at(world, "insights"), at(world, "line-insights", done.line.key)):
        listed = words(text(signed_in(world.viewer).get(f"{address}?days=90&tasks=reverted")))
        assert f"{done.name} {done.title} Reverted on" in listed and f"by {undone.name}" in listed
        assert "All 1 " in listed


def test_the_share_of_reverts_is_of_changes_that_are_old_enough(world: World) -> None:
    seed(world)
    assert shown(world).changes.total.reverted_share is None
    assert band_of_period(shown(world)).tiles[3].value == "1 so far"
    # All but the newest of the four landed long ago
    with history_rewritten():
        for number, delivery in enumerate(Delivery.objects.order_by("base")[:3]):
            landed_at = timezone.now() - timedelta(days=31, hours=-number)
            Delivery.objects.filter(pk=delivery.pk).update(landed_at=landed_at)
        Delivery.objects.filter(base="c3").update(landed_at=timezone.now() - timedelta(days=29))
    total, tile = shown(world).changes.total, band_of_period(shown(world)).tiles[3]
    assert (total.delivered, total.old, total.old_reverted) == (4, 3, 1)
    assert (tile.value, tile.note) == ("1 · 33%", "1 of 3; 1 not 30 days old yet")


def test_where_nothing_landed_no_revert_is_claimed(world: World) -> None:
    seed(world, tasks=6, days=5)
    Delivery.objects.all().delete()
    band = band_of_period(shown(world))
    assert band.reverted == "" and band.tiles[3].value == "–"
    assert band.tiles[3].note == "No change landed on a branch, so no revert can be known."


def test_first_pass_approval_stands_for_each_gate_and_each_agent_alone(world: World, signed_in: As) -> None:
    seed(world)
    rows = shown(world).first_pass_sheet().rows
    assert {(row.label, row.note) for row in rows} == {("Code review", "Release"), ("Code review", "Fixes")}
    assert {row.values[0] for row in rows} == {
        "All", "Build the change · Claude Code", "Build the change · Codex",
    }  # fmt: skip
    assert shown(world).first_pass_sheet().total is None
    page = text(signed_in(world.viewer).get(at(world, "insights")))
    # In no other table or tile: one average over unlike gates says nothing
    assert page.count("First-pass approval") - page.count("First-pass approval by gate") <= 1


def test_days_are_those_of_the_project_whoever_reads(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=["plan"]))
    world.report(task)
    # The first minutes of May in Auckland are still April in UTC
    with history_rewritten():
        ended_at = datetime(2026, 4, 30, 12, 30, tzinfo=UTC)
        Task.objects.filter(pk=task.pk).update(created_at=ended_at - timedelta(hours=1), ended_at=ended_at)
    world.viewer.time_zone = "America/Lima"
    world.viewer.save()
    client, address = signed_in(world.viewer), at(world, "insights")
    may, april = "?since=2026-05-01&until=2026-05-31", "?since=2026-04-01&until=2026-04-30"
    assert "for 1 accepted change" in words(text(client.get(address + april)))
    world.project.time_zone = "Pacific/Auckland"
    world.project.save()
    page = words(text(client.get(address + may)))
    assert "for 1 accepted change" in page and "Pacific/Auckland · against April 2026" in page
    assert "1 May 2026" in words(text(client.get(f"{address}{may}&tasks=accepted")))
    assert "Nothing ended in this period" in words(text(client.get(address + april)))


def test_a_month_is_compared_with_the_month_before(world: World) -> None:
    march = Period(date(2026, 3, 1), date(2026, 3, 31))
    assert march.previous_period == Period(date(2026, 2, 1), date(2026, 2, 28))
    assert march.before_text == "February 2026"
    # A number of days stays one, whatever days it falls on
    days = Period(date(2026, 4, 1), date(2026, 4, 30), 30)
    assert days.previous_period.since == date(2026, 3, 2) and days.before_text == "the 30 days before"


@pytest.mark.parametrize(
    ("decisions", "bad", "pace", "recommended"),
    [
        (200, 0, 67, 5),
        (600, 0, 200, 20),
        (300, 0, 130, 2),
        (300, 1, 100, 2),
        (300, 2, 100, None),
        (9, 0, 3, None),
    ],
)
def test_the_smallest_sample_within_both_limits_is_recommended(
    decisions: int, bad: int, pace: float, recommended: int | None
) -> None:
    assert GateEvidence(decisions, bad, pace).recommended == recommended


def test_a_record_too_bad_to_compute_recommends_nothing(world: World) -> None:
    evidence = GateEvidence(1_000, 51, 300)
    assert evidence.highest_share == 1.0 and evidence.recommended is None


def test_what_does_not_follow_the_period_stands_apart(world: World, signed_in: As) -> None:
    seed(world, tasks=6, days=5)
    page = text(signed_in(world.viewer).get(at(world, "insights")))
    before, after = page.split("Whatever the period")
    for key in ("throughput", "lead-time", "cost", "approval", "time", "by-line", "gates", "agents"):
        assert f'id="{key}"' in before
    for key in ("health", "months", "ask-less", "trust"):
        assert f'id="{key}"' in after


@pytest.mark.wide
@pytest.mark.parametrize("name", ["cost", "reverted"])
def test_a_list_asks_as_much_however_many_tasks(world: World, signed_in: As, name: str) -> None:
    seed(world, tasks=8, days=5)
    client, address = signed_in(world.viewer), f"{at(world, 'insights')}?days=90&tasks={name}"
    client.get(address)
    before = statements(client, address)
    with history_rewritten():
        tasks = list(Task.objects.filter(project=world.project, status="completed"))
        for number, task in enumerate(tasks * 10):
            fields = {field.attname: getattr(task, field.attname) for field in Task._meta.concrete_fields}
            Task.objects.create(**{**fields, "id": None, "number": 1_000 + number})
    assert statements(client, address) == before
