"""The hosts that Gateline knows, and which one keeps a repository."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.gitea import Gitea
from pipelines.work.hosts.github import GitHub
from pipelines.work.hosts.github_app import app_installation
from pipelines.work.hosts.gitlab import GitLab
from pipelines.work.hosts.host import Host
from pipelines.work.hosts.page import HostPage, parsed_host_page
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess

TABLE = (GitHub, GitLab, Gitea)
NAMES = {host_class.key: host_class.name for host_class in TABLE}
CLASSES = {host_class.key: host_class for host_class in TABLE}
HOSTS: dict[str, Callable[[HostPage, str, Guard], Host]] = {
    host_class.key: host_class for host_class in TABLE
}
NONE = "none"


def find_host_key_and_page(host: str, address: str, page: str) -> tuple[str, HostPage] | None:
    """Return the host that keeps a repository, and its page there. `host` "" and `page` "": as its address
    says.

    :raises ValueError: there is a host, but its page cannot be determined, in words
    """
    if host == NONE:
        return None
    if not host:
        try:
            known = parsed_host_page(page or address)
        # Nobody chose a host: an address that is no page simply has none
        except ValueError:
            return None
        host = next((host_class.key for host_class in TABLE if known.server in host_class.servers), "")
        return (host, known) if host else None
    if host not in HOSTS:
        raise ValueError("Choose one of the hosts that are offered.")
    return host, parsed_host_page(page or address)


async def open_host(access: HostAccess, guard: Guard) -> Host:
    """:raises HostError: a host of this name is not known here, or an app cannot sign in"""
    if access.host not in HOSTS:
        raise HostError(f"This worker knows no host {access.host}. Start a newer one.")
    if access.app and access.host == GitHub.key:
        app = await app_installation(access, guard)
        return GitHub(parsed_host_page(access.page), app.token, guard, app.granted)
    return HOSTS[access.host](parsed_host_page(access.page), access.credential, guard)
