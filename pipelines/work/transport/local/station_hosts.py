"""Hosts that a station may reach whose network is a list (house §5)."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.models import Task
from pipelines.ports.server_folders import ServerFolders
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.line import Station
from pipelines.routing.document.work.network import HTTPS, INPUT, egress_entries_or_none
from pipelines.work.git.addresses import parsed_repository_address
from pipelines.work.git.refusals import GitRefused


def reachable_hosts(task: Task, station: Station) -> tuple[str, ...]:
    """`host` or `host:port`; those of its agent first. None where its network is no list."""
    entries = egress_entries_or_none(station.work.get("network"))
    if entries is None:
        return ()
    kind = KINDS.get(station.kind)
    own = kind.hosts(station.work) if kind else ()
    return tuple(dict.fromkeys((*own, *_hosts_with_inputs(task, entries))))


def _hosts_with_inputs(task: Task, entries: tuple[str, ...]) -> Iterator[str]:
    for entry in entries:
        if not entry.startswith(INPUT):
            yield entry
        elif host := host_of_repository_or_empty(str(task.inputs.get(entry.removeprefix(INPUT)) or "")):
            yield host


def host_of_repository_or_empty(address: str) -> str:
    """ "" where it is a folder. Over ssh stations reach nothing: its host is meant as it answers over https."""
    try:
        parsed_address = parsed_repository_address(address, ServerFolders())
    except GitRefused:
        return ""
    own = parsed_address.scheme == "https" and parsed_address.port != HTTPS
    return f"{parsed_address.host}:{parsed_address.port}" if own else parsed_address.host
