"""Each cell of tests/access/matrix.py and matrix_api.py, and that no route is missing there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from django.utils import timezone

from pipelines.api import api
from pipelines.models import Role
from pipelines.people import accounts
from pipelines.web.lines.images import IMMUTABLE
from pipelines.web.live.routing import urlpatterns as socket_routes
from tests.access import matrix, matrix_api
from tests.access.place import ROUTES, Place
from tests.factories import World
from tests.live.conftest import session_of
from tests.waiting import LONG

PAGES, API, SOCKETS = (matrix.table(text) for text in (matrix.PAGES, matrix_api.API, matrix.SOCKETS))
# Well-formed, so that it is not the form that is refused; what is published and decided is not what is there.
BODIES: dict[str, dict[str, Any]] = {
    "/tasks": {"title": "t"},
    "/runners/register": {"name": "t"},
    "/execute": {"task_id": "t", "base_branch": "main"},
    "/retry-station": {"station_execution_id": "0"},
    "/complete-station": {"station_execution_id": "0", "status": "completed"},
    "/triggers": {"options": {"cron": "never"}},
    "/triggers/{line_trigger}/rotate": {"secret": "short"},
    "/triggers/{line_trigger}": {"options": {"cron": "never"}},
    "/bulk-commands": {"action": "nonsense"},
    "/absences": {"stand_in": "nobody", "until": "2001-01-01T00:00:00Z"},
    "/owners/{owner}/projects": {"key": "", "name": ""},
    "/transfer": {"owner": "nobody"},
    "/duplicate": {"owner": "nobody", "project": "nothing"},
    "/secrets/{name}": {"value": ""},
    "/repositories/{name}": {"address": ""},
    "/protection": {"approvals": 0},
    "/cancel": {"reason": "r"},
    "/retry": {"reason": "r"},
    "/move": {"to": "nowhere"},
    "/move/plan": {"to": "nowhere"},
    "/rerun-checks": {"reason": "r"},
    "/complete": {"version": 0, "outcome": {"result": "success"}},
    "/questions/{question}/answer": {"text": ""},
    "/permissions/{permission}/answer": {"digest": "0", "allow": True},
    "/answer": {"version": 0, "text": "t"},
    "/hold": {"version": 0, "reason": "r"},
    "/release": {"version": 0},
    "/metadata": {"version": 0, "metadata": {}},
    "/handoff": {"version": 0, "handoff": {}},
    "/escalations": {"trigger": "architecture", "reason": ""},
    "/resolve": {"word": "nonsense", "reason": "r"},
    "/dependencies": {"depends_on": ["WI-app-0"]},
    "/gates/{gate}": {"action": "nonsense"},
    "/decisions": {"action": "nonsense", "items": []},
    "/questions": {"text": ""},
    "/snooze": {"until": "2001-01-01T00:00:00Z"},
    "/publish": {"draft": 0},
    "/publish/send-back": {"draft": 0, "reason": "r"},
    "/migrations": {"to": 1, "digest": "none", "reason": "r"},
    "/undo": {"reason": ""},
    "/comments": {"text": "t", "kind": "line"},
    "/comments/{comment}": {"resolved": False},
    "/draft": {"based_on": 0, "base": {}, "document": {}},
    "/forms/{what}": {"fragment": {}},
    "{project}/import": {"files": {"a.yaml": "gateline: 1\nkey: a\nstations: []"}},
    "/import": {"document": {}},
    "/walk": {"document": {}},
    "/draft/matches": {"document": {}, "station": "build"},
    "/evaluations": {"station": "build", "cost_limit": "1"},
    "/draft/trials": {"document": {}, "station": "build"},
    "/draft/scenarios": {"document": {}, "name": "t"},
    "/draft/scenarios/run": {"document": {}},
    "/draft/scenarios/generate": {"document": {}},
}
EMPTY_FRAME = {
    "geometry": {"key": "0 0", "placed": dict.fromkeys(("parts", "gates", "ways", "rows"), ())},
    "svg": "",
}
BODIES["/drawings/{drawing}"] = {"wide": EMPTY_FRAME, "narrow": EMPTY_FRAME}
PASSWORD = "correct horse battery"
# No answer is kept by a cache, whoever it was for.
PRIVATE = "private, no-store"


@pytest.fixture
def place(world: World) -> Place:
    return Place(world)


def answer_of(response: HttpResponse) -> str:
    """What an answer is in the words of the matrix; a fault of the server is none of them."""
    if response.status_code in (301, 302) and "/sign-in/" in response.headers["Location"]:
        return ">"
    return {401: ">", 403: "-", 404: "0"}.get(
        response.status_code, "y" if response.status_code < 500 else "500"
    )


@pytest.mark.smoke(2)
@pytest.mark.django_db
@pytest.mark.parametrize("role", matrix.ROLES)
def test_each_page_refuses_this_role_as_the_matrix_says(place: Place, role: str) -> None:
    asked = refused_or_sampled(PAGES, role)
    found = {row: _ask_page(place, role, *row.split()) for row in asked}
    assert found == asked


@pytest.mark.wide
@pytest.mark.django_db
@pytest.mark.parametrize("role", matrix.ROLES)
def test_each_page_answers_this_role_as_the_matrix_says(place: Place, role: str) -> None:
    found = {row: _ask_page(place, role, *row.split()) for row in PAGES}
    assert found == {row: cells[role] for row, cells in PAGES.items()}


def refused_or_sampled(table: dict[str, dict[str, str]], role: str) -> dict[str, str]:
    """What this role is answered where it is refused; and where it is admitted, of each row for one role in turn."""
    asked = {}
    for number, (row, cells) in enumerate(table.items()):
        admitted = [each for each in matrix.ROLES if cells[each] == "y"]
        if role not in admitted or role == admitted[number % len(admitted)]:
            asked[row] = cells[role]
    return asked


def _ask_page(place: Place, role: str, method: str, name: str) -> str:
    headers = {"Authorization": f"Bearer {place.machine_secret}"} if role == "machine" else {}
    client = Client() if role in ("anonymous", "machine") else _signed_in(place, role)
    response = client.generic(method, place.address(name), headers=headers)
    found = answer_of(response)
    stored = name == "drawing" and response.status_code == 200
    assert response.headers["Cache-Control"] == (IMMUTABLE if stored else PRIVATE)
    if PAGES[f"{method} {name}"][role] == "a":
        return "a" if response.status_code < 500 else "500"
    if name == "admin:index":
        return "-" if "/admin/login/" in response.headers.get("Location", "") else found
    # The stored file of the artifact is not there: whoever may look for it is told so.
    if (
        name in ("artifact", "task-file", "task-input", "task-input-preview", "task-receipt")
        and found == "0"
        and role not in ("anonymous", "stranger", "machine")
    ):
        return "y"
    return found


@pytest.mark.smoke(4)
@pytest.mark.django_db
@pytest.mark.parametrize("role", matrix.ROLES)
def test_each_operation_refuses_this_role_as_the_matrix_says(place: Place, role: str) -> None:
    client = Client(headers=_bearer(place, role))
    asked = refused_or_sampled(API, role)
    assert {row: _ask_api(place, role, client, *row.split()) for row in asked} == asked


@pytest.mark.wide
@pytest.mark.django_db
@pytest.mark.parametrize("role", matrix.ROLES)
def test_each_operation_answers_this_role_as_the_matrix_says(place: Place, role: str) -> None:
    headers = _bearer(place, role)
    found = {row: _ask_api(place, role, Client(headers=headers), *row.split()) for row in API}
    assert found == {row: cells[role] for row, cells in API.items()}


@pytest.mark.smoke(1)
@pytest.mark.django_db
@pytest.mark.parametrize("role", [role for role in matrix.ROLES if role not in ("anonymous", "machine")])
def test_each_operation_answers_the_page_of_this_role_the_same(place: Place, role: str) -> None:
    client = _signed_in(place, role)
    found = {row: _ask_api(place, role, client, *row.split()) for row in API}
    assert found == {row: cells[role] for row, cells in API.items()}


@pytest.mark.django_db
def test_no_operation_changes_anything_for_another_site(place: Place) -> None:
    client = _signed_in(place, "admin", enforce_csrf_checks=True)
    # What is signed by itself needs no session, and is no better for one.
    changing = [
        row.split() for row, cells in API.items() if not row.startswith("GET ") and cells["admin"] != ">"
    ]
    assert {_ask_api(place, "admin", client, *row) for row in changing} == {"-"}
    client.get("/")
    own = {"X-CSRFToken": client.cookies["gateline_csrf"].value}
    row = f"POST {matrix_api.DRAFTS}/{{line}}/comments".split()
    assert _ask_api(place, "admin", client, *row, **own) == "y"


@pytest.mark.django_db
def test_a_token_that_is_none_is_not_saved_by_a_session(place: Place) -> None:
    client = _signed_in(place, "admin")
    row = f"GET {matrix_api.DRAFTS}".split()
    assert _ask_api(place, "admin", client, *row) == "y"
    assert _ask_api(place, "admin", client, *row, Authorization="Bearer gl_nothing") == ">"


def _signed_in(place: Place, role: str, **checks: bool) -> Client:
    """A new client with the session that this person has, if nothing that was asked before has ended it."""
    client = Client(**checks)
    if Session.objects.filter(session_key=place.sessions.get(role)).exists():
        client.cookies[settings.SESSION_COOKIE_NAME] = place.sessions[role]
        return client
    user = getattr(place.world, role)
    user.set_password(PASSWORD)
    user.save()
    client.force_login(user)
    place.sessions[role] = client.cookies[settings.SESSION_COOKIE_NAME].value
    return client


def _ask_api(place: Place, role: str, client: Client, method: str, path: str, **headers: str) -> str:
    arguments = place.arguments("api") | {"visit": place.task.jobs.get().pk}
    address = path.format(**arguments).replace("/api/", "/api/v1/", 1)
    body = next((body for end, body in BODIES.items() if path.endswith(end)), {})
    response = client.generic(method, address, json.dumps(body), "application/json", headers=headers)
    assert response.headers["Cache-Control"] == PRIVATE
    return (
        "a" if API[f"{method} {path}"][role] == "a" and response.status_code == 200 else answer_of(response)
    )


def _bearer(place: Place, role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {_secret(place, role)}"} if role != "anonymous" else {}


def _secret(place: Place, role: str) -> str:
    if role == "machine":
        return place.machine_secret
    user = getattr(place.world, role)
    token, secret = accounts.mint_token_and_secret(
        kind="person",
        name="t",
        scopes=["read", "submit", "report", "decide", "design", "settings"],
        now=timezone.now(),
        created_by=user,
        user=user,
    )
    assert token.user == user
    return secret


@pytest.mark.django_db(transaction=True)
async def test_each_cell_of_the_sockets(world: World, knock: Callable[..., WebsocketCommunicator]) -> None:
    place = await sync_to_async(Place)(world)
    sessions = await sync_to_async(lambda: {r: session_of(getattr(world, r)) for r in matrix.ROLES[1:-1]})()
    names = await sync_to_async(lambda: {"line": place.task.line.key, "task": place.task.name})()
    found: dict[str, dict[str, str]] = {row: {} for row in SOCKETS}
    for row, role in product(SOCKETS, matrix.ROLES):
        more = {word: name for word, name in names.items() if f"&{word}" in row}
        socket = knock(world.project, sessions.get(role, ""), **more)
        if role == "machine":
            socket.scope["headers"].append((b"authorization", f"Bearer {place.machine_secret}".encode()))
        if row == "/elsewhere/":
            socket.scope["path"] = row
        accepted, _ = await socket.connect(timeout=LONG)
        found[row][role] = "y" if accepted else ">"
        if accepted:
            await socket.disconnect()
    assert found == SOCKETS


def test_every_route_has_a_row() -> None:
    named = {row.split()[1] for row in PAGES}
    assert set(ROUTES) - named == set(), "a route without a row in tests/access/matrix.py"
    assert named - set(ROUTES) == set(), "a row for a route that is not there"


def test_every_operation_of_the_api_has_a_row() -> None:
    paths = api.get_openapi_schema()["paths"]
    operations = {
        f"{method.upper()} {path.replace('/api/v1/', '/api/', 1)}"
        for path, methods in paths.items()
        for method in methods
    }
    assert set(API) == operations | {"GET /api/openapi.json"}


def test_each_operation_is_the_same_without_a_version() -> None:
    paths = api.get_openapi_schema()["paths"]
    assert all(path.startswith("/api/v1/") for path in paths)
    for path in paths:
        address = re.sub(r"{\w+}", "1", path)
        alias = resolve(address.replace("/api/v1/", "/api/", 1))
        assert alias.func is resolve(address).func, path


def test_every_socket_has_a_row() -> None:
    assert [str(route.pattern) for route in socket_routes] == ["live/"]


def test_the_roles_of_the_matrix_are_those_of_the_product() -> None:
    assert set(Role.values) <= set(matrix.ROLES)
