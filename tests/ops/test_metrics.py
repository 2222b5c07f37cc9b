"""GET /metrics: who may read it, what it says, and what reading it costs. Real web processes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from config import metrics
from pipelines import engine
from pipelines.models import Decision, Event, GateVisit, Job, Task
from reviews.models import Notification
from tests.access.tenants import CANARY
from tests.access.two import A, B, Two
from tests.factories import World, document, make_worker, station
from tests.fixtures.site import ROOT, Site, start_web, stop
from tests.ops.test_health import fetch
from tests.pages.conftest import client_of
from tests.waiting import until

pytestmark = pytest.mark.django_db
TOKEN = "0123456789abcdef0123"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: str) -> Samples:
    return {
        (sample.name.removeprefix("gateline_"), tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read(monkeypatch: pytest.MonkeyPatch) -> Samples:
    """What this process says, from the database as it is now."""
    monkeypatch.setattr(metrics.STORED, "_until", 0.0)
    answer = Client().get("/metrics", HTTP_AUTHORIZATION=f"Bearer {TOKEN}")
    assert answer.status_code == 200, answer.content
    return samples(answer.content.decode())


def total(values: Samples, name: str, **labels: str) -> float:
    return sum(
        value
        for (metric, pairs), value in values.items()
        if metric == name and labels.items() <= dict(pairs).items()
    )


@pytest.fixture
def with_token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


@pytest.fixture
def webs(transactional_db: None, tmp_path: Path) -> Iterator[list[Site]]:
    """Two web processes of one installation, both with the token."""
    folders = [tmp_path / name for name in ("one", "two")]
    sites = []
    try:
        for folder in folders:
            folder.mkdir()
            sites.append(start_web(folder, GATELINE_METRICS_TOKEN=TOKEN))
        yield sites
    finally:
        for site in sites:
            stop(site.process)


def scrape(site: Site) -> Samples:
    status, text = fetch(f"{site.url}/metrics", Authorization=f"Bearer {TOKEN}")
    assert status == 200
    return samples(text)


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_two_web_processes_tell_the_same_of_the_database_and_their_own_requests(
    webs: list[Site], world: World
) -> None:
    before = [scrape(site) for site in webs]
    fetch(f"{webs[0].url}/sign-in/")
    fetch(f"{webs[0].url}/no-such-page")
    fetch(f"{webs[1].url}/api/v1/projects")
    line = world.line(stations=["build", "test", "ship"])
    tasks = [world.start(line) for _ in range(4)]
    for task in tasks[:3]:
        world.report(task)
    connection.close()  # the server counts what a connection wrote when that ends, or within ten seconds

    def grown(name: str) -> list[float]:
        return [
            total(now, name) - total(then, name) for now, then in zip(map(scrape, webs), before, strict=True)
        ]

    counts = {"tasks_total": Task, "events_total": Event, "decisions_total": Decision, "jobs_total": Job}
    for name, model in counts.items():
        number = model.objects.count()
        until(lambda name=name, number=number: grown(name) == [number] * 2, lambda name=name: grown(name))
    one, two = map(scrape, webs)
    for values in (one, two):
        assert total(values, "queue_jobs", labels="", purpose="station") == 4
        assert total(values, "tasks_open", status="queued") == 4
        assert values["queue_oldest_seconds", (("labels", ""), ("purpose", "station"))] < 600
        assert total(values, "database_up") == 1
        assert total(values, "database_connections", process="web") >= 2
    requests = [total(values, "http_requests_total", area="page") for values in (one, two)]
    assert requests == [2, 0]
    assert total(one, "http_requests_total", code="404") == 1
    assert total(two, "http_requests_total", area="api", code="401") == 1
    assert total(one, "http_request_seconds_count", area="page") == 2


@pytest.mark.smoke(5)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer é"}, 401),
        ({"Authorization": f"bearer {TOKEN}"}, 200),
    ],
)
def test_with_a_token_nobody_reads_it_without(
    world: World, with_token: None, headers: dict[str, str], status: int
) -> None:
    for client in (Client(), client_of(world.admin)):
        answer = client.get("/metrics", headers=headers)
        assert answer.status_code == status
        assert (b"gateline_queue" in answer.content) is (status == 200)


def test_guesses_of_the_token_are_bounded(world: World, with_token: None, settings: Any) -> None:
    settings.GUESSES_PER_MINUTE = 3
    guesses = [Client().get("/metrics", REMOTE_ADDR="192.0.2.8").status_code for _ in range(5)]
    assert guesses == [401, 401, 401, 429, 429]
    right = {"HTTP_AUTHORIZATION": f"Bearer {TOKEN}", "REMOTE_ADDR": "192.0.2.8"}
    assert Client().get("/metrics", **right).status_code == 200, "a right token always works"


@pytest.mark.smoke(6)
@pytest.mark.parametrize(
    ("meta", "status"),
    [
        ({}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": "192.0.2.7"}, 404),
        ({"HTTP_X_FORWARDED_FOR": "192.0.2.7"}, 404),
        ({"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 404),
        ({"HTTP_AUTHORIZATION": "Bearer ", "REMOTE_ADDR": "192.0.2.7"}, 404),
    ],
)
def test_without_a_token_only_this_machine_reads_it(world: World, meta: dict[str, str], status: int) -> None:
    assert Client().get("/metrics", **meta).status_code == status
    assert client_of(world.admin).get("/metrics", **meta).status_code == status


def test_it_names_nothing_of_a_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two owners with everything there is, one of them full of a word that is looked for."""
    two = Two()
    monkeypatch.setattr(metrics.STORED, "_until", 0.0)
    for client in (Client(), client_of(two.me.admin)):
        text = client.get("/metrics").content.decode()
        assert total(samples(text), "tasks_open") == Task.objects.filter(ended_at=None).count() > 1
        assert CANARY not in text and A not in text and B not in text


def test_labels_of_stations_are_shown_with_a_token_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    world.start(world.line(stations=[station("dig", labels=["gpu", "arm"])]))
    monkeypatch.setattr(metrics.STORED, "_until", 0.0)
    assert 'gateline_queue_jobs{labels="",purpose="station"} 1.0' in Client().get("/metrics").content.decode()
    settings.METRICS_TOKEN = TOKEN
    assert total(read(monkeypatch), "queue_jobs", labels="arm,gpu") == 1


HOSTILE = ['a"} 1\ngateline_queue_jobs{x="', "\\", "\u202e", "x" * 300, "x" * 300 + "y"]


def test_hostile_labels_of_stations_are_bounded(
    world: World, with_token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = [*HOSTILE, *(f"label-{number}" for number in range(60))]
    for number, label in enumerate(labels):
        line = world.line(document([station("dig", labels=[label])], key=f"line-{number}"))
        for _ in range(2 if label in HOSTILE else 1):
            world.start(line)
    values = read(monkeypatch)
    queues = {dict(pairs)["labels"]: value for (name, pairs), value in values.items() if name == "queue_jobs"}
    assert sum(queues.values()) == len(labels) + len(HOSTILE)
    assert len(queues) == metrics.MOST_LABEL_SETS + 1
    assert queues[HOSTILE[0]] == 2 and queues["x" * metrics.LONGEST_LABELS] == 4, "two begin alike"
    assert max(map(len, queues)) <= metrics.LONGEST_LABELS and not any("\u202e" in text for text in queues)


def test_it_takes_two_statements_however_much_there_is(
    world: World, with_token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            read(monkeypatch)
        return len(queries)

    for number in (1, 30):
        line = world.line(document(key=f"line-{number}"))
        for _ in range(number):
            world.start(line)
        assert statements() == 2
    with CaptureQueriesContext(connection) as queries:
        Client().get("/metrics", HTTP_AUTHORIZATION=f"Bearer {TOKEN}")
    assert len(queries) == 0, "asked again at once, it asks nobody"


def test_it_counts_what_waits_runs_and_failed(
    world: World, with_token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    gated = world.line(stations=[station("build", asks), "ship"], gates=[gate])
    waiting, held, running = (world.start(gated) for _ in range(3))
    world.report(waiting)
    world.started(running)
    token = held.tokens.get()
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    now = timezone.now()
    visits = GateVisit.objects.filter(task=waiting)
    opened = visits.values("opened_at", "due_at").get()
    visits.update(opened_at=now - timedelta(hours=1), due_at=now - timedelta(minutes=1))
    make_worker(concurrency=3)
    make_worker(concurrency=5, seen_at=now - timedelta(minutes=1))
    Notification.objects.create(
        user=world.reviewer, project=world.project, kind="review", about="a", created_at=now, state="failed"
    )
    values = read(monkeypatch)
    visits.update(**opened)
    expected = {
        "queue_jobs": 0,
        "jobs_running": 1,
        "gates_open": 1,
        "gates_overdue": 1,
        "tasks_open": 3,
        "workers": 2,
        "worker_slots": 3,
        "undelivered": 1,
    }
    assert {name: total(values, name) for name in expected} == expected
    assert 3600 <= total(values, "gates_oldest_seconds") < 3700
    assert total(values, "undelivered", kind="notification") == 1
    assert total(values, "tasks_open", status="held") == 1, "what is held waits for no worker"
    engine.cancel(held.pk, actor=engine.Actor.person(world.operator))
    assert total(read(monkeypatch), "tasks_ended_recently", status="cancelled") == 1


def test_without_the_database_it_says_so_and_the_rest(
    world: World, with_token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*words: object) -> None:
        raise OperationalError

    monkeypatch.setattr(metrics, "fetch", away)
    values = read(monkeypatch)
    assert total(values, "database_up") == 0 and total(values, "queue_jobs") == 0
    assert total(values, "http_requests_total") > 0


def test_each_metric_has_its_row_in_the_documentation(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.STORED, "_until", 0.0)
    text = Client().get("/metrics").content.decode()
    families = {f.name + "_total" * (f.type == "counter") for f in text_string_to_metric_families(text)}
    documented = re.findall(r"^\| `(gateline_\w+)", (ROOT / "docs/metrics.md").read_text(), re.M)
    assert sorted(documented) == sorted(name for name in families if name.startswith("gateline_"))
