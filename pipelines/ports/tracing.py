"""Spans of a task on its way through web, workers and runners, for a collector of OpenTelemetry
(docs/metrics.md#one-task-through-the-processes). Nothing is loaded, and nothing recorded, unless the environment names
one; its libraries are the extra `otel`.

The trace follows from what a span is about, a task or a request: so all processes agree on it, and none hands it on."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from structlog.contextvars import bind_contextvars, get_contextvars, unbind_contextvars

COLLECTOR: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NO_LIBRARY: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT names a collector, but the libraries of traces are not installed:"
    " pip install opentelemetry-exporter-otlp-proto-http."
)
REQUEST_ID: Final = "request_id"
NAMESPACE: Final = re.compile(r"(?:^|,)\s*service\.namespace=([^,]*)")
STOP_SECONDS: Final = 2
"""A collector that is away holds up no end of a process for longer."""


class TracingUnavailable(Exception):
    """The environment asks for traces that this installation cannot make; the message says why."""


class _Recorder:
    """Records spans with the libraries of OpenTelemetry, which are loaded for it."""

    def __init__(self, service: str) -> None:
        self._api, sdk = import_module("opentelemetry.trace"), import_module("opentelemetry.sdk.trace")
        exporting = import_module("opentelemetry.sdk.trace.export")
        exporter = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter
        self._ids = _ChosenIds(sdk.RandomIdGenerator())
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES count more.
        os.environ.setdefault("OTEL_SERVICE_NAME", service)
        provider = sdk.TracerProvider(id_generator=self._ids)
        provider.add_span_processor(exporting.BatchSpanProcessor(exporter(timeout=STOP_SECONDS)))
        self._tracer = provider.get_tracer("gateline")

    def record(
        self, name: str, trace: int, began: float, ended: float, request: str, attributes: Mapping[str, Any]
    ) -> None:
        links = []
        if request:
            attributes = {**attributes, "gateline.request_id": request}
            if trace != (of_request := _trace_id_of_request(request)):
                # The span of the request has the first half of its trace's id.
                links = [self._api.Link(self._api.SpanContext(of_request, of_request >> 64, is_remote=True))]
        self._ids.chosen = (trace, trace >> 64 if name == "request" else 0)
        root = self._api.set_span_in_context(self._api.INVALID_SPAN)
        span = self._tracer.start_span(
            name, root, attributes=attributes, links=links, start_time=int(began * 1e9)
        )
        span.end(int(max(began, ended) * 1e9))


class _ChosenIds(threading.local):
    """The ids of the next span of a thread: those that were chosen, otherwise random ones."""

    def __init__(self, random_ids: Any) -> None:
        self._random = random_ids
        self.chosen = (0, 0)

    def generate_trace_id(self) -> int:
        return self.chosen[0]

    def generate_span_id(self) -> int:
        return self.chosen[1] or int(self._random.generate_span_id())

    def is_trace_id_random(self) -> bool:
        return False


recorder: _Recorder | None = None
"""None where nothing is traced."""


def begin_tracing(service: str) -> None:
    """Record spans from now on, if the environment names a collector. :raises TracingUnavailable"""
    global recorder
    if not any(os.environ.get(name) for name in COLLECTOR):
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        raise TracingUnavailable(NO_LIBRARY)
    recorder = _Recorder(service)


def current_request_id() -> str:
    """Return the id of the request that is being served, or that queued the work that is being done; "" without one."""
    return str(get_contextvars().get(REQUEST_ID, ""))


def set_current_request_id(request_id: str) -> None:
    """Log this id with whatever this thread or asyncio task does next; "": none."""
    if request_id:
        bind_contextvars(**{REQUEST_ID: request_id})
    else:
        unbind_contextvars(REQUEST_ID)


def record_request(request_id: str, began: float, attributes: Mapping[str, Any]) -> None:
    """Record a request that was answered now. `began`: seconds since 1970."""
    if recorder is not None:
        recorder.record(
            "request", _trace_id_of_request(request_id), began, time.time(), request_id, attributes
        )


def record_moves(tasks: Iterable[tuple[int, str]], began: float) -> None:
    """Record that tasks, each a project and a name, were moved by a transaction that is committed now."""
    if recorder is not None:
        ended, request = time.time(), current_request_id()
        for project, task in tasks:
            attributes = {"gateline.task": task}
            recorder.record("move", _trace_id_of_task(project, task), began, ended, request, attributes)


def record_work(
    name: str, project: int, task: str, began: float, ended: float, attributes: Mapping[str, Any]
) -> None:
    """Record a part of a task's work that a worker did."""
    if recorder is not None:
        about = {"gateline.task": task, **attributes}
        recorder.record(name, _trace_id_of_task(project, task), began, ended, current_request_id(), about)


def _trace_id_of_task(project: int, task: str) -> int:
    return _trace_id(f"task {project} {task}")


def _trace_id_of_request(request_id: str) -> int:
    return _trace_id(f"request {request_id}")


def _trace_id(about: str) -> int:
    # Two installations with one collector have a namespace each, or their tasks would share traces
    namespace = NAMESPACE.search(os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    text = f"{namespace[1] if namespace else ''} {about}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")
