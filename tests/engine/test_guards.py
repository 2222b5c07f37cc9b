"""What the database itself refuses, whoever asks (migrations/0002_guards)."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from pipelines import engine
from pipelines.models import Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def refused(statement: str, words: str = "constraint") -> None:
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        connection.cursor().execute(statement)


def ended(world: World) -> Task:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    behind = {"id": "on", "to": "completed", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", behind)], gates=[gate]))
    world.report(task)
    world.vote(task)
    return task


@pytest.mark.parametrize("table", ["event", "decision", "vote"])
def test_the_record_is_append_only(world: World, table: str) -> None:
    ended(world)
    refused(f"UPDATE pipelines_{table} SET id = id", "append-only")
    refused(f"DELETE FROM pipelines_{table}", "append-only")


@pytest.mark.broken
def test_an_audited_purge_may_delete_the_record_but_not_rewrite_it(world: World) -> None:
    ended(world)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL gateline.purge = 'on'")
        refused("UPDATE pipelines_event SET kind = 'other'", "append-only")
        cursor.execute("DELETE FROM pipelines_vote")
        cursor.execute("SET LOCAL gateline.purge = 'off'")
    refused("DELETE FROM pipelines_event", "append-only")


@pytest.mark.parametrize(
    "change",
    [
        "pipelines_task SET status = 'queued', ended_at = NULL",
        "pipelines_task SET reason = 'another'",
        "pipelines_token SET status = 'queued', ended_at = NULL",
        "pipelines_job SET state = 'queued', outcome = NULL, ended_at = NULL",
        "pipelines_job SET outcome = '{}'",
        "pipelines_gatevisit SET word = 'reject'",
        "pipelines_gatevisit SET state = 'open', word = '', decided_at = NULL",
    ],
)
def test_what_has_ended_stays_as_it_ended(world: World, change: str) -> None:
    ended(world)
    refused(f"UPDATE {change}", "stays as it ended")


@pytest.mark.parametrize(
    "change",
    [
        "pipelines_task SET status = 'dreaming'",
        "pipelines_task SET priority = 'urgent'",
        "pipelines_token SET status = 'dreaming'",
        "pipelines_token SET status = 'stuck'",
        "pipelines_token SET status = 'completed'",
        "pipelines_job SET state = 'dreaming'",
        "pipelines_job SET state = 'running'",
        "pipelines_job SET state = 'done'",
        "pipelines_job SET attempt = 0",
        "pipelines_membership SET roles = '{owner}'",
        "pipelines_membership SET roles = '{}'",
    ],
)
def test_states_that_do_not_exist_are_refused(world: World, change: str) -> None:
    world.start(world.line())
    refused(f"UPDATE {change}")


def test_an_ended_task_still_records_a_late_report(world: World) -> None:
    task = world.start(world.line(stations=["build"]))
    report = world.report_of(world.started(task))
    engine.report([report])
    other = engine.Report(report.job_id, 1, report.lease, {"result": "failure"}, by=report.by)
    assert engine.report([other])[0].http == 409
    assert world.kinds(task)[-1] == "job.ignored"
