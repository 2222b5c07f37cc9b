"""A station that may reach some hosts: what its programs get through, and how each way around the list ends. Every
server is on this machine's loopback."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.work.handlers import command
from pipelines.work.handlers.network_access import CANNOT, NOT_ENFORCED
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.isolation import Access, Isolation, isolation_places, link_folders
from pipelines.work.spec.handler_io import Attempt, Outcome, ProcessLimits, Spec
from tests.work.conftest import PYTHON, Collected
from tests.work.isolations import BOTH, isolation_or_skip

pytestmark = pytest.mark.isolation
PROGRAM = """
import json, os, socket, sys, time, urllib.error, urllib.request
port = int(sys.argv[1])
found = {}

def tried(name, work):
    try:
        found[name] = work()
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"

def raw(sent):
    proxy = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    with socket.create_connection((proxy[0], int(proxy[1])), timeout=10) as client:
        client.sendall(sent.encode())
        return client.recv(1000).decode()

def listed():
    proxy = os.environ["https_proxy"].removeprefix("http://").split(":")
    with socket.create_connection((proxy[0], int(proxy[1])), timeout=10) as client:
        client.sendall(f"CONNECT inside.test:{port} HTTP/1.1\\r\\n\\r\\n".encode())
        client.recv(1000)
        client.sendall(b"hello")
        return client.recv(5).decode()

def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        client.sendto(b"out", ("127.0.0.1", port))
        return client.recv(10)

def far():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"out", ("192.0.2.1", 53))

def plain():
    return urllib.request.urlopen(f"http://inside.test:{port}/", timeout=10).status

tried("listed", listed)
tried("direct", lambda: socket.create_connection(("127.0.0.1", port), timeout=5).recv(5))
tried("dns", lambda: socket.getaddrinfo("inside.test", 443))
tried("udp", datagram)
tried("far", far)
tried("plain", plain)
tried("other", lambda: raw("CONNECT example.test:443 HTTP/1.1\\r\\n\\r\\n"))
tried("port", lambda: raw("CONNECT inside.test:22 HTTP/1.1\\r\\n\\r\\n"))
tried("literal", lambda: raw(f"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n"))
tried("no_proxy", lambda: os.environ["NO_PROXY"])
tried("children", lambda: os.waitpid(-1, os.WNOHANG))
print(json.dumps(found))
"""


async def isolated(name: str, attempt: Attempt, tmp_path: Path) -> Isolation:
    readable = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(PYTHON))]
    return await isolation_or_skip(name, isolation_places(readable, [], tmp_path), attempt.root.parent)


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            writer.write(data.upper())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def to_loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def station(
    attempt: Attempt, isolation: Isolation, program: str, *hosts: tuple[str, int], **more: Any
) -> Spec:
    return Spec(
        kind="command",
        attempt=attempt,
        argv=(PYTHON, "-I", "-c", program, *map(str, more.pop("arguments", ()))),
        env={"PATH": "/usr/bin:/bin", "HOME": str(attempt.workspace), "LANG": "C.UTF-8"},
        limits=ProcessLimits(total=60, grace=1),
        isolation=isolation,
        access=Access(network=False, hosts=hosts),
        outgoing=Outgoing(Guard(("inside.test",), to_loopback)),
        **more,
    )


# Words of the refusal: behind bubblewrap of an empty network, behind Landlock of the filter of system calls.
REFUSALS = {
    "bubblewrap": {"udp": ("TimeoutError", "refused"), "far": ("unreachable",)},
    "landlock": {"udp": ("PermissionError",), "far": ("PermissionError",)},
}


@pytest.mark.parametrize("name", BOTH)
async def test_a_program_reaches_its_hosts_and_nothing_else(
    name: str, attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    isolation = await isolated(name, attempt, tmp_path)
    assert isolation.limits_hosts
    outcome = await command.run(
        station(attempt, isolation, PROGRAM, ("inside.test", echo), arguments=[echo]), sink
    )
    assert outcome["exit_code"] == 0, sink.err.decode()
    found = json.loads(sink.out)
    assert found["listed"] == "HELLO"
    assert "refused" in found["direct"], "its loopback is its own"
    assert "gaierror" in found["dns"]
    for way, words in REFUSALS[name].items():
        assert any(word in found[way] for word in words), found[way]
    assert "405" in found["plain"]
    assert "HTTP/1.1 403" in found["other"]
    assert found["children"].startswith("ChildProcessError"), "the bridge is none of its children"
    said = "\n".join(sink.notes)
    for words in (
        f"Network: inside.test:{echo}, by the proxy of HTTPS_PROXY. All else is refused.",
        "host example.test is not in this station's list",
        f"port 22 of host inside.test is not in this station's list, which has port {echo}",
        "127.0.0.1 is an address; hosts are reached by their names",
        "a request without TLS was refused; use https",
    ):
        assert words in said


@pytest.mark.parametrize("name", BOTH)
async def test_nothing_is_left_of_the_proxy(
    name: str, attempt: Attempt, tmp_path: Path, sink: Collected, echo: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolation = await isolated(name, attempt, tmp_path)
    program = "import os; print(os.environ['HTTPS_PROXY'])"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outcome = await command.run(station(attempt, isolation, program, ("inside.test", echo)), sink)
    assert outcome["exit_code"] == 0 and b"http://127.0.0.1:" in sink.out
    assert [name for name in os.listdir(tmp_path) if name.startswith("gateline-door-")] == []


@pytest.mark.parametrize("name", BOTH)
async def test_a_program_may_go_on_while_it_is_asked_to_stop(
    name: str, attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    """The bridge is not stopped with it."""
    isolation = await isolated(name, attempt, tmp_path)
    program = PROGRAM.partition('tried("listed"')[0] + (
        "import signal\n"
        "def ended(*_):\n    print(listed()); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, ended)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    made = station(attempt, isolation, program, ("inside.test", echo), arguments=[echo])
    outcome = await command.run(replace(made, limits=ProcessLimits(total=4, grace=20)), sink)
    assert sink.out.decode().split() == ["ready", "HELLO"], sink.err.decode()
    assert outcome["reason"] == "max_timeout"


async def test_where_the_network_can_only_be_cut_the_station_does_not_start(
    attempt: Attempt, tmp_path: Path, sink: Collected
) -> None:
    """As behind the Landlock of an older kernel."""
    isolation = replace(await isolated("landlock", attempt, tmp_path), limits_hosts=False)
    outcome: Outcome = await command.run(station(attempt, isolation, "", ("inside.test", 443)), sink)
    assert outcome["failure_type"] == "command_not_started"
    assert CANNOT in outcome["summary"]


async def test_where_nothing_isolates_the_log_says_that_it_is_not_enforced(
    attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    program = f"import socket; print(socket.create_connection(('127.0.0.1', {echo}), timeout=5))"
    outcome = await command.run(station(attempt, Isolation("none"), program, ("inside.test", 443)), sink)
    assert outcome["exit_code"] == 0
    assert sink.notes == [f"[gateline] {NOT_ENFORCED}"]


def test_this_machine_resolves_nothing_that_ends_in_test() -> None:
    """Else what is refused above might be refused for another reason."""
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("inside.test", 443)
