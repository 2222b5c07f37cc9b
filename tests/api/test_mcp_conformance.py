"""The server of the Model Context Protocol, by HTTP and through `gateline mcp`, before the suite of its authors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.factories import World
from tests.fixtures.site import ROOT, Site
from tests.outgoing.servers import Answers, Asked, say, serving
from tests.published.conformance import scenario_results
from tests.published.packages import NotFetched
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db(transaction=True)]
PATH = "/api/mcp"


def with_token(site: Site, token: str) -> Answers:
    """Pass everything on with a token, which the suite cannot send."""

    def answer(to: BaseHTTPRequestHandler, asked: Asked) -> None:
        left = {"connection", "content-length", "transfer-encoding", "accept-encoding"}
        headers = {name: value for name, value in asked.headers.items() if name not in left}
        headers["authorization"] = f"Bearer {token}"
        data = asked.body if asked.method == "POST" else None
        request = urllib.request.Request(site.url + asked.path, data, headers, method=asked.method)
        try:
            with urllib.request.urlopen(request, timeout=LONG) as got:
                status, body, kind = got.status, got.read(), got.headers.get("content-type", "")
        except urllib.error.HTTPError as error:
            status, body, kind = error.code, error.read(), error.headers.get("content-type", "")
        say(to, status, body, content_type=kind)

    return answer


class Program:
    """`gateline mcp` as an agent starts it, behind an address: a request goes to its input, and its answer back."""

    def __init__(self, site: Site, token: str) -> None:
        environment = os.environ | {
            "GATELINE_URL": site.url,
            "GATELINE_TOKEN": token,
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "gateline", "mcp"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()

    def answer(self, to: BaseHTTPRequestHandler, asked: Asked) -> None:
        if asked.method != "POST":
            return say(to, 405)
        message = json.loads(asked.body)
        assert self._process.stdin is not None and self._process.stdout is not None
        # Clients of the suite number their requests alike: one at a time
        with self._lock:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            if "id" not in message:
                return say(to, 202)
            line = self._process.stdout.readline()
        assert json.loads(line)["id"] == message["id"]
        return say(to, 200, line.encode(), content_type="application/json")

    def end(self) -> int:
        self._process.communicate(timeout=LONG)
        return self._process.returncode


PASSED = {
    "server-initialize": 1,
    "ping": 1,
    "tools-list": 1,
    "tools-call-simple-text": 1,
    "tools-call-error": 1,
}
REBINDING = "dns-rebinding-protection"
NOT_OFFERED = {
    "logging", "completion", "resources", "prompts", "elicitation",
    # Calls of tools that a server of the suite has, and ours has not
    "tools", "json",
}  # fmt: skip


def held(url: str, folder: Path, origins: dict[str, int]) -> None:
    """`origins`: checks of the address alone; a pipe has none."""
    try:
        found = scenario_results(url, folder)
    except NotFetched as error:
        pytest.skip(str(error))
    passed = {name: count for name, (count, failed) in found.items() if count and not failed}
    assert passed == PASSED | origins
    failed = [name for name, (_count, failures) in found.items() if failures and name != REBINDING]
    assert {name.split("-")[0] for name in failed} <= NOT_OFFERED, failed


def test_what_it_offers_is_as_the_suite_of_the_protocol_wants_it(
    site: Site, world: World, tmp_path: Path
) -> None:
    token = world.token_of(world.operator, "read", "submit")[1]
    with serving(with_token(site, token)) as server:
        held(server.url + PATH, tmp_path, {REBINDING: 2})


def test_the_program_offers_the_same(site: Site, world: World, tmp_path: Path) -> None:
    program = Program(site, world.token_of(world.operator, "read", "submit")[1])
    try:
        with serving(program.answer) as server:
            held(server.url + PATH, tmp_path, {})
    finally:
        assert program.end() == 0
