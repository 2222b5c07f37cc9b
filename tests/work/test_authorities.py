"""A private certificate authority: one setting, for what Gateline calls itself and for what its stations call."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from dulwich.errors import GitProtocolError, NotGitRepository

from pipelines.models import Repository
from pipelines.work.outgoing.authorities import (
    Authorities,
    WrongBundle,
    configured_authorities,
    set_trusted_authorities,
)
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.git_client import HttpsGitClient
from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.http_fetch import Call, fetch_url
from pipelines.work.processes.isolation import isolation_places, link_folders
from tests.factories import World
from tests.outgoing.authority import CompanyAuthority, company_authority
from tests.outgoing.servers import Asked, Server, say, serving
from tests.work.driving import PYTHON, Bench, command, done, drive, text_of
from tests.work.isolations import BOTH, isolation_or_skip
from tests.work.remotes import connect, remote

LISTED = Guard(("127.0.0.0/8", "::1"))
ASKS = "import urllib.request as u; print(u.urlopen('https://registry.test:{port}/').read().decode())"


@pytest.fixture
def company(tmp_path: Path) -> Iterator[CompanyAuthority]:
    yield company_authority(tmp_path)
    set_trusted_authorities(Authorities())


@pytest.fixture
def server(company: CompanyAuthority) -> Iterator[Server]:
    def answers(to: Any, asked: Asked) -> None:
        say(to, 404 if ".git" in asked.path else 200, b"it answers")

    with serving(answers, by=company.server) as found:
        yield found


def test_calls_trust_it_once_it_is_named_and_say_so_before(company: CompanyAuthority, server: Server) -> None:
    call = Call("GET", f"https://localhost:{server.port}/", {})
    with pytest.raises(
        httpx2.ConnectError, match=r"certificate of localhost is not trusted.*GATELINE_CA_BUNDLE"
    ):
        asyncio.run(fetch_url(call, LISTED, 5))
    with pytest.raises(GitProtocolError, match="GATELINE_CA_BUNDLE"):
        refs(server)
    set_trusted_authorities(configured_authorities({"GATELINE_CA_BUNDLE": str(company.bundle)}))
    assert asyncio.run(fetch_url(call, LISTED, 5)).body == b"it answers"
    with pytest.raises(NotGitRepository):  # it was asked
        refs(server)


def refs(server: Server) -> None:
    with closing(HttpsGitClient(f"https://localhost:{server.port}/it.git", LISTED, 5)) as client:
        client.get_refs(b"")


async def here(host: str, port: int) -> list[str]:
    """Whatever is asked for is on this machine: no program goes to `localhost` by a proxy."""
    return ["127.0.0.1"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
@pytest.mark.isolation
@pytest.mark.usefixtures("artifacts_here")
@pytest.mark.parametrize("name", BOTH)
def test_a_station_and_what_prepares_it_trust_it_behind_their_list_of_hosts(
    name: str, world: World, bench: Bench, company: CompanyAuthority, server: Server, tmp_path: Path
) -> None:
    bench.base.mkdir(parents=True, exist_ok=True)
    readable = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(PYTHON))]
    isolation = asyncio.run(isolation_or_skip(name, isolation_places(readable, [], tmp_path), bench.base))
    assert isolation.limits_hosts
    connect(world.project, remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"}))
    asks, listed = [PYTHON, "-c", ASKS.format(port=server.port)], {"egress": [f"registry.test:{server.port}"]}
    Repository.objects.update(prepare={"argv": asks, "network": listed})
    version = world.line(
        stations=[command("look", "", work={"argv": asks, "network": listed})],
        workspace={"git": {"repository": "app"}},
    )
    told: dict[str, Any] = {
        "isolation": isolation,
        "repository_roots": (str(tmp_path),),
        "outgoing": Outgoing(Guard(("127.0.0.1",), here)),
    }
    refused = world.start(version)
    drive(bench, refused, **told)
    assert "Prepare failed" in text_of(done(refused, "look")) and not server.asked
    set_trusted_authorities(configured_authorities({"GATELINE_CA_BUNDLE": str(company.bundle)}))
    task = world.start(version)
    drive(bench, task, **told)
    assert world.status(task) == "completed", text_of(done(task, "look"))
    assert text_of(done(task, "look")).count("it answers") == 2, "prepare, and the station"


def test_a_file_without_certificates_is_refused_and_what_a_shell_has_is_taken(
    company: CompanyAuthority, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for place, why in (
        (wrong, "cannot be read"),
        (empty, "holds no certificate"),
        (tmp_path / "no", "No such"),
    ):
        with pytest.raises(WrongBundle, match=why):
            configured_authorities({"GATELINE_CA_BUNDLE": str(place)})
        assert configured_authorities({"SSL_CERT_FILE": str(place)}) == Authorities()
    usual = configured_authorities({"NODE_EXTRA_CA_CERTS": str(company.bundle), "SSL_CERT_FILE": str(wrong)})
    assert len(usual.own) == 1 and usual.source == f"NODE_EXTRA_CA_CERTS={company.bundle}"
    assert (
        configured_authorities({"GATELINE_CA_BUNDLE": str(company.bundle), "SSL_CERT_FILE": str(wrong)}).own
        == usual.own
    )
    assert usual.bundle_or_empty.count("BEGIN CERTIFICATE") > 50, (
        "with the public ones: for programs it replaces theirs"
    )
    public = tmp_path / "public.pem"
    public.write_text("\n".join(map(ssl.DER_cert_to_PEM_cert, Authorities().tls_context.get_ca_certs(True))))
    assert configured_authorities({"SSL_CERT_FILE": str(public)}) == Authorities(), "nothing that is new"
