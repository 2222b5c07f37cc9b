"""Preparation of a repository before a station runs in it: its command, or what that left before
(docs/repositories.md). A failure here is nobody's work: `prepare_failed`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dulwich.objects import S_ISGITLINK

from pipelines.routing.document.kinds import kind_executes
from pipelines.routing.document.work.network import name_and_port_of_host_or_none
from pipelines.work.file_measure import measure_file
from pipelines.work.git.attempt import Prepared
from pipelines.work.git.trees import Leaf
from pipelines.work.handlers import command
from pipelines.work.handlers.program_start import NotPrepared
from pipelines.work.images import ImageAbsent, Images
from pipelines.work.orders.order import PROGRAMS_AS_THEY_ARE, Orders
from pipelines.work.outgoing.authorities import program_variables
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.image_root import ImageRoot
from pipelines.work.processes.isolation import Access
from pipelines.work.results.files import FileRefused, open_plain_file
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.spec.handler_io import ProcessLimits, Sink, Spec
from pipelines.work.spec.preparation import Preparation, ServiceProgram
from pipelines.work.worker.attempt_io import Packed
from pipelines.work.worker.prepared_files import (
    EnvironmentFiles,
    FileMarks,
    PreparedFiles,
    added_topmost_paths,
    scan_file_marks,
)
from pipelines.work.workspaces import WorkspaceTooLarge

SECONDS: Final = 1800.0
SILENT_SECONDS: Final = 600.0
TIMEOUTS: Final = {
    "max_timeout": "it took longer than 30 minutes",
    "idle_timeout": "it printed nothing for 10 minutes",
}
LOOKS_SECONDS: Final = 0.5
MAX_REFUSALS: Final = 5
# How notes of the proxy begin, and what it says of a host that is not listed, or is private
HOST_REFUSED: Final = "[gateline] Network: "
REFUSED: Final = (" is not in ", " has the private address ")
FAILURE_TYPE: Final = "prepare_failed"
STARTS_SERVICES: Final = ("agent", "command", "hook")


@dataclass(frozen=True)
class PreparedFolder:
    """`files`: what was added to the folder, and is no part of the change. `facts`: how it came about. `image`,
    `images`: as of a spec. `private`: hosts whose addresses may be private. `problem`: why there is none."""

    def spec_in_prepared_folder(self, spec: Spec) -> Spec:
        """The spec of the station that works in it."""
        reaching = outgoing_with_private_hosts(spec.outgoing, self.private)
        return replace(spec, services=self.services, image=self.image, images=self.images, outgoing=reaching)

    files: EnvironmentFiles = field(default_factory=EnvironmentFiles)
    facts: Mapping[str, Any] = field(default_factory=dict)
    services: tuple[ServiceProgram, ...] = ()
    image: str = ""
    images: Mapping[str, ImageRoot] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    problem: str = ""


class RefusalSink:
    """A sink that keeps what was refused."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.refused: list[str] = []

    async def write(self, stream: str, data: bytes) -> None:
        await self._sink.write(stream, data)

    async def note(self, text: str) -> None:
        if text.startswith(HOST_REFUSED) and any(words in text for words in REFUSED):
            self.refused.append(text.removeprefix(HOST_REFUSED).removeprefix("The "))
        await self._sink.note(text)


def outgoing_with_private_hosts(outgoing: Outgoing, private: tuple[str, ...]) -> Outgoing:
    """Return the outgoing access with these hosts, on their ports, allowed to have private addresses."""
    inside = tuple(filter(None, map(name_and_port_of_host_or_none, private)))
    return replace(outgoing, guard=replace(outgoing.guard, inside=inside))


def packed_without_prepared_files(packed: Packed, made: PreparedFolder) -> Packed:
    """Set apart what was prepared: it goes on to no station after this one, which has its own."""
    return replace(packed, environment=made.files, prepared=made.facts)


async def prepare_environment(
    ready: Prepared,
    orders: Orders,
    spec: Spec,
    filled: bool,
    prepared_files: PreparedFiles,
    images: Images | None,
    sink: Sink,
) -> PreparedFolder:
    """Prepare the folder of an attempt. `filled`: with what the station before left."""
    if not kind_executes(spec.kind) or orders.git is None:
        return PreparedFolder()
    preparation = Preparation.of_dict(orders.git.prepare)
    try:
        roots = await _image_roots(
            preparation, images, outgoing_with_private_hosts(spec.outgoing, preparation.private).guard, sink
        )
        spec = replace(spec, image=preparation.image, images=roots)
        made = (
            await _copy_cached_or_run_preparation(
                preparation, ready, orders, spec, filled, prepared_files, sink
            )
            if preparation.argv
            else PreparedFolder()
        )
    except NotPrepared as error:
        await sink.note(f"[gateline] {error}")
        return PreparedFolder(problem=str(error))
    except WorkspaceTooLarge as error:
        await sink.note(f"[gateline] Prepare left {error}.")
        return PreparedFolder(problem=f"Prepare left {error}.")
    services = preparation.services if spec.kind in STARTS_SERVICES else ()
    return replace(
        made, services=services, image=preparation.image, images=roots, private=preparation.private
    )


async def _image_roots(
    preparation: Preparation, images: Images | None, guard: Guard, sink: Sink
) -> dict[str, ImageRoot]:
    """:raises NotPrepared: an image is not there"""

    async def append_line_to_log(text: str) -> None:
        await sink.note(f"[gateline] {text}")

    roots = dict[str, ImageRoot]()
    for name in preparation.images:
        if images is None:
            raise NotPrepared("This runner has no podman or docker behind bubblewrap, which images take.")
        try:
            roots[name] = await images.unpacked_image_root(name, guard, append_line_to_log)
        except ImageAbsent as error:
            if error.said.strip():
                await sink.write("err", error.said.encode())
            raise NotPrepared(f"{error}.") from error
    return roots


async def _copy_cached_or_run_preparation(
    preparation: Preparation,
    ready: Prepared,
    orders: Orders,
    spec: Spec,
    filled: bool,
    prepared_files: PreparedFiles,
    sink: Sink,
) -> PreparedFolder:
    """:raises NotPrepared"""
    began, workspace = time.monotonic(), spec.attempt.workspace
    # Only files of the base itself make what other tasks get: a task could have changed what the command runs.
    first = ready.state.head == ready.state.base and not filled
    lock = await asyncio.to_thread(_lock_file_digest_or_empty, preparation, workspace)
    branch = ready.state.base_branch
    shared, own = (
        # One for all tasks, one for this task alone
        cache_key(preparation, orders, lock, branch, task, _image_digest_or_empty(spec))
        for task in ("", orders.task)
    )
    keys = (shared, own) if preparation.cache else ()
    files = await _copy_cached_or_none(prepared_files, keys, workspace)
    async with AsyncExitStack() as alone:
        if files is None and keys:
            await _wait_for_turn(alone, prepared_files, shared if first else own, sink)
            # Again: whoever was waited for may have left it
            files = await _copy_cached_or_none(prepared_files, keys, workspace)
        cached = files is not None
        if files is None:
            before = await asyncio.to_thread(scan_file_marks, workspace)
            await _run_preparation(preparation, spec, sink)
            files = EnvironmentFiles(
                await asyncio.to_thread(_added_paths, before, _plain_files(ready), workspace)
            )
            if keys:
                files = await _keep_prepared(prepared_files, shared if first else own, workspace, files, sink)
    seconds = round(time.monotonic() - began, 1)
    how = "Prepared from the cache" if cached else "Prepared"
    await sink.note(f"[gateline] {how} ({seconds:g} s).")
    return PreparedFolder(files, {"cached": cached, "seconds": seconds})


async def _copy_cached_or_none(
    prepared_files: PreparedFiles, keys: tuple[str, ...], workspace: Path
) -> EnvironmentFiles | None:
    for key in keys:
        if (files := await asyncio.to_thread(prepared_files.fill_from_stored, key, workspace)) is not None:
            return files
    return None


async def _wait_for_turn(until: AsyncExitStack, prepared_files: PreparedFiles, key: str, sink: Sink) -> None:
    """Wait while another station of this machine prepares the same: what it leaves is taken."""
    is_noted = False
    while True:
        with ExitStack() as own_stack:
            if own_stack.enter_context(prepared_files.making_entry(key)):
                # Kept beyond this block: the caller lets go once it has stored what it prepared
                until.push(own_stack.pop_all())
                return
        if not is_noted:
            is_noted = True
            await sink.note("[gateline] Another station prepares the same. Waiting for what it leaves.")
        await asyncio.sleep(LOOKS_SECONDS)


def cache_key(
    preparation: Preparation, orders: Orders, lock: str, branch: str, task: str = "", image: str = ""
) -> str:
    """Return the key of a stored entry: another lock file, definition, repository, base branch or machine is
    another one. What the command runs lies in the repository: who may push some branch could leave
    packages for tasks of the others."""
    assert orders.git is not None
    fields = {
        "argv": preparation.argv,
        "image": image,
        "hosts": preparation.hosts,
        "lock": lock,
        "path": preparation.cache,
        "repository": orders.git.repository,
        "project": orders.project_id,
        "address": orders.git.address,
        "branch": branch,
        "machine": [platform.system(), platform.machine()],
        "task": task,
    }
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _image_digest_or_empty(spec: Spec) -> str:
    """Return the name of the image's content: what was installed with one release of it may not run with the
    next."""
    # The folder of an image has the name of its content (`images`)
    return spec.images[spec.image].root.parent.name if spec.image else ""


def _lock_file_digest_or_empty(preparation: Preparation, workspace: Path) -> str:
    if not preparation.cache:
        return ""
    try:
        with open_plain_file(workspace, preparation.cache) as file:
            return measure_file(file).digest
    except FileRefused:
        raise NotPrepared(
            f"The lock file {escaped_for_storage(preparation.cache)} is not in the repository. "
            "Change Prepare in the settings of the repository."
        ) from None


async def _run_preparation(preparation: Preparation, spec: Spec, sink: Sink) -> None:
    # Not the workspace, as of a command: what it caches at home would count as prepared
    home = spec.attempt.root / "prepare"
    home.mkdir(mode=0o700, exist_ok=True)
    place = {"PATH": spec.env.get("PATH", os.defpath), "HOME": str(home)}
    env = {**place, "LANG": "C.UTF-8", **PROGRAMS_AS_THEY_ARE}
    if spec.attempt.certificates.exists():
        env |= program_variables(spec.attempt.certificates)
    made = Spec(
        kind="command",
        attempt=spec.attempt,
        argv=preparation.argv,
        env={**env, "TMPDIR": str(spec.attempt.temporary)},
        limits=ProcessLimits(idle=SILENT_SECONDS, total=SECONDS),
        isolation=spec.isolation,
        access=Access(
            network=False,
            hosts=tuple(filter(None, map(name_and_port_of_host_or_none, preparation.hosts))),
            whose="the Hosts of the environment",
        ),
        outgoing=outgoing_with_private_hosts(spec.outgoing, preparation.private),
        resources=spec.resources,
        image=spec.image,
        images={spec.image: spec.images[spec.image]} if spec.image else {},
        # Package managers print the text of others, and no line of it may say where the task goes
        heeds_signals=False,
    )
    refusal_sink = RefusalSink(sink)
    words = escaped_for_storage(" ".join(preparation.argv))[:300]
    await sink.note(f"[gateline] Prepare: {words}")
    outcome = await command.run(made, refusal_sink)
    if outcome.get("result", "success") == "success" and outcome.get("exit_code") == 0:
        return
    code = outcome.get("exit_code")
    reason = str(outcome.get("reason") or "")
    why = str(outcome.get("summary") or TIMEOUTS.get(reason, reason) or f"it ended with exit code {code}")
    hosts = " ".join(f"The {refusal}" for refusal in dict.fromkeys(refusal_sink.refused[:MAX_REFUSALS]))
    if REFUSED[1] in hosts:
        hosts += (
            " Or an administrator of the installation ticks “These hosts may have private addresses” under"
            " Environment, in the settings of the repository."
        )
    if hosts:
        # Of what could not be reached the program makes an error of its own, which sounds like the cause
        raise NotPrepared(f"Prepare failed: {hosts} That is why {words} failed: {why.rstrip('.')}.")
    raise NotPrepared(f"Prepare failed ({words}): {why.rstrip('.')}.")


def _plain_files(ready: Prepared) -> dict[str, Leaf]:
    """The files of the commit; what a command adds in a submodule changes none of them."""
    return {path: leaf for path, leaf in ready.files.items() if not S_ISGITLINK(leaf[0])}


def _added_paths(before: FileMarks, tracked: Mapping[str, Leaf], workspace: Path) -> tuple[str, ...]:
    """Return what the command added, in a thread. It may change nothing that the task would deliver."""
    after = scan_file_marks(workspace)
    changed = sorted(
        path
        for path in tracked
        if path in before and _has_changed(path, before, after, tracked[path], workspace)
    )
    if changed:
        more = f" and {len(changed) - MAX_REFUSALS} more" if len(changed) > MAX_REFUSALS else ""
        raise NotPrepared(
            f"Prepare changed files of the repository: {escaped_for_storage(', '.join(changed[:MAX_REFUSALS]))}{more}. "
            "It may only add files."
        )
    return added_topmost_paths(before, after)


def _has_changed(path: str, before: FileMarks, after: FileMarks, leaf: Leaf, workspace: Path) -> bool:
    if before[path] == after.get(path):
        return False
    if path not in after:
        return True
    try:
        with open_plain_file(workspace, path) as file:
            data = file.read()
    except FileRefused:
        return True
    # As git names the content of a file
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest().encode() != leaf[1]


async def _keep_prepared(
    prepared_files: PreparedFiles, key: str, workspace: Path, files: EnvironmentFiles, sink: Sink
) -> EnvironmentFiles:
    try:
        files = await asyncio.to_thread(prepared_files.store_prepared_files, key, workspace, files.roots)
        await asyncio.to_thread(prepared_files.remove_unused_entries)
    except OSError as error:
        await sink.note(f"[gateline] What was prepared could not be kept: {error.strerror}.")
    return files
