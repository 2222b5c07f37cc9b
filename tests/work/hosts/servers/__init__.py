"""Servers that behave as the hosts' documentation says, as far as Gateline asks them: a real server each, over the bare
repository of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.outgoing.servers import serving
from tests.published.table import exchange_faults
from tests.work.hosts.servers.base import PATH, TOKEN, FakeHost, issue
from tests.work.hosts.servers.gitea import GiteaServer
from tests.work.hosts.servers.github import GitHubAppServer, GitHubServer
from tests.work.hosts.servers.gitlab import GitLabServer
from tests.work.remotes import RemoteRepository

__all__ = [
    "BY_KEY",
    "PATH",
    "SERVERS",
    "TOKEN",
    "FakeHost",
    "GitHubAppServer",
    "GitHubServer",
    "GitLabServer",
    "GiteaServer",
    "host",
    "issue",
]

SERVERS = (GitHubServer, GitLabServer, GiteaServer)
BY_KEY = {each.key: each for each in SERVERS}


@contextmanager
def host(key: str, origin: RemoteRepository) -> Iterator[Any]:
    made = BY_KEY[key](origin)
    with serving(made.answer) as server:
        made.server = server
        yield made
    if faults := exchange_faults(key, made.exchanges):
        raise AssertionError("Nobody published this:\n" + "\n".join(faults))
