"""A server that speaks the protocol of OpenAI, as far as models are asked here: scripted answers, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.outgoing.guard import Guard
from tests.outgoing.servers import Asked, Server, say, serving

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
MODEL = "test-model"


@dataclass
class Model:
    """`answers` in their order, the last one again and again. `asked`: the bodies as they came."""

    answers: list[Answer]
    server: Server | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"{self.server.url}/v1"

    def outgoing(self, **more: Any) -> Outgoing:
        """Where it answers; nothing private is listed besides."""
        given = {"model": MODEL, "key": "planted-canary-key", "seconds": 5.0, "retries": 0}
        return Outgoing(Guard(), Endpoint(self.url, **(given | more)))


@contextmanager
def model(*answers: Answer) -> Iterator[Model]:
    found = Model(list(answers))

    def answer(to: BaseHTTPRequestHandler, asked: Asked) -> None:
        assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
        body = json.loads(asked.body)
        found.asked.append(body)
        found.answers[min(len(found.asked), len(found.answers)) - 1](to, body)

    with serving(answer) as server:
        found.server = server
        yield found


def says(
    text: str = "", *, calls: tuple[tuple[str, str], ...] = (), finish: str = "", pieces: int = 3
) -> Answer:
    """A whole answer, streamed where it is asked for. `calls`: (name, arguments as JSON)."""
    made = [
        {"id": f"call-{name}-{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    why = finish or ("tool_calls" if calls else "stop")

    def answer(to: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if body.get("stream"):
            stream(
                to, [*_chunks(text, made, pieces), _chunk({}, why), {"choices": [], "usage": USAGE}, "[DONE]"]
            )
            return
        message = {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
        choice = {"index": 0, "message": message, "finish_reason": why}
        whole = {"id": "c", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": USAGE}
        say(to, 200, json.dumps(whole).encode(), content_type="application/json")

    return answer


def _chunks(text: str, calls: list[dict[str, Any]], pieces: int) -> Iterator[Any]:
    step = max(1, len(text) // pieces)
    yield from (_chunk({"content": text[at : at + step]}) for at in range(0, len(text), step))
    for index, call in enumerate(calls):
        function = call["function"]
        half = len(function["arguments"]) // 2
        first = {"name": function["name"], "arguments": function["arguments"][:half]}
        yield _chunk(
            {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": first}]}
        )
        rest = {"index": index, "function": {"arguments": function["arguments"][half:]}}
        yield _chunk({"tool_calls": [rest]})


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}


def stream(to: BaseHTTPRequestHandler, events: list[Any], *, ended: bool = True) -> None:
    """Server-sent events, one after the other; not `ended`: the connection breaks off."""
    to.protocol_version = "HTTP/1.1"
    to.send_response(200)
    to.send_header("content-type", "text/event-stream")
    to.send_header("transfer-encoding", "chunked")
    to.end_headers()
    for event in events:
        data = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
        to.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        to.wfile.flush()
    if ended:
        to.wfile.write(b"0\r\n\r\n")
    to.close_connection = True


def refuses(status: int, message: str, **headers: str) -> Answer:
    body = json.dumps({"error": {"message": message, "type": "test", "code": None}}).encode()
    return lambda to, asked: say(to, status, body, content_type="application/json", **headers)


def breaks_off(text: str = "half an ans") -> Answer:
    return lambda to, asked: stream(to, [_chunk({"content": text})], ended=False)
