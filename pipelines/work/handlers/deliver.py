"""Work of kind `deliver`: what a gate approved is merged, proposed or pushed, exactly as it was approved (law §15)."""

from __future__ import annotations

import asyncio
import threading
import time

from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.work.git.delivery_push import BaseMoved, DeliveryQueued, Permission, deliver
from pipelines.work.git.foreign_pushes import PeoplePushed
from pipelines.work.git.refusals import GitRefused
from pipelines.work.handlers.host_delivery import SOONEST, HostDelivery, delivery_way
from pipelines.work.handlers.merge_request import open_request
from pipelines.work.hosts.errors import HostAway, HostError
from pipelines.work.hosts.table import host_at
from pipelines.work.spec.handler_io import LookAgain, Outcome, Sink, Spec
from pipelines.work.spec.notes import Notes
from pipelines.work.spec.repository import Clearance, DeliveryOrder, DeliveryPort

AWAY = 900.0
"""Seconds for which a delivery waits for a host that does not answer."""


async def run(spec: Spec, sink: Sink) -> Outcome:
    """Fetch and check first; then the server clears the delivery under the task's lock, and it is pushed at once.

    :raises LookAgain: another delivery to the branch comes first"""
    order = spec.delivery
    if order is None:
        return refused_outcome("prepare_failed", "This line works in no repository.")
    port, loop, stop = order.port, asyncio.get_running_loop(), threading.Event()

    def clear() -> Clearance:
        # Called in the thread that pushes; the server is asked on the worker's loop.
        return asyncio.run_coroutine_threadsafe(_cleared(port), loop).result()

    # Before anything is fetched for nothing
    if wait := await port.seconds_to_wait():
        raise LookAgain(wait)
    notes = Notes(sink)
    try:
        host, way = await delivery_way(order)
        if host is not None and way != "push":
            return await _deliver_by_host(HostDelivery(order, host, way, stop.is_set, sink, notes))
        landed = await asyncio.to_thread(deliver, order, Permission(clear, stop.is_set), notes)
    except asyncio.CancelledError:
        # The thread cannot be cancelled: it looks at this before it pushes.
        stop.set()
        raise
    except DeliveryQueued as later:
        raise LookAgain(later.seconds) from later
    except (HostError, GitRefused) as error:
        return await _outcome_of_error(error, order, sink)
    finally:
        await notes.settle()
    # Before the request: what landed is known, even if none can be opened.
    await order.port.report_landed(landed.commit, base=landed.base)
    landing_text = "was there already" if landed.found else "landed"
    await sink.note(f"[gateline] {landed.commit} {landing_text} on {landed.branch}")
    state, summary = order.access.state, f"{landed.commit[:7]} is on {landed.branch}."
    request = None
    if order.to == REQUEST:
        try:
            request, opened = await open_request(order, landed.branch, sink)
        except HostError as error:
            await sink.note(f"[gateline] {error}")
            return refused_outcome(error.failure_type, f"{summary} {error}")
        await order.port.report_landed(landed.commit, request)
        summary = f"{opened} {summary}"
    return {
        "result": "success",
        "eval": "delivered",
        "summary": summary,
        "output": {
            "commit": landed.commit,
            "branch": landed.branch,
            "tree": landed.tree,
            "base": state.base,
            **({"request": request} if request else {}),
        },
        "facts": {"git": {"base": state.base, "head": landed.commit, "tree": landed.tree}},
    }


async def _outcome_of_error(error: HostError | GitRefused, order: DeliveryOrder, sink: Sink) -> Outcome:
    """:raises LookAgain: its host is away, and that may pass"""
    await sink.note(f"[gateline] {error}")
    if isinstance(error, HostAway) and time.time() - order.begun < AWAY:
        raise LookAgain(max(SOONEST, error.wait)) from error
    if isinstance(error, PeoplePushed):
        await order.port.report_push(error.commit, error.who, await _pushers(order, error.commit, sink))
    if isinstance(error, BaseMoved):
        await order.port.report_base_moved(error.onto, error.tree)
    return refused_outcome(error.failure_type, str(error))


async def _pushers(order: DeliveryOrder, commit: str, sink: Sink) -> list[str]:
    """Return the pushers as their host authenticated them; nobody where it does not report them, and then
    only what the commits say is known."""
    access = order.access
    if access.host is None or not access.host.credential:
        return []
    try:
        host = await host_at(access.host, access.guard)
        return await host.pushers(access.state.branch, access.state.pushed, commit)
    except HostError as error:
        await sink.note(f"[gateline] It is not known who pushed: {error}")
        return []


async def _deliver_by_host(through: HostDelivery) -> Outcome:
    """Merge by the host: exactly what was approved, or with what landed there meanwhile."""
    merged, order, host = await through.run(), through.order, through.host
    state = order.access.state
    number = merged.request["number"]
    summary = f"{merged.commit[:7]} is on {state.base_branch}: {host.name} merged {host.sign}{number}."
    if merged.tree != merged.approved:
        summary += f" It holds what else landed there, so its files are {merged.tree[:7]}."
    await through.sink.note(f"[gateline] {summary}")
    return {
        "result": "success",
        "eval": "delivered",
        "summary": summary,
        "output": {
            "commit": merged.commit,
            "branch": state.base_branch,
            "tree": merged.tree,
            "base": state.base,
            "approved": merged.approved,
            "merged_by": host.key,
            "request": {**merged.request, "state": "merged"},
        },
        "facts": {"git": {"base": state.base, "head": merged.commit, "tree": merged.tree}},
    }


async def _cleared(port: DeliveryPort) -> Clearance:
    return await port.clear()


def refused_outcome(failure_type: str, summary: str) -> Outcome:
    return {"result": "failure", "eval": failure_type, "failure_type": failure_type, "summary": summary}
