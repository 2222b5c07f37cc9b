"""How long the main pages take where very much has been asked: p50 and p95 of each tab of the inbox, the number beside
Inbox, a review, the board and the lists; the processor time that Python took of it; their statements, and whether a
plan reads a table that grows from end to end.

    python -m bench.inbox [--reviews 100000] [--rounds 40]

One task is started and asked about by the engine; its rows are multiplied by COPY, half of them open, half decided. The
server is one of its own, in a temporary folder."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from bench.rig import database, keep

GROWS = ("reviews_askedplace", "pipelines_gatevisit", "pipelines_vote", "pipelines_task", "pipelines_token",
         "pipelines_job", "pipelines_decision")  # fmt: skip
LINE = ("release",)
OF_LINE = (("a board", "line-live", LINE), ("a line", "line", LINE), ("its tasks", "line-tasks", LINE),
           ("Insights", "project-health", ()))  # fmt: skip
PROBE = "EXPLAIN (FORMAT JSON) "


def multiply(world: Any, count: int) -> None:
    """Copy the rows of the two model tasks: of each pair one waits for its review and one has been approved."""
    from django.db import connection  # noqa: PLC0415  # after `database`

    from pipelines.models import Decision, GateVisit, Job, Task, Token, Vote  # noqa: PLC0415  # after `database`
    from reviews.models import AskedPlace  # noqa: PLC0415  # after `database`

    models = [Task, Token, Job, Decision, GateVisit, Vote, AskedPlace]
    waiting, approved = world
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for model in models:
            table = model._meta.db_table
            columns = [field.column for field in model._meta.local_concrete_fields]
            by_task = "id" if model is Task else "task_id"
            if model is Vote or model is AskedPlace:
                visits = "SELECT id FROM pipelines_gatevisit WHERE task_id = %s"
                source = f"SELECT * FROM {table} WHERE visit_id IN ({visits})"
            else:
                source = f"SELECT * FROM {table} WHERE {by_task} = %s"
            for task, half in ((waiting, 0), (approved, 1)):
                cursor.execute(source, [task])
                names = [column.name for column in cursor.description]
                rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
                listed = ", ".join(f'"{column}"' for column in columns)
                with cursor.copy(f"COPY {table} ({listed}) FROM STDIN") as copy:
                    for number in range(1, count // 2 + 1):
                        for row in rows:
                            copy.write_row([_value(row[c], c, model, 2 * number + half) for c in columns])
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE")


STEP = 1_000_000


def _value(value: Any, column: str, model: Any, number: int) -> Any:
    """The value of this column in copy `number`: ids are moved, times spread, what else is unique made so."""
    if value is None:
        return None
    if isinstance(value, uuid.UUID):
        return uuid.UUID(int=(value.int + number * 7919) % (1 << 128))
    if column in ("id", "task_id", "token_id", "job_id", "asked_by_id", "parent_id") and isinstance(
        value, int
    ):
        return value + STEP * number
    if column == "number" and model.__name__ == "Task":
        return value + STEP * number
    if column in ("opened_at", "decided_at", "order_at", "at", "created_at", "changed_at"):
        return value - timedelta(seconds=13 * number)
    if isinstance(value, dict):
        return json.dumps(value)
    return value


def timed(act: Callable[[], Any], rounds: int) -> dict[str, float]:
    act()
    took, busy = [], []
    for _round in range(rounds):
        started, processor = time.perf_counter(), time.process_time()
        act()
        took.append((time.perf_counter() - started) * 1000)
        busy.append((time.process_time() - processor) * 1000)
    took.sort()
    return {
        "p50": round(statistics.median(took), 1),
        "p95": round(took[int(len(took) * 0.95) - 1], 1),
        "Python p50": round(statistics.median(busy), 1),
    }


def sequential(node: dict[str, Any]) -> Iterator[str]:
    """The growing tables that this plan reads from end to end."""
    if node.get("Node Type") == "Seq Scan" and node.get("Relation Name") in GROWS:
        yield node["Relation Name"]
    for child in node.get("Plans", ()):
        yield from sequential(child)


def plans(act: Callable[[], Any]) -> tuple[int, list[str]]:
    """How many statements it makes, and those that read a growing table from end to end."""
    from django.db import connection  # noqa: PLC0415  # after `database`
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415  # after `database`

    with CaptureQueriesContext(connection) as counted:
        act()
    found: list[str] = []
    for each in counted.captured_queries:
        if each["sql"].lstrip().upper().startswith(("SELECT", "WITH")):
            with connection.cursor() as cursor:
                cursor.execute(PROBE + each["sql"].replace("%", "%%"), [])
                [[plan]] = cursor.fetchall()
            plan = json.loads(plan) if isinstance(plan, str) else plan
            found += [f"{table}: {each['sql'][:300]}" for table in sequential(plan[0]["Plan"])]
    return len(counted), found


def run(reviews: int, rounds: int) -> dict[str, Any]:
    from django.test import Client  # noqa: PLC0415  # after `database`
    from django.urls import reverse  # noqa: PLC0415  # after `database`

    from pipelines.models import GateVisit  # noqa: PLC0415  # after `database`
    from tests.factories import World, make_project, make_worker  # noqa: PLC0415  # after `database`
    from tests.reviews.conftest import gated  # noqa: PLC0415  # after `database`

    world = World(make_project("bench"), make_worker())
    reviewer = world.reviewer
    version = world.line(**gated())
    waiting, approved = (world.start(version, title=f"Task {n}") for n in "ab")
    for task in (waiting, approved):
        world.report(task)
    world.vote(approved, "approve", by=reviewer)
    multiply((waiting.pk, approved.pk), reviews)
    reviewer.set_password("correct horse battery")
    reviewer.save()
    client = Client(headers={"host": "localhost"})
    client.force_login(reviewer)
    inbox, one = reverse("inbox"), reverse("gate-visit", args=[world.visit(waiting).pk])
    of = (world.project.owner.key, world.project.key)
    pages = {
        "Needs you": reverse("needs-me"),
        "Requested by you": f"{inbox}?tab=mine",
        "Team": f"{inbox}?tab=others",
        "Decided": f"{inbox}?tab=done",
        "the list alone": f"{inbox}?fragment=list",
        "the number beside Inbox": reverse("needs-count"),
        "a review": one,
        "Home": reverse("home"),
        "Tasks": reverse("tasks-everywhere"),
        **{name: reverse(view, args=[*of, *line]) for name, view, line in OF_LINE},
    }
    answer: dict[str, Any] = {
        "load": os.getloadavg()[0],
        "open": GateVisit.objects.filter(state="open").count(),
        "over": GateVisit.objects.exclude(state="open").count(),
    }
    for name, address in pages.items():

        def ask(address: str = address) -> None:
            found = client.get(address, follow=True)
            assert found.status_code == 200, (address, found.status_code)

        took = timed(ask, rounds)
        statements, scans = plans(ask)
        answer[name] = {**took, "statements": statements, "sequential scans": scans}
    return answer


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--reviews", type=int, default=100_000)
    asked.add_argument("--rounds", type=int, default=40)
    given = asked.parse_args()
    with database():
        keep("inbox", {"reviews": given.reviews, **run(given.reviews, given.rounds)})


if __name__ == "__main__":
    main()
