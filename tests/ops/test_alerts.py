"""The alert rules and the dashboard of docs/monitoring, over what /metrics says. Prometheus itself evaluates the rules:
each fires once, on purpose, and none while all is well."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.db.models import F
from django.test import Client
from django.utils import timezone

from config import metrics
from pipelines.models import GateVisit, Token, Worker
from pipelines.models.plumbing.compiled_queries import execute
from reviews.models import Notification
from tests.factories import World, document, station
from tests.fixtures.site import ROOT, database_url
from tests.ops.test_metrics import Samples, samples
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db
ALERTS, DASHBOARD = ROOT / "docs/monitoring/alerts.yaml", ROOT / "docs/monitoring/dashboard.json"
NAMES = re.findall(r"- alert: (\w+)", ALERTS.read_text())
PROMTOOL = shutil.which("promtool")
INTERVAL, EVALUATED = "30s", "30m"
GROWING = ("_total", "_bucket", "_count", "_sum")


def scraped(monkeypatch: pytest.MonkeyPatch) -> Samples:
    monkeypatch.setattr(metrics.STORED, "_until", 0.0)
    return samples(Client().get("/metrics").content.decode())


def series(before: Samples, after: Samples, up: int) -> Iterator[dict[str, str]]:
    """Half an hour of scrapes: counters go on growing as they did between the two, all else stays."""
    yield {"series": 'up{job="gateline",instance="web"}', "values": f"{up}+0x120"}
    for (name, pairs), value in after.items():
        labels = {"job": "gateline", "instance": "web", **dict(pairs)}
        quoted = ",".join(f"{key}={json.dumps(text, ensure_ascii=False)}" for key, text in labels.items())
        start = before.get((name, pairs), 0.0) if name.endswith(GROWING) else value
        yield {"series": f"gateline_{name}{{{quoted}}}", "values": f"{start:f}+{value - start:f}x120"}


def firing(tmp_path: Path, expected: set[str], before: Samples, after: Samples, up: int = 1) -> None:
    """Let Prometheus say that exactly these alerts fire after half an hour."""
    samples_of_alerts = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(expected)]
    question = {
        "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": EVALUATED,
        "exp_samples": samples_of_alerts,
    }
    case = {
        "interval": INTERVAL,
        "input_series": list(series(before, after, up)),
        "promql_expr_test": [question],
    }
    file = tmp_path / "rules_test.json"
    file.write_text(
        json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": INTERVAL, "tests": [case]})
    )
    assert PROMTOOL
    answer = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


by_prometheus = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not here: apt-get install prometheus"
)


@contextmanager
def six_wait_for_a_lock() -> Iterator[None]:
    url = database_url()
    with ExitStack() as opened:
        holder = opened.enter_context(psycopg.connect(url))
        holder.execute("SELECT pg_advisory_lock(46)")
        waiting = [opened.enter_context(psycopg.connect(url)) for _ in range(6)]
        threads = [
            Thread(target=one.execute, args=("SELECT pg_advisory_lock_shared(46)",)) for one in waiting
        ]
        for thread in threads:
            thread.start()
        count = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = 46"
        with psycopg.connect(url, autocommit=True) as looking:
            until(lambda: looking.execute(count).fetchone() == (6,))
        yield
        holder.execute("SELECT pg_advisory_unlock(46)")
        for thread in threads:
            thread.join(LONG)


def let_much_go_wrong(world: World) -> None:
    """Each of it as it happens, but for the times, which are moved, and two figures of this process."""
    asks = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    line = world.line(stations=[station("build", asks), "ship"], gates=[gate])
    [reviewed, *failed, _queued] = [world.start(line) for _ in range(8)]
    never = {"id": "never", "when": {"eval": {"op": "equals", "value": "x"}}, "to": "ship"}
    unruled = world.line(
        document([station("build", never), "ship"], key="unruled", policy={"no_match": "stuck"})
    )
    stuck = world.start(unruled)
    world.report(stuck)
    world.report(reviewed)
    for task in failed:
        world.report(task, {"result": "failure"})
    assert world.status(stuck) == "stuck" and world.status(failed[0]) == "failed"
    Worker.objects.update(no_space=True)
    Notification.objects.create(
        user=world.reviewer,
        project=world.project,
        kind="review",
        about="a",
        created_at=timezone.now(),
        state="failed",
    )
    execute("INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ('mail', 'x', 'failed')")
    metrics.REQUESTS.labels("page", 500).inc(100)
    for _ in range(100):
        metrics.DURATION.labels("page").observe(3)


@by_prometheus
def test_no_alert_fires_while_all_is_well(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = scraped(monkeypatch)
    line = world.line()
    for _ in range(3):
        world.report(world.start(line))
    firing(tmp_path, set(), before, scraped(monkeypatch))


# In one transaction PostgreSQL would go on saying who waited at its first look.
@pytest.mark.django_db(transaction=True)
@by_prometheus
def test_each_alert_fires_for_what_it_is_about(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = scraped(monkeypatch)
    let_much_go_wrong(world)
    hour = timedelta(hours=1)
    queued = Token.objects.filter(status="queued")
    visits = GateVisit.objects.filter(state="open")
    due = visits.values_list("due_at", flat=True).get()
    queued.update(changed_at=F("changed_at") - hour)
    visits.update(due_at=timezone.now() - hour)
    with six_wait_for_a_lock():
        wrong = scraped(monkeypatch)
    queued.update(changed_at=F("changed_at") + hour)
    visits.update(due_at=due)
    once = {
        "GatelineQueueOld",
        "GatelineWorkerWithoutSpace",
        "GatelineTasksStuck",
        "GatelineTasksFailing",
        "GatelineGatesOverdue",
        "GatelineUndelivered",
        "GatelineTicketsFailed",
        "GatelineErrors",
        "GatelineSlow",
        "GatelineDatabaseWaits",
    }
    firing(tmp_path, once, before, wrong)

    # What no test should do to a server that others use: the figures of the text are moved.
    key: Any = ("database_connections_max", ())
    full = {**before, key: 1.0, ("pool_timeouts_total", ()): before["pool_timeouts_total", ()] + 1}
    scarce = {"GatelineConnectionsScarce", "GatelinePoolExhausted"}
    firing(tmp_path, scarce, before, full)

    Worker.objects.update(stopped_at=timezone.now(), no_space=False)
    execute("DELETE FROM procrastinate_jobs WHERE status = 'failed'")
    alone = scraped(monkeypatch)
    firing(
        tmp_path,
        {"GatelineNoWorker", "GatelineUndelivered", "GatelineTasksFailing", "GatelineTasksStuck"},
        alone,
        alone,
    )

    def away(*words: object) -> None:
        raise OperationalError

    monkeypatch.setattr(metrics, "fetch", away)
    gone = scraped(monkeypatch)
    firing(tmp_path, {"GatelineDatabaseAway", "GatelineDown"}, gone, gone, up=0)
    assert {*once, *scarce, "GatelineNoWorker", "GatelineDatabaseAway", "GatelineDown"} == set(NAMES)


def expressions(value: Any) -> Iterator[str]:
    """Yield the queries of a dashboard, wherever they stand in it."""
    if isinstance(value, Mapping):
        yield from (text for key, text in value.items() if key in {"expr", "query"} and isinstance(text, str))
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from expressions(member)


def test_rules_and_dashboard_name_what_metrics_has(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    Client().get("/sign-in/")
    metrics.REFUSED.labels(413).inc()
    documented = set(re.findall(r"^\| `(gateline_\w+)", (ROOT / "docs/metrics.md").read_text(), re.M))
    documented |= {"gateline_http_request_seconds_bucket"}
    queries = [*expressions(json.loads(DASHBOARD.read_text())), ALERTS.read_text()]
    assert len(queries) > 12 and "gateline_queue_jobs" in " ".join(queries)
    named = {name for query in queries for name in re.findall(r"\bgateline_\w+", query)}
    assert named <= documented, named - documented
