"""Network access of a station's program while it runs: the proxy for its list of hosts (house §5)."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from pipelines.work.outgoing.proxy import HostProxy
from pipelines.work.processes.isolation import PROXY
from pipelines.work.processes.process import CannotStart
from pipelines.work.spec.handler_io import Sink, Spec

NOT_ENFORCED: Final = (
    "Network: the list of hosts is not enforced, because nothing isolates stations on this runner."
)
CANNOT: Final = (
    "this runner cannot keep a station to a list of hosts, which takes bubblewrap, or Landlock of Linux 6.7 or later. "
    "Install bubblewrap, set Network to None or Open, or run the station elsewhere by a label"
)


@asynccontextmanager
async def proxying_hosts(spec: Spec, sink: Sink) -> AsyncIterator[Spec]:
    """The spec with the door to its hosts, where it has a list; the proxy is there as long as the block.

    :raises CannotStart: this machine could cut the network, but let nothing through"""
    hosts = spec.access.hosts
    if not hosts:
        yield spec
        return
    if not spec.isolation.cuts_network:
        await sink.note(f"[gateline] {NOT_ENFORCED}")
        yield spec
        return
    if not spec.isolation.limits_hosts:
        raise CannotStart(CANNOT)

    async def note(text: str) -> None:
        await sink.note(f"[gateline] {text}")

    # A path of a socket has about a hundred characters; those of attempts are longer.
    door = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="gateline-door-"))
    proxy = HostProxy(frozenset(hosts), spec.outgoing.guard, note, whose=spec.access.whose)
    try:
        await proxy.listen(door / PROXY)
        listed = ", ".join(f"{name}:{port}" for name, port in hosts)
        await note(f"Network: {listed}, by the proxy of HTTPS_PROXY. All else is refused.")
        yield replace(spec, access=replace(spec.access, door=door))
    finally:
        await proxy.close()
        await asyncio.to_thread(shutil.rmtree, door, ignore_errors=True)
