"""Request for a branch: opened, or updated where it exists already, never a second one (law §15)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pipelines.work.hosts.errors import AlreadyOpen, HostAway, HostError, NotCleared
from pipelines.work.hosts.host import Host, OpenedRequest
from pipelines.work.spec.hosting import RequestText
from pipelines.work.spec.repository import DeliveryPermission

# Tries: an answer may get lost, or somebody else open the request meanwhile
TIMES = 3
BEGIN, END = "<!-- gateline: written anew with each delivery -->", "<!-- gateline: end -->"
May = Callable[[], Awaitable[DeliveryPermission]]


async def open_or_find_request_and_was_there(
    host: Host, head: str, base: str, request_text: RequestText, may: May
) -> tuple[OpenedRequest, bool]:
    """It, and whether it was there already. Looked for before anything is opened, and again where an answer got lost;
    `may` is asked right before a new one: what it refuses is not opened.

    One that people closed or merged is left alone: for the delivery that opened it it counts, for the next one a new
    one is opened. :raises HostError"""
    for left in reversed(range(TIMES)):
        try:
            return await _open_or_update_request_and_is_new(host, head, base, request_text, may)
        # Opened between our look and our call: the next round finds and updates it
        except AlreadyOpen:
            if not left:
                raise
        except HostAway as error:
            if not left:
                raise
            await asyncio.sleep(error.wait)
    raise HostError(f"{host.name} has no answer.")


async def _open_or_update_request_and_is_new(
    host: Host, head: str, base: str, request_text: RequestText, may: May
) -> tuple[OpenedRequest, bool]:
    known = await host.list_requests_between(head, base)
    now = next((request for request in known if request.state == "open"), None)
    if now is not None:
        body = description_with_own_section(now.body, request_text.body)
        # By lines: a host may return other line ends (\r\n), which are no change
        same = body.splitlines() == now.body.splitlines()
        return (now if same else await host.update_request_body(now.number, body)), True
    ours = next((request for request in known if request_text.mark in request.body), None)
    if ours is not None:
        return ours, True
    await clearance_or_raise_not_cleared(may)
    return await host.open_request(head, base, request_text.title, own_section(request_text.body)), False


async def clearance_or_raise_not_cleared(may: May) -> DeliveryPermission:
    """:raises NotCleared"""
    clearance = await may()
    if clearance.refused:
        raise NotCleared(clearance.refused, clearance.failure_type)
    return clearance


def own_section(body: str) -> str:
    return f"{BEGIN}\n{body}\n{END}"


def description_with_own_section(before: str, body: str) -> str:
    """Replace our section of a description; what people wrote beside it stays."""
    # No pattern: it would look for the end from each beginning anew.
    begin = before.find(BEGIN)
    end = before.find(END, begin) if begin >= 0 else -1
    if end >= 0:
        return f"{before[:begin]}{own_section(body)}{before[end + len(END) :]}"
    return f"{before.rstrip()}\n\n{own_section(body)}" if before.strip() else own_section(body)
