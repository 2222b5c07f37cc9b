"""The repository of a job, between the driver and `pipelines.work.git`: what a job is told becomes how this worker
reaches it, and what the station left becomes a commit."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.work.config import WorkerConfig
from pipelines.work.git.attempt import Prepared, Trailers, finish, moves_on, prepare
from pipelines.work.git.refusals import PREPARE_FAILED, GitRefused
from pipelines.work.hosts.table import found as host_of
from pipelines.work.orders.order import Orders, rendered
from pipelines.work.spec.base import Outcome, Sink, Spec
from pipelines.work.spec.hosting import HostAccess
from pipelines.work.spec.notes import Notes
from pipelines.work.spec.repository import Clearance, DeliveryOrder, GitState, RepositoryAccess
from pipelines.work.transport.protocol import Started, Transport
from pipelines.work.worker.handover import Packed, failed

LONGEST = 60
"""Characters of a title in the name of a branch."""
MOST_FILES = 200
"""That an outcome names."""

__all__ = ["Prepared", "committed", "delivery_of", "moves_on", "prepared", "reached", "refused"]


def reached(
    started: Started, state: GitState, config: WorkerConfig, transport: Transport
) -> RepositoryAccess:
    """:raises Unrenderable: a template of the line; GitRefused: there is no repository to work in"""
    orders = started.orders
    order = orders.git
    if order is None:
        raise GitRefused("This line works in no repository.")
    if order.problem:
        raise GitRefused(order.problem)
    return RepositoryAccess(
        order,
        state,
        config.workspaces,
        roots=config.repository_roots,
        guard=config.outgoing.guard,
        credential=started.values.credential,
        fetch=transport.fetch,
        base=rendered(orders, "workspace.git.base", order.base),
        head=rendered(orders, "workspace.git.head", order.head),
        branch=rendered(orders, "workspace.git.branch", order.branch) or usual_branch(orders),
    )


def usual_branch(orders: Orders) -> str:
    """`gateline/WI-app-42-add-login`."""
    slug = slug_of(str(orders.scope["task"].get("title") or ""))
    return f"gateline/{orders.task}-{slug}" if slug else f"gateline/{orders.task}"


def slug_of(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST].strip("-")


async def prepared(access: RepositoryAccess, spec: Spec, filled: bool, sink: Sink) -> Prepared:
    """:raises GitRefused"""
    notes = Notes(sink)
    spec.attempt.home.mkdir(mode=0o700, exist_ok=True)
    try:
        return await asyncio.to_thread(prepare, access, spec.attempt.workspace, filled, notes)
    finally:
        await notes.settle()


async def committed(
    ready: Prepared, orders: Orders, spec: Spec, outcome: Outcome, packed: Packed
) -> tuple[Outcome, Packed]:
    """What changed as a commit, and as facts; where that is refused the outcome says so."""
    if packed.picture is None:
        return outcome, packed
    attempt, title = spec.attempt, str(orders.scope["task"].get("title") or orders.task)
    said = Trailers(orders.task, title, orders.visit, orders.job_id)
    try:
        left, group, wanted = await asyncio.to_thread(
            finish, ready, attempt.root, attempt.workspace, packed.picture.manifest, said
        )
    except GitRefused as error:
        return {**outcome, **refused(error)}, packed
    facts = {**outcome.get("facts", {}), "git": group}
    return {**outcome, "facts": facts}, replace(
        packed, wanted={**wanted, **packed.wanted}, git=left, stood=ready.tree
    )


def refused(error: GitRefused) -> Outcome:
    """With the files that it is about."""
    outcome: Outcome = failed(error.failure_type, str(error))
    return {**outcome, "output": {"files": list(error.paths[:MOST_FILES])}} if error.paths else outcome


class ServerOfDelivery:
    """The server, for one delivery."""

    def __init__(self, transport: Transport, started: Started) -> None:
        self._transport, self._started = transport, started

    async def clear(self) -> Clearance:
        return await self._transport.clear(self._started)

    async def landed(self, commit: str, request: Mapping[str, Any] | None = None) -> None:
        await self._transport.delivered(self._started, commit, request)

    async def moved(self) -> None:
        await self._transport.delivered(self._started, "")


async def delivery_of(started: Started, config: WorkerConfig, transport: Transport) -> DeliveryOrder:
    """:raises Unrenderable, GitRefused"""
    orders = started.orders
    to = str(orders.station.work.get("to") or "merge")
    host = host_access(started) if to == REQUEST else None
    material = await transport.material(started)
    return DeliveryOrder(
        access=reached(started, material.git or GitState(), config, transport),
        port=ServerOfDelivery(transport, started),
        job=orders.job_id,
        task=orders.task,
        title=str(orders.scope["task"].get("title") or orders.task),
        station=orders.station.key,
        to=to,
        host=host,
    )


def host_access(started: Started) -> HostAccess:
    """:raises GitRefused: nobody knows where the repository is kept"""
    order = started.orders.git
    try:
        known = host_of(order.host, order.address, order.page) if order and not order.problem else None
    except ValueError as error:
        raise GitRefused(str(error), PREPARE_FAILED) from error
    if order is None or known is None:
        name = order.name if order else "The repository"
        raise GitRefused(
            f"It is not known which host keeps {name}. Choose it under Settings, Repositories.",
            PREPARE_FAILED,
        )
    key, page = known
    return HostAccess(key, str(page), started.values.host_credential, order.host_app)
