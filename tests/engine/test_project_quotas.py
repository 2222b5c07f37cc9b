"""Quotas of a project: what is used up keeps each start from coming about, with the place and the remedy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from pipelines import engine
from pipelines.engine.commands.project_quotas import QuotaReached
from pipelines.errors import Forbidden, Invalid
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import AdministrativeAct, LineVersion, Project, Task, Trigger
from pipelines.people import projects
from pipelines.work.scheduler import timers
from tests.factories import World, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]


def version_of(world: World) -> LineVersion:
    return world.line(stations=[station("work", {"id": "on", "to": "completed"})])


def quotas(world: World, **most: Any) -> None:
    projects.change_quotas(world.project, most, by=world.admin)


def paid(cost: str) -> dict[str, Any]:
    return {"result": "success", "facts": {"usage": {"cost_usd": float(cost), "tokens_in": 1}}}


@pytest.mark.parametrize(
    ("quota", "words"), [("day_tasks", "2 of 2 tasks started today"), ("month_tasks", "this month")]
)
def test_so_many_tasks_start_and_one_more_is_refused(world: World, quota: str, words: str) -> None:
    quotas(world, **{quota: 2})
    version = version_of(world)
    for _ in range(2):
        world.start(version)
    with pytest.raises(QuotaReached) as refused:
        world.start(version)
    assert words in refused.value.detail and "under Settings › General" in refused.value.detail
    assert Task.objects.count() == 2
    quotas(world, **{quota: 3})
    world.start(LineVersion.objects.get(pk=version.pk))


def test_tasks_of_before_do_not_count(world: World) -> None:
    quotas(world, day_tasks=1)
    task = world.start(version_of(world))
    Task.objects.filter(pk=task.pk).update(created_at=timezone.now() - timedelta(days=1))
    world.start(task.pinned)


@pytest.mark.parametrize("quota", ["day_cost_usd", "month_cost_usd"])
def test_money_that_is_used_up_refuses_the_next_start(world: World, quota: str) -> None:
    Project.objects.filter(pk=world.project.pk).update(**{quota: Decimal("2.00")})
    version = LineVersion.objects.get(pk=version_of(world).pk)
    world.report(world.start(version), paid("1.50"))
    world.report(world.start(version), paid("0.50"))
    with pytest.raises(QuotaReached, match=r"\$2\.00 of \$2\.00 cost"):
        world.start(version)


def test_a_limit_of_nothing_lets_work_start_that_costs_nothing(world: World) -> None:
    quotas(world, day_cost_usd=Decimal(0))
    world.start(version_of(world))
    quotas(world, day_tasks=0)
    with pytest.raises(QuotaReached):
        world.start(version_of(world))


def test_a_retry_counts_too(world: World) -> None:
    version = version_of(world)
    task = world.start(version)
    world.report(task)
    quotas(world, day_tasks=1)
    with pytest.raises(QuotaReached):
        engine.start_retry_task(task.pk, station="work", actor=engine.Actor.person(world.operator))


def test_a_trigger_fails_and_says_which_quota(world: World) -> None:
    trigger = triggers.add_trigger(
        version_of(world).line, "schedule", TriggerRequest({"cron": "0 2 * * *"}), by=world.operator
    )
    quotas(world, day_tasks=0)
    moment = timezone.now()
    Trigger.objects.update(next_at=moment)
    assert timers.run_due_timers_and_triggers(now=moment + timedelta(seconds=1)) == {"failed": 1}
    detail = trigger.deliveries.get().detail
    assert "0 of 0 tasks started today" in detail and "Edit the trigger" not in detail


@pytest.mark.django_db(transaction=True)
def test_of_starts_at_once_no_more_than_the_quota_come_about(world: World) -> None:
    quotas(world, day_tasks=3)
    version = version_of(world)

    def start() -> bool:
        try:
            world.start(version)
        except QuotaReached:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(future.result() for future in [threads.submit(start) for _ in range(8)]) == 3


@pytest.mark.parametrize(
    ("quota", "most"),
    [
        ("day_tasks", -1),
        ("month_tasks", 10**9),
        ("day_cost_usd", Decimal(-1)),
        ("day_cost_usd", Decimal("NaN")),
    ],
)
def test_a_quota_that_means_nothing_is_refused(world: World, quota: str, most: Any) -> None:
    with pytest.raises(Invalid) as refused:
        quotas(world, **{quota: most})
    assert refused.value.path == quota


def test_who_may_not_change_settings_changes_none_and_each_change_is_recorded(world: World) -> None:
    with pytest.raises(Forbidden):
        projects.change_quotas(world.project, {"day_tasks": 1}, by=world.designer)
    for _ in range(2):
        quotas(world, day_tasks=5, day_cost_usd=Decimal("1.5"))
    act = AdministrativeAct.objects.get(kind="project.quotas")
    assert act.data["after"] == {"day_tasks": "5", "day_cost_usd": "1.50"}
