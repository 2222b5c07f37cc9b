"""Every page and operation of the access matrix, asked by several people, and every address that pages lead to."""

from __future__ import annotations

import html
import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import Resolver404, resolve

from tests.access import matrix, matrix_api
from tests.access.place import Place
from tests.access.test_matrix import BODIES
from tests.recording.fixed import CHANCE
from tests.recording.folder import Folder

READERS = ("admin", "reviewer", "viewer", "anonymous")
HEADERS = ("Content-Type", "Location", "HX-Redirect", "HX-Trigger", "HX-Push-Url", "HX-Retarget", "HX-Reswap")
LEADS = re.compile(r"""\b(?:href|hx-get|data-url|src)="(/[^"#]*)""")
MOST_OF_A_ROUTE = 12
"""Addresses with other words behind the question mark."""
Sessions = Mapping[str, str]


def sign_in(place: Place) -> Sessions:
    """The session keys of everybody who asks."""
    keys = {}
    for role in matrix.ROLES:
        if role not in ("anonymous", "machine"):
            user = getattr(place.world, role)
            user.set_password("correct horse battery")
            user.save()
            client = Client()
            client.force_login(user)
            keys[role] = client.cookies[settings.SESSION_COOKIE_NAME].value
    return keys


def record(folder: Folder, place: Place, sessions: Sessions) -> None:
    for row in matrix.table(matrix.PAGES):
        method, name = row.split()
        for role in READERS if method == "GET" else ("admin",):
            _ask(folder, "pages", f"{name} {role}", sessions.get(role, ""), method, place.address(name))
    _operations(folder, place)
    _components(folder, sessions["admin"])
    _follow(folder, sessions["admin"])


def _operations(folder: Folder, place: Place) -> None:
    arguments = place.arguments("api") | {"visit": place.task.jobs.get().pk}
    _token, secret = place.world.token_of(
        place.world.admin, "read", "submit", "report", "decide", "design", "settings"
    )
    for row in matrix.table(matrix_api.API):
        method, path = row.split()
        body = next((body for end, body in BODIES.items() if path.endswith(end)), {})
        address = path.format(**arguments).replace("/api/", "/api/v1/", 1)
        program = place.runner_secret if path.startswith(matrix_api.RUNNER) else place.machine_secret
        for reader, word in (("admin", secret), ("machine", program)):
            headers = {"Authorization": f"Bearer {word}"}
            _ask(folder, "api", f"{path} {reader}", "", method, address, headers, json.dumps(body))


def _components(folder: Folder, session: str) -> None:
    """The design pages, which are there in development alone."""
    with override_settings(DEBUG=True):
        for query in ("", "?frame=shell", "?frame=shell&rail=on"):
            _ask(folder, "pages", f"design {query}", session, "GET", f"/_design/{query}")


def _follow(folder: Folder, session: str) -> None:
    """Go through all addresses that a page names, as a page and as a fragment."""
    waiting, known, times = deque(["/"]), {"/"}, Counter[str]()
    while waiting:
        address = waiting.popleft()
        try:
            route = str(resolve(address.partition("?")[0]).route)
        except Resolver404:
            continue
        times[route] += 1
        if times[route] > MOST_OF_A_ROUTE or route.startswith(("static", "api/", "admin/")):
            continue
        text = _ask(folder, "followed", address, session, "GET", address)
        _ask(folder, "fragments", address, session, "GET", address, {"HX-Request": "true"})
        for target in LEADS.findall(text):
            target = html.unescape(target)
            if target not in known:
                known.add(target)
                waiting.append(target)


def _ask(
    folder: Folder,
    kind: str,
    name: str,
    session: str,
    method: str,
    address: str,
    headers: Mapping[str, str] | None = None,
    body: str = "",
) -> str:
    """Write down and return what is answered. Nothing of it stays: what comes next finds the same world."""
    client = Client(raise_request_exception=False)
    if session:
        client.cookies[settings.SESSION_COOKIE_NAME] = session
    CHANCE.seed(f"{method} {name}")
    with _undone():
        response = client.generic(method, address, body, "application/json", headers=dict(headers or {}))
        text = "\n".join(_lines_of(response))
    folder.write(kind, f"{method} {name}", text)
    return text


def _lines_of(response: HttpResponse) -> Iterator[str]:
    yield str(response.status_code)
    yield from (f"{name}: {response.headers[name]}" for name in HEADERS if name in response.headers)
    yield ""
    if not getattr(response, "streaming", False):
        yield response.content.decode("utf-8", "backslashreplace")
    elif not response.is_async:
        yield b"".join(response.streaming_content).decode("utf-8", "backslashreplace")


@contextmanager
def _undone() -> Iterator[None]:
    block: Any = transaction.atomic()
    block._from_testcase = True  # what insists on a transaction of its own gets one within this
    with block:
        yield
        transaction.set_rollback(True)
