"""Traces of a task across web process, worker and runner, as a collector on loopback gets them, and the id of the
request that queued the work, in the log of who did it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from pipelines.models import Event, Task
from pipelines.ports import tracing
from tests.factories import World
from tests.fixtures.site import ROOT, environment, free_port, manage, start_web, stop
from tests.waiting import LONG, until
from tests.work.driving import command
from tests.work.runners.running import runner

SENT = "from-proxy.7"


@dataclass(frozen=True)
class Span:
    service: str
    name: str
    trace: bytes
    span: bytes
    links: list[bytes]
    attributes: dict[str, Any]
    seconds: float


@dataclass
class Collector:
    url: str = ""
    spans: list[Span] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            [service] = [
                pair.value.string_value for pair in resource.resource.attributes if pair.key == "service.name"
            ]
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                assert not span.parent_span_id
                values = {
                    pair.key: getattr(pair.value, str(pair.value.WhichOneof("value")))
                    for pair in span.attributes
                }
                links = [link.trace_id for link in span.links]
                seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
                self.spans.append(
                    Span(service, span.name, span.trace_id, span.span_id, links, values, seconds)
                )


@pytest.fixture
def collector() -> Iterator[Collector]:
    collected = Collector()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            collected.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    collected.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield collected
    server.shutdown()
    server.server_close()


def logged_jobs(log: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return {line["station"]: line for line in lines if line["event"] == "job_reported"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
def test_one_task_is_followed_across_web_worker_and_runner(
    world: World, tmp_path: Path, collector: Collector
) -> None:
    stations = [
        command("build", "pass", {"id": "to-pack", "to": "pack"}, labels=["near"]),
        command("pack", "pass", {"id": "to-test", "to": "test"}, labels=["near"]),
        command("test", "pass", {"id": "done", "to": "completed"}, labels=["far"]),
    ]
    line, secret = world.line(stations=stations).line, world.runner("far")[1]
    token = world.token_of(world.operator, "submit", "read")[1]
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    site = start_web(tmp_path, **traced)
    log = tmp_path / "worker.log"
    worker = manage("worker", "--label", "near", log=log, env=environment(LOG_FORMAT="json", **traced))
    try:
        with runner(site.url, secret, tmp_path / "far", labels=("far",), env=traced) as far:
            key, project = line.key, world.project
            request = urllib.request.Request(
                f"{site.url}/api/v1/owners/{project.owner.key}/projects/{project.key}/stages/{key}/tasks",
                data=b'{"inputs": {}}',
                headers={
                    "Authorization": f"Bearer {token}",
                    "Content-Type": "application/json",
                    "X-Request-ID": SENT,
                },
            )
            with urllib.request.urlopen(request, timeout=LONG) as answer:
                assert answer.headers["X-Request-ID"] == SENT
                name = json.load(answer)["id"]
            until(lambda: Task.objects.filter(ended_at__isnull=False).exists(), far.log.read_text)
    finally:
        stop(worker)
        stop(site.process)
    # The record names the request, and so does the log of the worker at all that it did in one go.
    first, *later = Event.objects.order_by("seq")
    assert first.data["request"] == SENT and all("request" not in event.data for event in later)
    assert {station: line["request_id"] for station, line in logged_jobs(log).items()} == {
        "build": SENT,
        "pack": SENT,
    }

    [answered] = [
        span
        for span in collector.spans
        if span.attributes.get("gateline.request_id") == SENT and span.name == "request"
    ]
    assert answered.service == "gateline-web" and answered.attributes["http.response.status_code"] == 201
    assert "{" in answered.attributes["http.route"] or "<" in answered.attributes["http.route"]
    spans = [span for span in collector.spans if span.attributes.get("gateline.task") == name]
    assert len({span.trace for span in spans}) == 1 and len({span.span for span in spans}) == len(spans)
    assert answered.trace != spans[0].trace
    # Where each came about: the runner's reports are taken by the web process.
    work = [(span.service, span.name, span.attributes.get("gateline.station")) for span in spans]
    assert sorted({row for row in work if row[1] != "move"}) == [
        ("gateline-runner", "job", "test"),
        ("gateline-runner", "report", "test"),
        ("gateline-worker", "job", "build"),
        ("gateline-worker", "job", "pack"),
        ("gateline-worker", "report", "build"),
        ("gateline-worker", "report", "pack"),
    ]
    assert {row[0] for row in work if row[1] == "move"} == {"gateline-web", "gateline-worker"}
    [started] = [
        span for span in spans if span.name == "move" and span.attributes.get("gateline.request_id") == SENT
    ]
    assert started.service == "gateline-web" and started.links == [answered.trace]
    assert all(span.seconds >= 0 for span in spans)
    assert {span.attributes["gateline.result"] for span in spans if span.name == "job"} == {"success"}


@pytest.mark.wide
def test_a_collector_that_is_away_holds_up_no_end(
    world: World, tmp_path: Path, transactional_db: None
) -> None:
    site = start_web(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}")
    with urllib.request.urlopen(f"{site.url}/sign-in/", timeout=LONG) as answer:
        assert answer.status == 200
    site.process.terminate()
    # The supervisor kills what has not ended after seven seconds
    assert site.process.wait(LONG) is not None


def test_nothing_is_loaded_without_a_collector() -> None:
    program = (
        "import sys; from pipelines.ports import tracing; tracing.begin_tracing('web');"
        "tracing.record_request('a', 1.0, {}); print(any('opentelemetry' in name for name in sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "False"


def test_missing_libraries_are_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setattr(tracing, "find_spec", lambda name: None)
    with pytest.raises(
        tracing.TracingUnavailable, match="pip install opentelemetry-exporter-otlp-proto-http"
    ):
        tracing.begin_tracing("web")


def test_two_installations_with_one_collector_have_traces_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = set()
    for attributes in ("", "service.namespace=staging", "host.name=a,service.namespace=production"):
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", attributes)
        ids.add(tracing._trace_id_of_task(1, "WI-1"))
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.namespace=staging,host.name=b")
    assert len(ids) == 3 and tracing._trace_id_of_task(1, "WI-1") in ids
