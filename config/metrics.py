"""GET /metrics for Prometheus (docs/metrics.md).

What is true of the whole installation comes from the database, so every web process says the same, and of workers as
well. What a process alone knows, its requests and sockets, it counts in its memory: each is scraped at its own port."""

from __future__ import annotations

import hmac
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from django.conf import settings
from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.ports.terms import ALIVE_SECONDS
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.web.live.hint_repair import healer
from pipelines.web.shell.errors import too_many
from pipelines.web.shell.outage_errors import AWAY
from pipelines.web.shell.page import is_local_request
from pipelines.web.shell.rate_limits import wrong_tokens
from pipelines.web.statements import INSTALLATION_METRICS
from pipelines.work.program.main import checkout_version_or_empty
from reviews.models.statements import UNDELIVERED

STORED_SECONDS: Final = 5.0
"""Whoever scrapes more often, or in several places, gets the same figures again."""
MOST_LABEL_SETS: Final = 50
"""Station labels are texts of people: of more sets than these, those with the fewest jobs are one, `…`."""
LONGEST_LABELS: Final = 100
DURATION_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REFUSED_READER: Final = "Send GATELINE_METRICS_TOKEN as “Authorization: Bearer …”.\n"

Row = tuple[str, Sequence[str], float]

GAUGES: Final[dict[str, tuple[str, Sequence[str]]]] = {
    "queue_jobs": ("Jobs that wait for a worker", ("labels", "purpose")),
    "queue_oldest_seconds": ("Time that the oldest of these has waited", ("labels", "purpose")),
    "jobs_running": ("Jobs that are being done, by workers, people or the clock", ("purpose", "kind")),
    "tasks_open": ("Tasks that have not ended", ("status",)),
    "tasks_ended_recently": ("Tasks that ended in the last five minutes", ("status",)),
    "gates_open": ("Gates that wait for a decision", ()),
    "gates_overdue": ("Open gates whose due time is over", ()),
    "gates_oldest_seconds": ("Time since the oldest open gate opened", ()),
    "workers": ("Workers that showed themselves within ten seconds", ("kind",)),
    "worker_slots": ("Stations that these can run at once", ("kind",)),
    "workers_without_space": ("Workers of these whose disk is full", ("kind",)),
    "tickets": ("Jobs of the queue in the database that are due, under way or failed", ("queue", "status")),
    "undelivered": ("Messages that were given up and are kept", ("kind",)),
    "database_connections": ("Connections to this database", ("process", "state")),
    "database_connections_max": ("Connections that the server allows", ()),
    "database_lock_waits": ("Connections that wait for a lock", ()),
    "database_oldest_transaction_seconds": ("Time since the oldest open transaction began", ()),
    "info": ("Versions of this process and its database; always 1", ("version", "postgresql")),
}
COUNTERS: Final = {
    "events": "Events of tasks that were written; each move writes at least one",
    "decisions": "Decisions that were written",
    "tasks": "Tasks that were created",
    "jobs": "Jobs that were created",
    "votes": "Votes that were cast",
}
POOL: Final = (
    ("pool_size", "pool_connections", "Database connections of this process", 1.0, GaugeMetricFamily),
    ("pool_available", "pool_idle_connections", "Those of them that no request uses", 1.0, GaugeMetricFamily),
    ("requests_waiting", "pool_waiting_requests", "Requests that wait for one", 1.0, GaugeMetricFamily),
    ("requests_queued", "pool_waits", "Requests that had to wait for one", 1.0, CounterMetricFamily),
    ("requests_wait_ms", "pool_wait_seconds", "Time that they waited", 0.001, CounterMetricFamily),
    ("requests_errors", "pool_timeouts", "Requests that waited in vain", 1.0, CounterMetricFamily),
)
"""Of what the pool counts: its name there, the metric's, what it is, the factor to the unit."""

# Of each counter a second one with the time of its start: `process_start_time_seconds` says it for all.
disable_created_metrics()
REGISTRY: Final = CollectorRegistry()
REQUESTS: Final = Counter(
    "gateline_http_requests", "Requests that were answered", ("area", "code"), registry=REGISTRY
)
DURATION: Final = Histogram(
    "gateline_http_request_seconds",
    "Time until an answer began",
    ("area",),
    registry=REGISTRY,
    buckets=DURATION_BUCKETS,
)
REFUSED: Final = Counter(
    "gateline_http_refused",
    "Requests that the door refused before they were read",
    ("code",),
    registry=REGISTRY,
)
Gauge("gateline_sockets_open", "Open live pages", registry=REGISTRY).set_function(healer.count)
ProcessCollector(registry=REGISTRY)


class StoredFigures(Collector):
    """Metrics from the database, read at most once in `STORED_SECONDS`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[Row] | None = []
        self._until = 0.0

    def collect(self) -> Iterator[Metric]:
        rows = self._rows_or_none()
        yield GaugeMetricFamily(
            "gateline_database_up", "1 while the database answers", float(rows is not None)
        )
        values = defaultdict(list)
        for name, labels, value in rows or ():
            values[name].append((labels, float(value)))
        for name, (documentation, label_names) in GAUGES.items():
            gauge = GaugeMetricFamily(f"gateline_{name}", documentation, labels=label_names)
            for labels, value in values[name]:
                gauge.add_metric(labels, value)
            yield gauge
        for name, documentation in COUNTERS.items():
            counter = CounterMetricFamily(f"gateline_{name}", documentation, labels=())
            for labels, value in values[name]:
                counter.add_metric(labels, value)
            yield counter

    def _rows_or_none(self) -> list[Row] | None:
        """Return the rows; None while the database is away."""
        with self._lock:
            # Anybody who may read them may read them often: the database is asked seldom
            if time.monotonic() >= self._until:
                parameters = {"alive": ALIVE_SECONDS, "version": checkout_version_or_empty()}
                try:
                    self._rows = rows_with_bounded_labels(
                        [*fetch(INSTALLATION_METRICS, parameters), *fetch(UNDELIVERED)]
                    )
                except AWAY:
                    self._rows = None
                self._until = time.monotonic() + STORED_SECONDS
            return self._rows


class PoolFigures(Collector):
    """Metrics of the pool of connections of this process."""

    def collect(self) -> Iterator[Metric]:
        pool = getattr(connection, "pool", None)
        stats = pool.get_stats() if pool else {}
        for stat, name, documentation, factor, family in POOL:
            yield family(f"gateline_{name}", documentation, stats.get(stat, 0) * factor)


STORED: Final = StoredFigures()
REGISTRY.register(STORED)
REGISTRY.register(PoolFigures())


def rows_with_bounded_labels(rows: Iterable[Row]) -> list[Row]:
    """Bound the labels of stations in number and length. They are shown where a token is asked for: without one a
    station whose network is open could read those of other owners here."""
    largest = _labels_to_report(rows)
    values: dict[tuple[str, tuple[str, ...]], float] = {}
    for name, labels, value in rows:
        key = (name, tuple(labels))
        if name.startswith("queue_"):
            text = _visible_labels_or_empty(labels[0])
            key = (name, (text if text in largest else "…", *labels[1:]))
        before = values.get(key, 0.0)
        values[key] = max(before, float(value)) if name.endswith("_seconds") else before + float(value)
    return [(name, labels, value) for (name, labels), value in values.items()]


def _labels_to_report(rows: Iterable[Row]) -> set[str]:
    jobs: dict[str, float] = defaultdict(float)
    for name, labels, value in rows:
        if name == "queue_jobs":
            jobs[_visible_labels_or_empty(labels[0])] += value
    return set(sorted(jobs, key=lambda text: (-jobs[text], text))[:MOST_LABEL_SETS])


def _visible_labels_or_empty(labels: str) -> str:
    return escape_hidden(labels)[:LONGEST_LABELS] if settings.METRICS_TOKEN else ""


@require_safe
def metrics_response(request: HttpRequest) -> HttpResponse:
    """Answer whoever sends the token of the setting; where there is none, programs of this machine."""
    if not settings.METRICS_TOKEN and not is_local_request(request):
        raise Http404
    if settings.METRICS_TOKEN and not _sends_token(request):
        if seconds := wrong_tokens.count_and_retry_after(request):
            return too_many(request, seconds)
        headers = {"WWW-Authenticate": 'Bearer realm="Gateline"'}
        return HttpResponse(REFUSED_READER, status=401, headers=headers, content_type="text/plain")
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


def _sends_token(request: HttpRequest) -> bool:
    scheme, _blank, secret = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        secret.strip().encode(), settings.METRICS_TOKEN.encode()
    )
