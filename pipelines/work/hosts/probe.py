"""Test of a connection to a host: what it can do, as `Test connection` reports it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.table import host_at
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess


@dataclass(frozen=True)
class HostFound:
    """Result of a connection test: whether it works, and the fact or the reason. `required`: the checks that
    the host requires of `branch`; none where that cannot be read."""

    ok: bool
    said: str
    branch: str = ""
    required: tuple[str, ...] = ()


def probe_host(access: HostAccess, guard: Guard, missing: str = "", branch: str = "") -> HostFound:
    """Test a connection, in a thread, without changing anything. `missing`: why its secret is not there.
    `branch`: "" is the default one."""
    return HostFound(False, missing) if missing else asyncio.run(_looked(access, guard, branch))


async def _looked(access: HostAccess, guard: Guard, branch: str) -> HostFound:
    try:
        host = await host_at(access, guard)
        pushes = await host.look()
    except HostError as error:
        return HostFound(False, str(error))
    if not pushes:
        return HostFound(False, f"The token may read {access.page}, and not write to it.")
    try:
        branch = branch or (await host.token()).default_branch
        return HostFound(True, host.name, branch, tuple(await host.demanded(branch)) if branch else ())
    except HostError:
        # The connection works: its branch and checks are only told besides
        return HostFound(True, host.name)
