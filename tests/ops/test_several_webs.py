"""`GATELINE_WEB`: several web processes behind the one port of `manage.py up`."""

from __future__ import annotations

import http.client
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import environment
from config.up import web_commands
from tests.fixtures.site import free_port
from tests.ops.conftest import open_folder
from tests.ops.processes import on_linux
from tests.ops.test_up import Up
from tests.waiting import LONG, until


@pytest.fixture(scope="module")
def pair() -> Iterator[Up]:
    with open_folder() as folder:
        running = Up(folder / "state", free_port(), GATELINE_WEB="2")
        running.end_helper()
        yield running
        if running.process.poll() is None:
            running.interrupt()


def status_at(port: int) -> int:
    """Ask over a connection of its own: which process gets it is the system's to say."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    try:
        connection.request("GET", "/healthz?web")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def answers(port: int) -> float:
    """Answers of probes that the process with this port of its own has counted."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    lines = [line for line in text.splitlines() if line.startswith("gateline_http_requests_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'area="probe"' in line)


def web_pids(up: Up) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_text()
                if "manage.py\0web\0" in command and f"\0{up.port}\0" in command:
                    found.append(int(entry.name))
            except OSError:
                continue
    return sorted(found)


@pytest.mark.wide
@on_linux
def test_the_system_spreads_connections_over_both(pair: Up) -> None:
    until(lambda: status_at(pair.port + 1) == status_at(pair.port + 2) == 200, "both web processes")
    before = [answers(pair.port + number) for number in (1, 2)]
    assert [status_at(pair.port) for _ in range(40)] == [200] * 40
    grown = [answers(pair.port + number) - old for number, old in zip((1, 2), before, strict=True)]
    # Each counts what asks for its counts, too
    assert sum(grown) >= 40 and min(grown) > 3


@pytest.mark.wide
@on_linux
def test_one_that_is_killed_comes_back_and_the_other_answers_meanwhile(pair: Up) -> None:
    first, second = web_pids(pair)
    os.kill(second, signal.SIGKILL)
    until(lambda: second not in web_pids(pair), "its end")
    until(lambda: status_at(pair.port) == 200, "the other one")
    until(lambda: len(web_pids(pair)) == 2 and first in web_pids(pair), "its start")
    until(lambda: status_at(pair.port + 1) == status_at(pair.port + 2) == 200, "both web processes")


def test_one_web_process_needs_no_number_and_several_have_one_each() -> None:
    address = ["--port", "8000"]
    assert list(web_commands(address, 1, False)) == ["web"]
    assert "--number" not in web_commands(address, 1, False)["web"]
    commands = web_commands(address, 3, True)
    assert [command[-1] for command in commands.values()] == ["1", "2", "3"]
    assert list(commands) == ["web", "web 2", "web 3"]


@pytest.mark.parametrize(("text", "number"), [("", 1), ("1", 1), ("3", 3), ("9", 9)])
def test_it_is_a_number(monkeypatch: pytest.MonkeyPatch, text: str, number: int) -> None:
    monkeypatch.setenv("GATELINE_WEB", text)
    assert environment.variable_process_count("GATELINE_WEB", most=4) == number


def test_auto_is_one_for_each_core_and_at_most_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELINE_WEB", "auto")
    for cores, number in ((1, 1), (2, 2), (32, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert environment.variable_process_count("GATELINE_WEB", most=4) == number


@pytest.mark.parametrize("text", ["0", "many", "-1", "2.5"])
def test_anything_else_stops_the_start_with_its_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("GATELINE_WEB", text)
    with pytest.raises(ImproperlyConfigured, match="GATELINE_WEB"):
        environment.variable_process_count("GATELINE_WEB", most=4)
