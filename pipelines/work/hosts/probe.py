"""What a connection to a host can do, as `Test connection` tells it."""

from __future__ import annotations

import asyncio

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.table import host_at
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess


def probe_host(access: HostAccess, guard: Guard, missing: str = "") -> tuple[bool, str]:
    """In a thread, without changing anything: whether it works, and the fact or why not. `missing`: why its secret is
    not there."""
    return (False, missing) if missing else asyncio.run(_looked(access, guard))


async def _looked(access: HostAccess, guard: Guard) -> tuple[bool, str]:
    try:
        host = await host_at(access, guard)
        pushes = await host.look()
    except HostError as error:
        return False, str(error)
    if not pushes:
        return False, f"The token may read {access.page}, and not write to it."
    return True, host.name
