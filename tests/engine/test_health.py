"""The figures of health and their thresholds, all strict (AEEF E28)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.lines.health import notify_of_new_health_breaches
from pipelines.models import HealthBreach, Task
from pipelines.queries.health import health_figures
from pipelines.queries.station_times import project_station_times
from pipelines.routing.analysis.health import (
    CYCLE,
    DEADLOCKS,
    ESCALATED,
    GATE,
    QUEUE,
    THRESHOLDS,
    Figure,
    cycle_time_figure,
)
from tests.factories import World, station
from tests.reviews.test_notifications import told
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("key", [QUEUE, CYCLE, DEADLOCKS, ESCALATED, GATE])
def test_E28_at_the_threshold_all_is_well_and_above_it_something_is_to_be_done(key: str) -> None:
    at = THRESHOLDS[key]
    assert not Figure(key, at).is_alert and not Figure(key, at).todo
    assert Figure(key, at + 0.001).is_alert and Figure(key, at + 0.001).todo
    assert not Figure(key, None).is_alert


def test_E28_the_thresholds_are_those_of_the_law() -> None:
    assert THRESHOLDS == {QUEUE: 50, CYCLE: 2, DEADLOCKS: 1, ESCALATED: 0.10, GATE: 0.30}


def test_E28_without_a_baseline_nothing_is_said_of_the_cycle_time() -> None:
    assert cycle_time_figure(10.0, None).value is None
    assert (cycle_time_figure(21.0, 10.0).value, cycle_time_figure(21.0, 10.0).is_alert) == (2.1, True)


@pytest.mark.wide
def test_E28_what_is_counted(world: World) -> None:
    on = {"id": "on", "to": "ship", "gates": ["review"]}
    version = world.line(stations=[station("build", on), "ship"], gates=[{"key": "review"}])
    waits, refused, queued = (world.start(version) for _ in range(3))
    for task in (waits, refused):
        world.report(task)
    world.vote(waits)
    world.vote(refused, "reject", reason="No.")
    engine.escalate(queued.pk, user=world.operator, trigger="architecture", reason="Big.")
    now = timezone.now()
    found = {figure.key: figure for figure in health_figures(world.project, now)}
    assert found[QUEUE].value == Task.objects.filter(status="queued").count() == 2
    assert found[ESCALATED].value == pytest.approx(1 / 3)
    assert (found[GATE].value, found[GATE].of, found[GATE].is_alert) == (0.5, "line › review", True)
    assert (found[DEADLOCKS].value, found[CYCLE].value) == (0, None)
    assert health_figures(world.project, now, "other")[0].value == 0
    assert health_figures(world.project, now + timedelta(days=60))[3].value is None


def test_E28_the_development_manager_is_told_once_for_each_breach(world: World) -> None:
    version = world.line(stations=["build"])
    task = world.start(version)
    engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Big.")
    now = timezone.now()
    todo = "Review the trust levels and the abilities of the agents."
    for minutes in (0, 60):
        notify_of_new_health_breaches(now + timedelta(minutes=minutes))
    assert told(world.admin, "health") == [f"Tasks that were escalated: 100%, more than 10%. {todo}"], (
        "no group of managers: the administrators, once"
    )
    assert told(world.viewer, "health") == []

    for _number in range(9):
        world.start(version)
    notify_of_new_health_breaches(now + timedelta(hours=2))
    assert not HealthBreach.objects.exists(), "1 of 10 is at the limit, not over it"
    manager = world.operator
    world.group("development-manager", manager)
    engine.escalate(Task.objects.latest("pk").pk, user=world.operator, trigger="architecture", reason="Big.")
    notify_of_new_health_breaches(now + timedelta(hours=3))
    assert [text[:34] for text in told(manager, "health")] == ["Tasks that were escalated: 20%, mo"]
    assert len(told(world.admin, "health")) == 1


@pytest.mark.wide
def test_E28_the_page_and_the_api_say_what_to_do(world: World, client: Client) -> None:
    task = world.start(world.line(stations=["build"]))
    engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Big.")
    keys = [world.project.owner.key, world.project.key]
    page = as_(world.viewer).get(reverse("insights", args=keys)).content.decode()
    assert "Review the trust levels" in page
    _token, secret = world.token_of(world.viewer, "read")
    told = client.get(
        f"/api/owners/{keys[0]}/projects/{keys[1]}/health", headers={"Authorization": f"Bearer {secret}"}
    ).json()
    assert {each["key"] for each in told if each["alert"]} == {"escalation_rate"}


def test_insights_of_a_project_tell_how_long_its_stations_take(world: World) -> None:
    on = {"id": "on", "to": "ship", "gates": ["review"]}
    build = station("build", on, name="Build it")
    task = world.start(world.line(stations=[build, "ship"], gates=[{"key": "review", "name": "Last look"}]))
    world.report(task)
    world.vote(task)
    world.start(world.line(key="other", stations=["build"]))
    [times] = project_station_times(world.project, timezone.now() - timedelta(days=1))
    assert (times.line, times.key, times.name) == ("line", "build", "Build it")
    assert [each.count for each in (times.waiting, times.working, times.gates) if each] == [1, 1, 1]
    assert project_station_times(world.project, timezone.now()) == []
    page = as_(world.viewer).get(reverse("insights", args=[world.project.owner.key, world.project.key]))
    assert re.search(r"Where time goes.*Build it.*Line", page.content.decode(), re.DOTALL)
    assert f"Sent back or rejected at Last look ({task.line.name})" in page.content.decode()
