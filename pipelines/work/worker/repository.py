"""The repository of a job, between the driver and `pipelines.work.git`: what a job is told becomes how this worker
reaches it, and what the station left becomes a commit."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.routing.basics.durations import parse_seconds
from pipelines.routing.document.kinds.deliver import REQUEST
from pipelines.routing.document.kinds.wait_for_checks import USUAL_SECONDS
from pipelines.work.config import WorkerConfig
from pipelines.work.git.attempt import (
    Prepared,
    Trailers,
    commit_attempt,
    needs_fresh_files,
    prepare_workspace,
)
from pipelines.work.git.commits import TASK_BRANCHES
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.settled_files import settle_files
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.github_app import git_credential
from pipelines.work.hosts.table import find_host_key_and_page as host_of
from pipelines.work.orders.order import Orders, rendered_text
from pipelines.work.spec.handler_io import Outcome, Sink, Spec
from pipelines.work.spec.hosting import HostAccess
from pipelines.work.spec.notes import Notes
from pipelines.work.spec.repository import (
    AtHost,
    ChecksOrder,
    DeliveryOrder,
    DeliveryPermission,
    GitOrder,
    GitState,
    RepositoryAccess,
)
from pipelines.work.transport.protocol import JobTransport, Started, StartingWorkspace
from pipelines.work.worker.attempt_io import Packed, failed_outcome

LONGEST = 60
"""Characters of a title in the name of a branch."""
MOST_FILES = 200
"""That an outcome names."""

__all__ = [
    "Prepared",
    "commit_and_add_facts",
    "delivery_order",
    "needs_fresh_files",
    "prepare_workspace_files",
    "refusal_outcome",
    "repository_access",
]


def repository_access(
    started: Started,
    state: GitState,
    config: WorkerConfig,
    fetch: Callable[[str, Path], None],
    starting_workspace: StartingWorkspace | None = None,
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
        folders=config.folders((*orders.folders, *orders.submodule_folders)),
        guard=config.outgoing.guard,
        credential=started.values.credential,
        fetch=fetch,
        stored=starting_workspace.stored if starting_workspace else {},
        host=access_to_host_of_order_or_none(started, order),
        base=rendered_text(orders, "workspace.git.base", order.base),
        head=rendered_text(orders, "workspace.git.head", order.head),
        branch=rendered_text(orders, "workspace.git.branch", order.branch) or default_task_branch(orders),
    )


def default_task_branch(orders: Orders) -> str:
    """`gateline/WI-app-42-add-login`."""
    slug = title_slug(str(orders.scope["task"].get("title") or ""))
    return f"{TASK_BRANCHES}/{orders.task}-{slug}" if slug else f"{TASK_BRANCHES}/{orders.task}"


def title_slug(title: str) -> str:
    # NFKD makes of é an e and an accent, which ASCII leaves out
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    # After a word, as the subject of a commit.
    cut = slug[: LONGEST + 1].rpartition("-")[0] if len(slug) > LONGEST else slug
    return cut or slug[:LONGEST]


async def prepare_workspace_files(access: RepositoryAccess, spec: Spec, filled: bool, sink: Sink) -> Prepared:
    """:raises GitRefused"""
    notes, access = Notes(sink), await access_with_git_credential(access)
    spec.attempt.home.mkdir(mode=0o700, exist_ok=True)
    try:
        return await asyncio.to_thread(prepare_workspace, access, spec.attempt.workspace, filled, notes)
    finally:
        await notes.wait_until_written()


async def commit_and_add_facts(
    ready: Prepared, orders: Orders, spec: Spec, outcome: Outcome, packed: Packed
) -> tuple[Outcome, Packed]:
    """Commit what changed, and add it as facts; where that is refused the outcome says so."""
    if packed.picture is None:
        return outcome, packed
    attempt, title = spec.attempt, str(orders.scope["task"].get("title") or orders.task)
    trailers = Trailers(orders.task, title, orders.visit, orders.job_id)
    try:
        settled = await asyncio.to_thread(
            settle_files, ready, attempt.root, attempt.workspace, packed.picture
        )
        packed = replace(packed, picture=settled.picture, wanted={**packed.wanted, **settled.sources})
        left, group, sources = await asyncio.to_thread(
            commit_attempt,
            ready,
            attempt.root,
            attempt.workspace,
            settled.picture.manifest,
            trailers,
            settled.pins,
        )
    except GitRefused as error:
        return {**outcome, **refusal_outcome(error)}, packed_without_uncommitted_files(packed)
    facts = {**outcome.get("facts", {}), "git": group}
    return {**outcome, "facts": facts}, replace(
        packed, wanted={**sources, **packed.wanted}, git=left, stood=ready.tree
    )


def packed_without_uncommitted_files(packed: Packed) -> Packed:
    """Remove the files of the workspace: what is no commit is never shown as the change (law §15)."""
    digests = {artifact.digest for artifact in packed.artifacts}
    sources = {digest: entry for digest, entry in packed.wanted.items() if digest in digests}
    return replace(packed, wanted=sources, picture=None)


def refusal_outcome(error: GitRefused) -> Outcome:
    """Return the outcome of a refusal, with the files that it is about."""
    outcome: Outcome = failed_outcome(error.failure_type, str(error))
    return {**outcome, "output": {"files": list(error.paths[:MOST_FILES])}} if error.paths else outcome


class ServerOfDelivery:
    """The server, for one delivery."""

    def __init__(self, transport: JobTransport, started: Started) -> None:
        self._transport, self._started = transport, started

    async def permit_or_refuse_delivery(self) -> DeliveryPermission:
        return await self._transport.permit_or_refuse_delivery(self._started)

    async def report_landed(
        self, commit: str, request: Mapping[str, Any] | None = None, base: str | None = None
    ) -> None:
        await self._transport.report_delivered(self._started, commit, request, base)

    async def report_host_progress(self, host_state: AtHost) -> None:
        await self._transport.report_host_progress(self._started, host_state)

    async def seconds_to_wait(self) -> float:
        return await self._transport.seconds_to_wait(self._started)

    async def find_stored_files(self, digests: Sequence[str]) -> Mapping[str, str]:
        return await self._transport.find_stored_files(self._started, digests)

    async def report_base_moved(self, onto: str, tree: str) -> None:
        await self._transport.report_base_moved(self._started, onto, tree)

    async def report_push_by_others(self, commit: str, who: Sequence[str], logins: Sequence[str]) -> None:
        await self._transport.report_push_by_others(self._started, commit, who, logins)


async def delivery_order(started: Started, config: WorkerConfig, transport: JobTransport) -> DeliveryOrder:
    """:raises Unrenderable, GitRefused"""
    orders = started.orders
    to = str(orders.station.work.get("to") or "merge")
    material = await transport.read_material(started)
    access = await access_with_git_credential(
        repository_access(started, material.git or GitState(), config, transport.fetch, material.before)
    )
    if to == REQUEST and access.host is None:
        raise GitRefused(
            f"It is not known which host keeps {access.order.name}. Choose it under Settings › Repositories."
        )
    return DeliveryOrder(
        access=access,
        port=ServerOfDelivery(transport, started),
        job=orders.job_id,
        task=orders.task,
        title=str(orders.scope["task"].get("title") or orders.task),
        station=orders.station.key,
        to=to,
        rebase=str(orders.station.work.get("rebase") or "never"),
        begun=orders.begun,
    )


async def checks_order(started: Started, config: WorkerConfig, transport: JobTransport) -> ChecksOrder:
    """:raises Unrenderable, GitRefused"""
    work, material = started.orders.station.work, await transport.read_material(started)
    contexts, timeout = work.get("contexts"), work.get("timeout")
    return ChecksOrder(
        access=repository_access(started, material.git or GitState(), config, transport.fetch),
        contexts=tuple(contexts) if isinstance(contexts, list | tuple) else (),
        begun=started.orders.begun,
        timeout=USUAL_SECONDS if timeout is None else parse_seconds(timeout),
        rerun=started.orders.rerun,
    )


def access_to_host_of_order_or_none(started: Started, order: GitOrder) -> HostAccess | None:
    """None where no host keeps it, or nobody can tell where."""
    try:
        known = host_of(order.host, order.address, order.page)
    except ValueError:
        return None
    if known is None:
        return None
    return HostAccess(known[0], str(known[1]), started.values.host_credential, order.host_app)


async def access_with_git_credential(access: RepositoryAccess) -> RepositoryAccess:
    """Return the access with the credential that git signs in with. :raises GitRefused"""
    https = access.order.address.startswith("https://")
    try:
        credential = await git_credential(access.host, https, access.credential, access.guard)
    except HostError as error:
        raise GitRefused(str(error)) from error
    return replace(access, credential=credential)
