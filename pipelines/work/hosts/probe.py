"""Test of a connection to a host: what it can do, as `Test connection` reports it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.table import open_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess


@dataclass(frozen=True)
class HostProbeResult:
    """Result of a connection test: whether it works, and the fact or the reason. `required`: the checks that
    the host requires of `branch`; none where that cannot be read."""

    ok: bool
    said: str
    branch: str = ""
    required: tuple[str, ...] = ()


def probe_host(access: HostAccess, guard: Guard, missing: str = "", branch: str = "") -> HostProbeResult:
    """Test a connection, in a thread, without changing anything. `missing`: why its secret is not there.
    `branch`: "" is the default one."""
    return HostProbeResult(False, missing) if missing else asyncio.run(_probe_host(access, guard, branch))


async def _probe_host(access: HostAccess, guard: Guard, branch: str) -> HostProbeResult:
    try:
        host = await open_host(access, guard)
        pushes = await host.can_push()
    except HostError as error:
        return HostProbeResult(False, str(error))
    if not pushes:
        return HostProbeResult(False, f"The token may read {access.page}, and not write to it.")
    try:
        branch = branch or (await host.read_token_rights()).default_branch
        return HostProbeResult(
            True, host.name, branch, tuple(await host.enforced_checks(branch)) if branch else ()
        )
    except HostError:
        # The connection works: its branch and checks are only told besides
        return HostProbeResult(True, host.name)
