"""What a repository needs before a station runs in it: its command, or what that left before (docs/repositories.md).
What fails here is nobody's work: `prepare_failed`."""

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

from pipelines.routing.document.kinds import executes
from pipelines.routing.document.work.network import host_of
from pipelines.work.git.attempt import Prepared
from pipelines.work.git.trees import Leaf
from pipelines.work.handlers import command
from pipelines.work.handlers.starting import NotPrepared
from pipelines.work.images import ImageAbsent, Images
from pipelines.work.measuring import measure
from pipelines.work.orders.order import PROGRAMS_AS_THEY_ARE, Orders
from pipelines.work.outgoing.authorities import for_programs
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.image_root import ImageRoot
from pipelines.work.processes.isolation import Access
from pipelines.work.results.files import FileRefused, opened
from pipelines.work.results.text import escaped
from pipelines.work.spec.base import ProcessLimits, Sink, Spec
from pipelines.work.spec.preparation import Preparation, ServiceProgram
from pipelines.work.worker.handover import Packed
from pipelines.work.worker.prepared_files import PreparedFiles, Seen, added, seen

SECONDS: Final = 1800.0
SILENT_SECONDS: Final = 600.0
LOOKS_SECONDS: Final = 0.5
NAMED: Final = 5
HOST_REFUSED: Final = "[gateline] Network: "
REFUSED: Final = (" is not in ", " has the private address ")
FAILURE_TYPE: Final = "prepare_failed"
STARTS_SERVICES: Final = ("agent", "command", "hook")


@dataclass(frozen=True)
class PreparedFolder:
    """`roots`: what was added to the folder, and is no part of the change. `facts`: how it came about. `image`,
    `images`: as of a spec. `private`: hosts whose addresses may be private. `problem`: why there is none."""

    def around(self, spec: Spec) -> Spec:
        """The spec of the station that works in it."""
        reaching = also(spec.outgoing, self.private)
        return replace(spec, services=self.services, image=self.image, images=self.images, outgoing=reaching)

    roots: tuple[str, ...] = ()
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


def also(outgoing: Outgoing, private: tuple[str, ...]) -> Outgoing:
    """Let these hosts, on their ports, have addresses of a private network."""
    inside = tuple(filter(None, map(host_of, private)))
    return replace(outgoing, guard=replace(outgoing.guard, inside=inside))


def beside_the_change(packed: Packed, made: PreparedFolder) -> Packed:
    """What was prepared goes on to no station after this one, which has its own."""
    return replace(packed, apart=(*packed.apart, *made.roots), prepared=made.facts)


async def environment(
    ready: Prepared,
    orders: Orders,
    spec: Spec,
    filled: bool,
    kept: PreparedFiles,
    images: Images | None,
    sink: Sink,
) -> PreparedFolder:
    """Prepare the folder of an attempt. `filled`: with what the station before left."""
    if not executes(spec.kind) or orders.git is None:
        return PreparedFolder()
    wanted = Preparation.of_dict(orders.git.prepare)
    try:
        roots = await _roots(wanted, images, also(spec.outgoing, wanted.private).guard, sink)
        spec = replace(spec, image=wanted.image, images=roots)
        made = (
            await _files(wanted, ready, orders, spec, filled, kept, sink) if wanted.argv else PreparedFolder()
        )
    except NotPrepared as error:
        await sink.note(f"[gateline] {error}")
        return PreparedFolder(problem=str(error))
    services = wanted.services if spec.kind in STARTS_SERVICES else ()
    return replace(made, services=services, image=wanted.image, images=roots, private=wanted.private)


async def _roots(
    wanted: Preparation, images: Images | None, guard: Guard, sink: Sink
) -> dict[str, ImageRoot]:
    """:raises NotPrepared: an image is not there"""

    async def tell(text: str) -> None:
        await sink.note(f"[gateline] {text}")

    found = dict[str, ImageRoot]()
    for name in wanted.images:
        if images is None:
            raise NotPrepared("This runner has no podman or docker behind bubblewrap, which images take.")
        try:
            found[name] = await images.root(name, guard, tell)
        except ImageAbsent as error:
            if error.said.strip():
                await sink.write("err", error.said.encode())
            raise NotPrepared(f"{error}.") from error
    return found


async def _files(
    wanted: Preparation,
    ready: Prepared,
    orders: Orders,
    spec: Spec,
    filled: bool,
    kept: PreparedFiles,
    sink: Sink,
) -> PreparedFolder:
    """:raises NotPrepared"""
    began, workspace = time.monotonic(), spec.attempt.workspace
    # Only files of the base itself make what other tasks get: a task could have changed what the command runs.
    first = ready.state.head == ready.state.base and not filled
    lock = await asyncio.to_thread(_lock, wanted, workspace)
    branch = ready.state.base_branch
    shared, own = (key_of(wanted, orders, lock, branch, task, _content(spec)) for task in ("", orders.task))
    keys = (shared, own) if wanted.cache else ()
    roots = await _taken(kept, keys, workspace)
    async with AsyncExitStack() as alone:
        if roots is None and keys:
            await _alone(alone, kept, shared if first else own, sink)
            roots = await _taken(kept, keys, workspace)
        cached = roots is not None
        if roots is None:
            before = await asyncio.to_thread(seen, workspace)
            await _run(wanted, spec, sink)
            roots = await asyncio.to_thread(_added, before, ready.files, workspace)
            if keys:
                await _keep(kept, shared if first else own, workspace, roots, sink)
    seconds = round(time.monotonic() - began, 1)
    how = "Prepared from the cache" if cached else "Prepared"
    await sink.note(f"[gateline] {how} ({seconds:g} s).")
    return PreparedFolder(roots, {"cached": cached, "seconds": seconds})


async def _taken(kept: PreparedFiles, keys: tuple[str, ...], workspace: Path) -> tuple[str, ...] | None:
    for key in keys:
        if (roots := await asyncio.to_thread(kept.take, key, workspace)) is not None:
            return roots
    return None


async def _alone(until: AsyncExitStack, kept: PreparedFiles, key: str, sink: Sink) -> None:
    """Wait while another station of this machine prepares the same: what it leaves is taken."""
    told = False
    while True:
        with ExitStack() as mine:
            if mine.enter_context(kept.makes(key)):
                until.push(mine.pop_all())
                return
        if not told:
            told = True
            await sink.note("[gateline] Another station prepares the same. Waiting for what it leaves.")
        await asyncio.sleep(LOOKS_SECONDS)


def key_of(
    wanted: Preparation, orders: Orders, lock: str, branch: str, task: str = "", image: str = ""
) -> str:
    """Of what is kept: another lock file, definition, repository, base branch or machine is another one. What the
    command runs lies in the repository: who may push some branch could leave packages for tasks of the others."""
    assert orders.git is not None
    told = {
        "argv": wanted.argv,
        "image": image,
        "hosts": wanted.hosts,
        "lock": lock,
        "path": wanted.cache,
        "repository": orders.git.repository,
        "project": orders.project_id,
        "address": orders.git.address,
        "branch": branch,
        "machine": [platform.system(), platform.machine()],
        "task": task,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _content(spec: Spec) -> str:
    """Of its image: what was installed with one release of it may not run with the next."""
    return spec.images[spec.image].root.parent.name if spec.image else ""


def _lock(wanted: Preparation, workspace: Path) -> str:
    if not wanted.cache:
        return ""
    try:
        with opened(workspace, wanted.cache) as file:
            return measure(file).digest
    except FileRefused:
        raise NotPrepared(
            f"The lock file {escaped(wanted.cache)} is not in the repository. "
            "Change Prepare in the settings of the repository."
        ) from None


async def _run(wanted: Preparation, spec: Spec, sink: Sink) -> None:
    home = spec.attempt.root / "prepare"
    home.mkdir(mode=0o700, exist_ok=True)
    place = {"PATH": spec.env.get("PATH", os.defpath), "HOME": str(home)}
    env = {**place, "LANG": "C.UTF-8", **PROGRAMS_AS_THEY_ARE}
    if spec.attempt.certificates.exists():
        env |= for_programs(spec.attempt.certificates)
    made = Spec(
        kind="command",
        attempt=spec.attempt,
        argv=wanted.argv,
        env={**env, "TMPDIR": str(spec.attempt.temporary)},
        limits=ProcessLimits(idle=SILENT_SECONDS, total=SECONDS),
        isolation=spec.isolation,
        access=Access(
            network=False,
            hosts=tuple(filter(None, map(host_of, wanted.hosts))),
            whose="the list of Prepare",
        ),
        outgoing=also(spec.outgoing, wanted.private),
        resources=spec.resources,
        image=spec.image,
        images={spec.image: spec.images[spec.image]} if spec.image else {},
        heeds_signals=False,
    )
    heard = RefusalSink(sink)
    words = escaped(" ".join(wanted.argv))[:300]
    await sink.note(f"[gateline] Prepare: {words}")
    outcome = await command.run(made, heard)
    if outcome.get("result", "success") == "success" and outcome.get("exit_code") == 0:
        return
    code = outcome.get("exit_code")
    why = str(outcome.get("summary") or outcome.get("reason") or f"it ended with exit code {code}")
    hosts = "".join(f" The {each}" for each in dict.fromkeys(heard.refused[:NAMED]))
    if REFUSED[1] in hosts:
        hosts += (
            " Or an administrator of the installation ticks “These hosts may have private addresses” under"
            " Environment, in the settings of the repository."
        )
    raise NotPrepared(f"Prepare failed ({words}): {why.rstrip('.')}.{hosts}")


def _added(before: Seen, tracked: Mapping[str, Leaf], workspace: Path) -> tuple[str, ...]:
    """What the command added. It may change nothing that the task would deliver. In a thread."""
    after = seen(workspace)
    changed = sorted(
        path for path in tracked if path in before and _differs(path, before, after, tracked[path], workspace)
    )
    if changed:
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        raise NotPrepared(
            f"Prepare changed files of the repository: {escaped(', '.join(changed[:NAMED]))}{more}. "
            "It may only add files."
        )
    return added(before, after)


def _differs(path: str, before: Seen, after: Seen, leaf: Leaf, workspace: Path) -> bool:
    if before[path] == after.get(path):
        return False
    if path not in after:
        return True
    try:
        with opened(workspace, path) as file:
            data = file.read()
    except FileRefused:
        return True
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest().encode() != leaf[1]


async def _keep(kept: PreparedFiles, key: str, workspace: Path, roots: tuple[str, ...], sink: Sink) -> None:
    try:
        await asyncio.to_thread(kept.keep, key, workspace, roots)
        await asyncio.to_thread(kept.expire)
    except OSError as error:
        await sink.note(f"[gateline] What was prepared could not be kept: {error.strerror}.")
