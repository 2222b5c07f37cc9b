"""A call of a runner takes a shorter way through the web process (config/handler.py), and says the same."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest
from django.test import Client

from config.handler import OneThread
from pipelines.models import ApiToken
from pipelines.work.transport.http.wire import PROTOCOL
from tests.factories import World
from tests.work.runners.far import FACTS

pytestmark = pytest.mark.django_db(transaction=True)
Answer = tuple[int, dict[str, str], bytes]


def shortly(path: str, body: bytes, headers: dict[str, str]) -> Answer:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = {**headers, "content-length": str(len(body)), "host": "testserver"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(OneThread()(scope, receive, send))
    first, *rest = sent
    said = {name.decode(): value.decode() for name, value in first["headers"]}
    return first["status"], said, b"".join(each.get("body", b"") for each in rest)


def usually(path: str, body: bytes, headers: dict[str, str]) -> Answer:
    answer = Client().post(path, body, content_type=headers["Content-Type"], headers=headers)
    return answer.status_code, dict(answer.headers), answer.content


def test_the_short_way_says_what_the_usual_one_says(world: World) -> None:
    token, secret = world.runner()
    runner = f"/api/v1/runner/{uuid.uuid4()}"
    body = json.dumps({**FACTS, "protocol": PROTOCOL}).encode()
    calls = [(runner, body, secret), (runner + "/leases", b"{}", secret), (runner + "/tell", b"{", secret)]
    calls += [(runner + "/reports", b'{"reports": 1}', secret), (runner + "/nothing", b"{}", secret)]
    calls += [(runner, body, "gl_wrong"), (runner + "/claims", b"{}", "")]
    for path, sent, key in calls:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        short = shortly(path, sent, headers)
        assert short == usually(path, sent, headers), path
        assert short[1]["Cache-Control"] == "private, no-store" and short[1]["X-Frame-Options"] == "DENY"
    assert ApiToken.objects.get(pk=token.pk).last_used_at is not None
