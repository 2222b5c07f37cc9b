"""Work of kind `deliver`: what a gate approved is merged, proposed or pushed, exactly as it was approved (law §15)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.work.git.delivery_push import (
    MERGE,
    SQUASH,
    BaseMoved,
    DeliveryQueued,
    Permission,
    push_delivery,
)
from pipelines.work.git.foreign_pushes import PeoplePushed
from pipelines.work.git.host_proposal import merged_tree, push_proposal
from pipelines.work.git.refusals import NOT_APPROVED, GitRefused
from pipelines.work.handlers.host_absences import HostAbsences
from pipelines.work.hosts.branch_request import (
    clearance_or_raise_not_cleared,
    open_or_find_request_and_was_there,
)
from pipelines.work.hosts.errors import HostAway, HostError, NotCleared
from pipelines.work.hosts.host import Host, MergeStatus, OpenedRequest, Way
from pipelines.work.hosts.table import open_host
from pipelines.work.spec.handler_io import LookAgain, Outcome, Sink, Spec
from pipelines.work.spec.notes import Notes
from pipelines.work.spec.repository import AtHost, DeliveryOrder, DeliveryPermission, DeliveryPort

AWAY = 900.0
"""Seconds for which a delivery waits for a host that does not answer."""
ABSENCES = HostAbsences()


async def run(spec: Spec, sink: Sink) -> Outcome:
    """Fetch and check first; then the server clears the delivery under the task's lock, and it is pushed at once.

    :raises LookAgain: another delivery to the branch comes first"""
    order = spec.delivery
    if order is None:
        return refused_outcome("prepare_failed", "This line works in no repository.")
    port, stop = order.port, threading.Event()
    # Before anything is fetched for nothing
    if wait := await port.seconds_to_wait():
        raise LookAgain(wait)
    notes = Notes(sink)
    try:
        host, way = await host_and_delivery_way(order)
        if host is not None and way != "push":
            return await _merge_at_git_host(HostDelivery(order, host, way, stop.is_set, sink, notes))
        landed = await asyncio.to_thread(push_delivery, order, delivery_permission(port, stop.is_set), notes)
    except asyncio.CancelledError:
        # The thread cannot be cancelled: it looks at this before it pushes.
        stop.set()
        raise
    except DeliveryQueued as later:
        raise LookAgain(later.seconds) from later
    except (HostError, GitRefused) as error:
        return await _outcome_of_error(error, order, sink)
    finally:
        await notes.wait_until_written()
    # Before the request: what landed is known, even if none can be opened.
    await order.port.report_landed(landed.commit, base=landed.base)
    landing_text = "was there already" if landed.found else "landed"
    await sink.note(f"[gateline] {landed.commit} {landing_text} on {landed.branch}")
    state, summary = order.access.state, f"{landed.commit[:7]} is on {landed.branch}."
    request = None
    if order.to == REQUEST:
        try:
            request, opened = await open_request_and_sentence(order, landed.branch, sink)
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
    # It may come back: the delivery is tried again later
    if isinstance(error, HostAway) and ABSENCES.seconds_away(order.job, time.monotonic()) < AWAY:
        raise LookAgain(max(SOONEST, error.wait)) from error
    ABSENCES.end(order.job)
    if isinstance(error, PeoplePushed):
        await order.port.report_push_by_others(
            error.commit, error.who, await _pusher_names(order, error.commit, sink)
        )
    if isinstance(error, BaseMoved):
        await order.port.report_base_moved(error.onto, error.tree)
    return refused_outcome(error.failure_type, str(error))


async def _pusher_names(order: DeliveryOrder, commit: str, sink: Sink) -> list[str]:
    """Return the pushers as their host authenticated them; nobody where it does not report them, and then
    only what the commits say is known."""
    access = order.access
    if access.host is None or not access.host.credential:
        return []
    try:
        host = await open_host(access.host, access.guard)
        return await host.pushers_to_branch_between(access.state.branch, access.state.pushed, commit)
    except HostError as error:
        await sink.note(f"[gateline] It is not known who pushed: {error}")
        return []


async def _merge_at_git_host(delivery: HostDelivery) -> Outcome:
    """Merge by the host: exactly what was approved, or with what landed there meanwhile."""
    merged, order, host = await delivery.merge_by_host(), delivery.order, delivery.host
    state = order.access.state
    number = merged.request["number"]
    summary = f"{merged.commit[:7]} is on {state.base_branch}: {host.name} merged {host.sign}{number}."
    # People approved other files than those that are there now
    if merged.tree != merged.approved:
        summary += f" It holds what else landed there, so its files are {merged.tree[:7]}."
    await delivery.sink.note(f"[gateline] {summary}")
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


def delivery_permission(port: DeliveryPort, stopped: Callable[[], bool]) -> Permission:
    """Return what a thread that pushes may ask: the server is asked on the worker's loop, which is the one that runs
    now."""
    loop = asyncio.get_running_loop()

    async def ask_server_for_permission() -> DeliveryPermission:
        return await port.permit_or_refuse_delivery()

    async def ask_server_for_stored_files(digests: Sequence[str]) -> Mapping[str, str]:
        return await port.find_stored_files(digests)

    return Permission(
        lambda: asyncio.run_coroutine_threadsafe(ask_server_for_permission(), loop).result(),
        stopped,
        lambda digests: asyncio.run_coroutine_threadsafe(ask_server_for_stored_files(digests), loop).result(),
    )


def refused_outcome(failure_type: str, summary: str) -> Outcome:
    return {"result": "failure", "eval": failure_type, "failure_type": failure_type, "summary": summary}


# Step after a push where a delivery also opens a pull or merge request.


async def open_request_and_sentence(
    order: DeliveryOrder, branch: str, sink: Sink
) -> tuple[dict[str, Any], str]:
    """{host, number, sign, url, state}, and a sentence about it. :raises HostError"""
    access, state = order.access.host, order.access.state
    if access is None or not access.credential:
        raise HostError("A request needs a token of the host. Choose a secret under Settings › Repositories.")
    host = await open_host(access, order.access.guard)
    # The server says what it reads, under the lock of the task, and is asked again before one is opened.
    request_text = (await clearance_or_raise_not_cleared(order.port.permit_or_refuse_delivery)).request
    if request_text is None:
        raise HostError("The server does not say what the request reads.")
    opened, there = await open_or_find_request_and_was_there(
        host, branch, state.base_branch, request_text, order.port.permit_or_refuse_delivery
    )
    request_name = f"{host.request[:1].upper()}{host.request[1:]} {host.sign}{opened.number}"
    done = "was there already" if there else "is open"
    await sink.note(f"[gateline] {request_name} {done}: {opened.url}")
    request = {"host": host.key, "number": opened.number, "sign": host.sign, "url": opened.url}
    words = {"open": "is open", "closed": "is closed", "merged": "is merged"}[opened.state]
    return {**request, "state": opened.state}, f"{request_name} {words} on {host.name}."


# A delivery into a branch that rules of its host protect: the host merges it, by its call or its queue (law
# §15).


MOST = {"merge": 3600.0, "queue": 6 * 3600.0}
"""Seconds from when the task came to the station until it is given up."""
SOONEST, LATEST = 10.0, 120.0


@dataclass(frozen=True)
class MergedByHost:
    """`tree`: of what landed, the approved one or the host's; `request` as a delivery keeps it."""

    commit: str
    tree: str
    approved: str
    request: dict[str, Any]


async def host_and_delivery_way(order: DeliveryOrder) -> tuple[Host | None, Way]:
    """Return how a delivery lands: by a push where it is no merge, or Gateline has no token of a host.
    :raises HostError"""
    access = order.access.host
    if order.to != MERGE or access is None or not access.credential or not order.access.state.base_branch:
        return None, "push"
    host = await open_host(access, order.access.guard)
    return host, await host.landing_way(order.access.state.base_branch)


@dataclass(frozen=True)
class HostDelivery:
    """Delivery through its host. Each look asks the host how it stands before anything is done, so that
    whoever comes after a crash merges nothing twice."""

    order: DeliveryOrder
    host: Host
    way: Way
    stopped: Callable[[], bool]
    sink: Sink
    notes: Notes

    async def merge_by_host(self) -> MergedByHost:
        """:raises GitRefused, HostError, Waits, LookAgain: it is not merged yet"""
        state, port = self.order.access.state, self.order.port
        clearance = await clearance_or_raise_not_cleared(port.permit_or_refuse_delivery)
        if clearance.wait:
            raise LookAgain(clearance.wait)
        if clearance.request is None:
            raise HostError("The server does not say what the request reads.")
        before = clearance.at_host or AtHost()
        there = await self._merge_already_done_or_none(clearance, before)
        if there is None and before.waits:
            there = await self._merge_of_queue_or_none(before)
        if there is None:
            may = delivery_permission(port, self.stopped)
            proposed = await asyncio.to_thread(push_proposal, self.order, may, self.notes)
            # Before the host is called: whoever comes after a crash knows what was pushed.
            await port.report_host_progress(AtHost(proposed.head, self.way, before.waits))
            request, _there = await open_or_find_request_and_was_there(
                self.host, state.branch, state.base_branch, clearance.request, port.permit_or_refuse_delivery
            )
            if request.state == "closed":
                raise HostError(
                    f"{self._request_label(request.number)} was closed there. Open it again, and deliver again."
                )
            request_record = self._request_record(request)
            await port.report_host_progress(AtHost(proposed.head, self.way, before.waits, request_record))
            merge_status = await self._merge_and_wait(
                request, proposed.head, before, clearance, request_record
            )
            there = (request, merge_status, proposed.head)
        request, merge_status, head = there
        if not merge_status.head:
            raise HostError(
                f"{self.host.name} does not say what {self._request_label(request.number)} merged."
            )
        # The host merged another end of the branch than it was asked to.
        other = "" if merge_status.head == head else merge_status.head
        landed = await asyncio.to_thread(
            merged_tree, self.order.access, other, merge_status.commit, clearance.tree, self.notes
        )
        request_record = self._request_record(request)
        await port.report_host_progress(
            AtHost(head or merge_status.head, self.way, False, request_record, merge_status.commit, landed)
        )
        return MergedByHost(merge_status.commit, landed, clearance.tree, request_record)

    async def _merge_already_done_or_none(
        self, clearance: DeliveryPermission, before: AtHost
    ) -> tuple[OpenedRequest, MergeStatus, str] | None:
        """Return what an earlier attempt, or people with its request, brought about: (request, how it stands,
        what we asked)."""
        state, request_text = self.order.access.state, clearance.request
        assert request_text is not None
        number = (before.request or {}).get("number")
        for request in await self.host.list_requests_between(state.branch, state.base_branch):
            if request.state == "merged" and (request.number == number or request_text.mark in request.body):
                return (
                    request,
                    await self.host.merge_status(request.number, self.way, state.base_branch),
                    before.head,
                )
        return None

    async def _merge_of_queue_or_none(self, before: AtHost) -> tuple[OpenedRequest, MergeStatus, str] | None:
        """Return what the queue of the host made of a request that an earlier look gave to it: the base may
        have moved meanwhile, which is what the queue is for. None where it is in no queue any more.

        :raises LookAgain: it is in there still; HostError: for too long"""
        record = before.request or {}
        number, base = int(record.get("number", 0)), self.order.access.state.base_branch
        merge_status = await self.host.merge_status(number, "queue", base)
        if merge_status.state == "queued":
            raise await self._look_again_or_late_error(
                number, f"{self._request_label(number)} is in the queue of {self.host.name}"
            )
        if merge_status.state != "merged":
            return None
        return OpenedRequest(number, str(record.get("url", "")), "merged", "", ""), merge_status, before.head

    async def _merge_and_wait(
        self,
        request: OpenedRequest,
        head: str,
        before: AtHost,
        clearance: DeliveryPermission,
        request_record: dict[str, Any],
    ) -> MergeStatus:
        """:raises LookAgain: not yet; HostError: a rule of the host, or it took it out of its queue"""
        base, request_name = self.order.access.state.base_branch, self._request_label(request.number)
        # `waits`: an earlier look has given it to the queue.
        if not before.waits:
            await self._set_approved_status(head, clearance)
        merge_status = await self.host.merge_status(request.number, self.way, base)
        if merge_status.state == "merged":
            return merge_status
        if merge_status.state == "queued":
            await self.order.port.report_host_progress(AtHost(head, self.way, True, request_record))
            raise await self._look_again_or_late_error(
                request.number, f"{request_name} is in the queue of {self.host.name}"
            )
        # Of what left the queue it is known by now that the base stands where it did, and that nobody pushed
        if before.waits:
            why = f" {merge_status.why}." if merge_status.why else ""
            raise HostError(
                f"{self.host.name} took {request_name} out of its queue.{why} Look there why, and deliver again."
            )
        if merge_status.state == "waits":
            raise await self._look_again_or_late_error(request.number, f"{request_name} {merge_status.why}")
        self._raise_if_not_mergeable(merge_status, request_name, head)
        # What was approved may have become something else while the host was asked.
        now = await clearance_or_raise_not_cleared(self.order.port.permit_or_refuse_delivery)
        if now.tree != clearance.tree or self.stopped():
            raise NotCleared(
                "The files changed meanwhile, so nothing was merged. Deliver again.", NOT_APPROVED
            )
        try:
            return await self._ask_to_merge(request, head, clearance, request_record)
        except (LookAgain, HostError):
            raise
        except (Exception, asyncio.CancelledError):
            # The task ended while the host was asked: its own withdrawal may have come before there was one.
            await self.host.leave_merge_queue(request.number, self.way)
            raise

    async def _ask_to_merge(
        self, request: OpenedRequest, head: str, clearance: DeliveryPermission, request_record: dict[str, Any]
    ) -> MergeStatus:
        state, request_name = self.order.access.state, self._request_label(request.number)
        squash = self.order.access.order.commit == SQUASH
        try:
            await self.host.merge_request(
                request.number, head, self.way, squash, self._merge_commit_message(clearance)
            )
        except HostAway as error:  # whether it did is asked at the next look
            raise LookAgain(error.wait) from error
        except HostError as error:
            raise HostError(self._message_of_host_rule(request_name, str(error)), error.status) from error
        merge_status = await self.host.merge_status(request.number, self.way, state.base_branch)
        if merge_status.state != "merged":
            await self.order.port.report_host_progress(
                AtHost(head, self.way, self.way == "queue", request_record)
            )
            raise await self._look_again_or_late_error(
                request.number, f"{request_name} was given to {self.host.name}"
            )
        return merge_status

    def _raise_if_not_mergeable(self, merge_status: MergeStatus, request_name: str, head: str) -> None:
        """:raises HostError: why it cannot be merged as it is"""
        if merge_status.state == "closed":
            raise HostError(f"{request_name} was closed there. Open it again, and deliver again.")
        if merge_status.state == "refused":
            raise HostError(self._message_of_host_rule(request_name, merge_status.why))
        if merge_status.head != head:
            raise HostError(
                f"{request_name} ends with {merge_status.head[:7]}, and not with what was approved.", 409
            )

    async def _set_approved_status(self, head: str, clearance: DeliveryPermission) -> None:
        """A rule may require our own status: it says now that nothing is missing here."""
        page = clearance.request.page if clearance.request else ""
        try:
            await self.host.set_status(head, "success", "Approved in Gateline", page)
        # No answer of the host: the delivery looks again.
        except HostAway:
            raise
        except HostError as error:
            await self.sink.note(f"[gateline] The status gateline was not set. {error}")

    async def _look_again_or_late_error(self, number: int, what: str) -> Exception:
        """Look again; or, when it took too long, out of the queue, so that nothing lands behind the task's back."""
        passed = time.time() - self.order.begun
        ABSENCES.end(self.order.job)
        await self.sink.note(f"[gateline] {what}")
        if passed < MOST[self.way]:
            # A quarter of the time that has passed, within these
            return LookAgain(max(SOONEST, min(passed / 4, LATEST)))
        await self.host.leave_merge_queue(number, self.way)
        return HostError(f"{what}, and did not land within {MOST[self.way] / 3600:g} h. Deliver again.")

    def _request_label(self, number: int) -> str:
        return f"{self.host.request[:1].upper()}{self.host.request[1:]} {self.host.sign}{number}"

    def _message_of_host_rule(self, request_name: str, why: str) -> str:
        base = self.order.access.state.base_branch
        return (
            f"{self.host.name} does not merge it into {base}: {why.rstrip('.')}. ({request_name}.) "
            f"Meet this rule of {base} on {self.host.name}, or change it there, and deliver again."
        )

    def _request_record(self, request: OpenedRequest) -> dict[str, Any]:
        identity = {"host": self.host.key, "number": request.number, "sign": self.host.sign}
        return {**identity, "url": request.url}

    def _merge_commit_message(self, clearance: DeliveryPermission) -> str:
        order = self.order
        return f"{order.title}\n\nTask: {order.task}\nGate: {clearance.gate}\nGateline-Delivery: {order.job}"
