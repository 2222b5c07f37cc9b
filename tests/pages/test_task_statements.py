"""Statements of the page of a task, of a drawer on it and of Insights: as many for 1,000 rows as for 10."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pipelines.models import Decision, Event, GateVisit, Job, Task, Token
from tests.factories import World, station
from tests.pages.conftest import As, at

# The rows repeat one another: their histories are none that the engine wrote.
pytestmark = [pytest.mark.django_db, pytest.mark.broken]
Row = TypeVar("Row", Job, Decision, GateVisit, Event, Task, Token)
GATED = {"id": "on", "to": "ship", "gates": ["review"]}


def statements(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(address).status_code == 200
    return len(found)


def grow(task: Task, rows: int) -> None:
    """More visits of its first station: each a run, its decision, its events and a gate that sent it back."""
    task.refresh_from_db()
    [job], [decision], [visit] = (
        list(model.objects.filter(task=task).order_by("pk")[:1]) for model in (Job, Decision, GateVisit)
    )
    events = list(Event.objects.filter(task=task, decision=decision))
    first, seq = Job.objects.filter(task=task).count() + 1, count(task.seq + 1)
    decisions, visits, told = [], [], []
    jobs = Job.objects.bulk_create(_like(job, visit=n) for n in range(first, first + rows))
    for n, each in enumerate(jobs, first):
        at = decision.at + timedelta(seconds=n)
        decided = _like(decision, job_id=each.pk, cause=f"report:{each.pk}.1", at=at)
        decisions.append(decided)
        visits.append(_like(visit, job=each, asked_by=decided, state="closed", opened_at=at, decided_at=at))
        told += [_like(old, seq=next(seq), decision=decided, at=at) for old in events]
    Decision.objects.bulk_create(decisions)
    GateVisit.objects.bulk_create(visits)
    Event.objects.bulk_create(told)
    task.seq = next(seq) - 1
    task.save()


def _like(row: Row, **other: Any) -> Row:
    """Another row of the same, with a key of its own."""
    fields = {field.attname: field.name for field in row._meta.concrete_fields if not field.primary_key}
    kept = {held: getattr(row, held) for held, name in fields.items() if not {held, name} & {*other}}
    return type(row)(**kept, **other)


MORE = pytest.mark.parametrize("more", [30, pytest.param(990, marks=pytest.mark.wide)])


@MORE
def test_a_task_and_its_drawer_ask_as_much_however_many_runs(world: World, signed_in: As, more: int) -> None:
    line = world.line(stations=[station("code", GATED, name="Code"), "ship"], gates=[{"key": "review"}])
    task = world.start(line)
    world.report(task, {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.5, "price": "reported"}}})
    client, address = signed_in(world.admin), at(world, "task", task.name)
    asks = (
        "",
        "?fragment=live",
        "?tab=outputs",
        "?tab=events",
        "?station=code",
        "?fragment=station&station=code",
    )
    # The page with its drawer is most of it.
    asks = asks if more > 100 else ("?station=code", "?fragment=station&station=code")
    client.get(address)
    found = []
    for rows in (10, more):
        grow(task, rows)
        found.append({ask: statements(client, address + ask) for ask in asks})
    assert found[0] == found[1]
    assert max(found[0].values()) < 60


@MORE
def test_insights_ask_as_much_however_many_tasks(world: World, signed_in: As, more: int) -> None:
    line, client = world.line(stations=["plan"]), signed_in(world.admin)
    task = world.start(line)
    world.report(task, {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.5, "price": "reported"}}})
    addresses = (at(world, "insights"), at(world, "line-insights", line.line.key))
    for address in addresses:
        client.get(address)
    [job] = Job.objects.filter(task=task)
    found = []
    for first, rows in ((10, 10), (1_000, more)):
        tasks = Task.objects.bulk_create(_like(task, number=first + n) for n in range(rows))
        Job.objects.bulk_create(_like(job, task_id=each.pk, token_id=job.token_id) for each in tasks)
        found.append([statements(client, address) for address in addresses])
    assert found[0] == found[1]


@pytest.mark.wide
def test_a_task_asks_as_much_however_many_of_its_gates_are_open(world: World, signed_in: As) -> None:
    task = world.start(world.line(stations=[station("code", GATED), "ship"], gates=[{"key": "review"}]))
    world.report(task, {"exit_code": 0})
    client, address = signed_in(world.admin), at(world, "task", task.name)
    [token], [job], [visit] = (list(model.objects.filter(task=task)) for model in (Token, Job, GateVisit))
    client.get(address)
    found = []
    for first, rows in ((2, 2), (10, 20)):
        tokens = Token.objects.bulk_create(_like(token) for _ in range(rows))
        jobs = Job.objects.bulk_create(
            _like(job, token=each, visit=n) for n, each in enumerate(tokens, first)
        )
        GateVisit.objects.bulk_create(_like(visit, token=each.token, job=each) for each in jobs)
        found.append(statements(client, address))
    assert found[0] == found[1]
