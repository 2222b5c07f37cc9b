"""Work of kind `deliver`: what a gate approved is merged, proposed or pushed, exactly as it was approved (law §15)."""

from __future__ import annotations

import asyncio
import threading

from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.work.git.pushing import BaseMoved, Permission, Waits, deliver
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.taking_over import PeoplePushed
from pipelines.work.handlers.requesting import open_request
from pipelines.work.hosts.errors import HostError
from pipelines.work.spec.base import LookAgain, Outcome, Sink, Spec
from pipelines.work.spec.notes import Notes
from pipelines.work.spec.repository import Clearance, DeliveryPort


async def run(spec: Spec, sink: Sink) -> Outcome:
    """Fetch and check first; then the server clears the delivery under the task's lock, and it is pushed at once.

    :raises LookAgain: another delivery to the branch comes first"""
    order = spec.delivery
    if order is None:
        return refused("prepare_failed", "This line works in no repository.")
    port, loop, stop = order.port, asyncio.get_running_loop(), threading.Event()

    def clear() -> Clearance:
        return asyncio.run_coroutine_threadsafe(_cleared(port), loop).result()

    if wait := await port.queued():
        raise LookAgain(wait)
    notes = Notes(sink)
    try:
        landed = await asyncio.to_thread(deliver, order, Permission(clear, stop.is_set), notes)
    except asyncio.CancelledError:
        stop.set()
        raise
    except Waits as later:
        raise LookAgain(later.seconds) from later
    except GitRefused as error:
        await sink.note(f"[gateline] {error}")
        if isinstance(error, PeoplePushed):
            await order.port.pushed(error.commit, error.who)
        if isinstance(error, BaseMoved):
            await order.port.moved(error.onto, error.tree)
        return refused(error.failure_type, str(error))
    finally:
        await notes.settle()
    await order.port.landed(landed.commit, base=landed.base)
    said = "was there already" if landed.found else "landed"
    await sink.note(f"[gateline] {landed.commit} {said} on {landed.branch}")
    state, summary = order.access.state, f"{landed.commit[:7]} is on {landed.branch}."
    request = None
    if order.to == REQUEST:
        try:
            request, opened = await open_request(order, landed.branch, sink)
        except HostError as error:
            await sink.note(f"[gateline] {error}")
            return refused(error.failure_type, f"{summary} {error}")
        await order.port.landed(landed.commit, request)
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


async def _cleared(port: DeliveryPort) -> Clearance:
    return await port.clear()


def refused(failure_type: str, summary: str) -> Outcome:
    return {"result": "failure", "eval": failure_type, "failure_type": failure_type, "summary": summary}
