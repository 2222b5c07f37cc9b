"""Signing in as a GitHub App: for its API, and for git over https."""

from __future__ import annotations

import asyncio

import pytest

from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.github_app import app_installation, git_credential
from pipelines.work.hosts.table import open_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess
from tests.outgoing.servers import serving
from tests.work.hosts.servers import GitHubAppServer
from tests.work.remotes import RemoteRepository

LOOPBACK = Guard(("127.0.0.0/8",))


def test_an_app_signs_in_with_a_token_of_its_installation(origin: RemoteRepository) -> None:
    app = GitHubAppServer(origin)
    with serving(app.answer) as app.server:
        access = HostAccess("github", app.page, app.pem, app.app)

        async def asked() -> None:
            assert (await app_installation(access, LOOPBACK)).token == "ghs_1"
            # That one is nearly over: there is a new one, which is kept.
            assert await (await open_host(access, LOOPBACK)).can_push() is True
            assert await git_credential(access, True, "", LOOPBACK) == "ghs_2" and app.minted == 2
            assert await git_credential(access, True, "own-token", LOOPBACK) == "own-token"
            assert await git_credential(access, False, "key", LOOPBACK) == "key"

        asyncio.run(asked())


@pytest.mark.parametrize(
    ("credential", "why"),
    [("ghp_token", "store the whole .pem file"), ("", "not installed for acme/app")],
)
def test_an_app_that_cannot_sign_in_says_why(origin: RemoteRepository, credential: str, why: str) -> None:
    app = GitHubAppServer(origin)
    app.installed = False
    with serving(app.answer) as app.server:
        access = HostAccess("github", app.page, credential or app.pem, app.app)
        with pytest.raises(HostError, match=why):
            asyncio.run(open_host(access, LOOPBACK))
