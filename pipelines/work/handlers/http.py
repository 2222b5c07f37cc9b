"""Work of kind `http`: one call, guarded like every call that goes out (house §5)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import httpx2

from pipelines.routing.basics.values import MISSING
from pipelines.work.handlers.time_limits import TimeIsUp, cancelled_outcome, limiting_time
from pipelines.work.outgoing.guard import RefusedAddress
from pipelines.work.outgoing.http_fetch import MOST_BYTES, Call, HttpAnswer, fetch_url
from pipelines.work.results import output
from pipelines.work.results.strict_json import Unreadable, parse_storable_json
from pipelines.work.spec.handler_io import Outcome, Sink, Spec

# For which a server may be silent where the station says nothing.
SILENT_SECONDS = 60.0


async def run(spec: Spec, sink: Sink) -> Outcome:
    """The result follows from the status: 2xx is success. The eval is the status, so that a range can be asked for."""
    began = time.monotonic()
    try:
        async with limiting_time(spec.limits):
            outcome = await make_call_and_return_outcome(spec, sink)
    except TimeIsUp as late:
        outcome = await cancelled_outcome(late, sink)
    return {**outcome, "usage": {"duration_sec": round(time.monotonic() - began, 3)}}


async def make_call_and_return_outcome(spec: Spec, sink: Sink) -> Outcome:
    call = rendered_call(spec.work)
    await sink.note(f"[gateline] {call.method} {loggable_url(call.url)}")
    try:
        answer = await fetch_url(call, spec.outgoing.guard, spec.limits.idle or SILENT_SECONDS)
    except RefusedAddress as refused:
        return await _log_and_return_failure(sink, "address_refused", str(refused))
    except httpx2.TimeoutException:
        return await _log_and_return_failure(
            sink, "http_timeout", f"{loggable_url(call.url)} did not answer in time."
        )
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return await _log_and_return_failure(
            sink, "http_error", f"{loggable_url(call.url)}: {error or type(error).__name__}"
        )
    await sink.note(f"[gateline] {answer.status}, {len(answer.body)} bytes from {loggable_url(answer.url)}")
    return response_outcome(call, answer, spec.output_keys)


async def _log_and_return_failure(sink: Sink, failure_type: str, why: str) -> Outcome:
    await sink.note(f"[gateline] {why}")
    return {"result": "failure", "failure_type": failure_type, "summary": why[:2000]}


def rendered_call(work: Mapping[str, Any]) -> Call:
    """The call that rendered work asks for."""
    headers = {str(name): str(value) for name, value in (work.get("headers") or {}).items()}
    # Half of a surrogate pair cannot be encoded.
    body = str(work.get("body") or "").encode(errors="backslashreplace")
    if "json" in work:
        body = json.dumps(work["json"]).encode()
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    return Call(str(work.get("method") or "GET"), str(work.get("url", "")).strip(), headers, body)


def loggable_url(url: str) -> str:
    """An address as a log may tell it: without a password, and without what follows the path."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        return "The address"
    return str(parsed.copy_with(userinfo=b"", query=None, fragment=None))


def response_outcome(call: Call, answer: HttpAnswer, output_keys: tuple[str, ...]) -> Outcome:
    good = 200 <= answer.status < 300
    outcome: Outcome = {
        "result": "success" if good else "failure",
        "eval": str(answer.status),
        "summary": f"{call.method} {loggable_url(call.url)} was answered with {answer.status}.",
        **({} if good else {"failure_type": f"http_{answer.status}"}),
    }
    return {**outcome, **body_output(answer, output_keys)}


def body_output(answer: HttpAnswer, output_keys: tuple[str, ...] = ()) -> Outcome:
    """The body as output: JSON where it is, or says that it is; else the text."""
    if answer.cut:
        return unreadable_output(f"The answer is larger than {MOST_BYTES} bytes.")
    if not answer.body:
        return {}
    text = answer.text()
    # `application/problem+json`, too
    if "json" in answer.headers.get("content-type", ""):
        try:
            return {"output": output.wanted_keys_or_all(parse_storable_json(text, "output"), output_keys)}
        except Unreadable as error:
            return unreadable_output(str(error))
    text_output = output.output_in_text(text, output_keys)
    return (
        {"output": text}
        if text_output.value is MISSING and not output_keys
        else text_output.outcome_with_output({})
    )


def unreadable_output(why: str) -> Outcome:
    return output.outcome_with_output_facts(
        {"output_error": why}, {"unreadable": output.shortened_reason(why)}
    )
