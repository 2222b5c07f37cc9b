"""Step after a push where a delivery also opens a pull or merge request."""

from __future__ import annotations

from typing import Any

from pipelines.work.hosts.branch_request import check_cleared, ensure_request
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.table import host_at
from pipelines.work.spec.handler_io import Sink
from pipelines.work.spec.repository import DeliveryOrder


async def open_request(order: DeliveryOrder, branch: str, sink: Sink) -> tuple[dict[str, Any], str]:
    """{host, number, sign, url, state}, and a sentence about it. :raises HostError"""
    access, state = order.access.host, order.access.state
    if access is None or not access.credential:
        raise HostError("A request needs a token of the host. Choose a secret under Settings, Repositories.")
    host = await host_at(access, order.access.guard)
    # The server says what it reads, under the lock of the task, and is asked again before one is opened.
    request_text = (await check_cleared(order.port.clear)).request
    if request_text is None:
        raise HostError("The server does not say what the request reads.")
    opened, there = await ensure_request(host, branch, state.base_branch, request_text, order.port.clear)
    request_name = f"{host.request[:1].upper()}{host.request[1:]} {host.sign}{opened.number}"
    done = "was there already" if there else "is open"
    await sink.note(f"[gateline] {request_name} {done}: {opened.url}")
    request = {"host": host.key, "number": opened.number, "sign": host.sign, "url": opened.url}
    words = {"open": "is open", "closed": "is closed", "merged": "is merged"}[opened.state]
    return {**request, "state": opened.state}, f"{request_name} {words} on {host.name}."
