"""A hostile station behind Landlock that has a list of hosts: each way around its proxy, and what an honest one needs.
What it tries to reach is on this machine's loopback; another address there stands for another host."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pipelines.work.handlers import command
from pipelines.work.spec.handler_io import Attempt
from tests.waiting import eventually
from tests.work.conftest import Collected
from tests.work.test_station_hosts import echo, isolated, station

__all__ = ["echo"]
pytestmark = pytest.mark.isolation
ELSEWHERE = "127.0.0.2"
PROGRAM = Path(__file__).with_name("hostile_connections.py")


@pytest.mark.smoke(2)
@pytest.mark.parametrize(("tries", "family"), [(500, 1), (10_000, 1), (500, 2), (10_000, 2)])
async def test_no_way_leads_around_the_proxy(
    tries: int, family: int, attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    """Another host listens on the very port of the proxy: Landlock alone could not tell the two apart. `family`: of the
    socket with which the program's own is exchanged while its connection is looked at, in each race so many times."""
    isolation = await isolated("landlock", attempt, tmp_path)
    program = PROGRAM.read_text()
    running = asyncio.create_task(
        command.run(
            station(attempt, isolation, program, ("inside.test", echo), arguments=[ELSEWHERE, family, tries]),
            sink,
        )
    )
    await eventually(lambda: (attempt.workspace / "port").exists() or running.done())
    assert not running.done(), sink.err.decode()
    port = int((attempt.workspace / "port").read_text())
    with socket.create_server((ELSEWHERE, port), backlog=1000) as server:
        server.setblocking(False)
        (attempt.workspace / "go").touch()
        outcome = await running
        assert outcome["exit_code"] == 0, sink.err.decode()
        with pytest.raises(BlockingIOError):
            server.accept()
    found: dict[str, Any] = json.loads(sink.out)
    refused = {way: words for way, words in found["attacks"].items() if words != "reached"}
    assert refused == found["attacks"]
    assert {way: words.partition(":")[0] for way, words in refused.items()} == {
        "same_port_elsewhere": "ConnectionRefusedError",
        "service_of_this_machine": "ConnectionRefusedError",
        "after_disconnecting": "ConnectionRefusedError",
        "sent_at_once": "PermissionError",
        "sent_at_once_by_message": "PermissionError",
        "connected_when_sent": "ConnectionRefusedError",
        "ipv6": "OSError",
        "datagram": "PermissionError",
        "raw": "PermissionError",
        "several_paths": "PermissionError",
        "bound": "PermissionError",
        "listening": "PermissionError",
        "other_listener_of_calls": "OSError",
        "outside": "PermissionError",
    }
    assert found["raced"] == {"address": "never", "descriptor": "never"}


async def test_an_honest_program_notices_nothing(
    attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    """Threads, signals, connections that do not wait, processes that left their parent, sockets of the file system."""
    isolation = await isolated("landlock", attempt, tmp_path)
    program = PROGRAM.with_name("honest_connections.py").read_text()
    outcome = await command.run(
        station(attempt, isolation, program, ("inside.test", echo), arguments=[echo]), sink
    )
    assert outcome["exit_code"] == 0, sink.err.decode()
    assert json.loads(sink.out) == {
        "threads": 40,
        "signals": 40,
        "not_waiting": 40,
        "orphan": 1,
        "file_system": 1,
        "after_exec": 1,
    }


async def test_nobody_else_on_this_machine_gets_an_answer_at_the_port(
    attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    isolation = await isolated("landlock", attempt, tmp_path)
    program = (
        "import os, time\n"
        "open('port', 'w').write(os.environ['HTTPS_PROXY'].rpartition(':')[2])\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
    )
    running = asyncio.create_task(
        command.run(station(attempt, isolation, program, ("inside.test", echo)), sink)
    )
    await eventually(
        lambda: (attempt.workspace / "port").exists() and os.path.getsize(attempt.workspace / "port")
    )
    port = int((attempt.workspace / "port").read_text())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"CONNECT inside.test:{echo} HTTP/1.1\r\n\r\n".encode())
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    (attempt.workspace / "go").touch()
    assert (await running)["exit_code"] == 0
    assert not [note for note in sink.notes if "not in" in note]


LEFT_OPEN = (
    "import socket, time; proxy = ('127.0.0.1', int(os.environ['HTTPS_PROXY'].rpartition(':')[2])); "
    "client = socket.create_connection(proxy); os.fork() or (os.setsid(), time.sleep(600)); raise SystemExit(7)"
)


@pytest.mark.parametrize(
    ("ending", "code"), [("raise SystemExit(9)", 9), ("os.kill(os.getpid(), 15)", 143), (LEFT_OPEN, 7)]
)
async def test_the_end_of_the_program_comes_through(
    ending: str, code: int, attempt: Attempt, tmp_path: Path, sink: Collected, echo: int
) -> None:
    isolation = await isolated("landlock", attempt, tmp_path)
    made = station(attempt, isolation, f"import os; {ending}", ("inside.test", echo))
    assert (await command.run(made, sink))["exit_code"] == code
