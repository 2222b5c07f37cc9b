"""Each cell of tests/access/matrix.py, and that no route is missing there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from django.utils import timezone

from pipelines import engine
from pipelines.api import api
from pipelines.engine.core.batch import Batch
from pipelines.lines import comments
from pipelines.live.routing import urlpatterns as socket_routes
from pipelines.models import (
    Absence,
    Agent,
    Artifact,
    Blob,
    Deadlock,
    IssueTrigger,
    Membership,
    Migration,
    Repository,
    Role,
    Scenario,
)
from pipelines.people import accounts, invitations
from pipelines.ports.vault import store
from reviews.models import ChannelConnection, ChannelMessage, Notification
from tests.access import matrix
from tests.factories import World, document, station
from tests.live.conftest import session_of
from tests.waiting import LONG

PAGES, API, SOCKETS = (matrix.table(text) for text in (matrix.PAGES, matrix.API, matrix.SOCKETS))
# Well-formed, so that it is not the form that is refused; what is published and decided is not what is there.
BODIES: dict[str, dict[str, Any]] = {
    "/tasks": {"title": "t"},
    "/owners/{owner}/projects": {"key": "", "name": ""},
    "/transfer": {"owner": "nobody"},
    "/duplicate": {"owner": "nobody", "project": "nothing"},
    "/secrets/{name}": {"value": ""},
    "/repositories/{name}": {"address": ""},
    "/cancel": {"reason": "r"},
    "/retry": {"reason": "r"},
    "/complete": {"version": 0, "outcome": {"result": "success"}},
    "/answer": {"version": 0, "text": "t"},
    "/hold": {"version": 0, "reason": "r"},
    "/release": {"version": 0},
    "/metadata": {"version": 0, "metadata": {}},
    "/handoff": {"version": 0, "handoff": {}},
    "/escalations": {"trigger": "architecture", "reason": ""},
    "/resolve": {"word": "nonsense", "reason": "r"},
    "/dependencies": {"depends_on": ["WI-app-0"]},
    "/gates/{gate}": {"action": "nonsense"},
    "/publish": {"draft": 0},
    "/migrations": {"to": 1, "digest": "none", "reason": "r"},
    "/undo": {"reason": ""},
    "/comments": {"text": "t", "kind": "line"},
    "/comments/{comment}": {"resolved": False},
    "/draft": {"based_on": 0, "base": {}, "document": {}},
    "/forms/{what}": {"fragment": {}},
    "/import": {"document": {}},
    "/walk": {"document": {}},
    "/draft/scenarios": {"document": {}, "name": "t"},
    "/draft/scenarios/run": {"document": {}},
    "/draft/scenarios/generate": {"document": {}},
}
PASSWORD = "correct horse battery"
# No answer is kept by a cache, whoever it was for.
PRIVATE = "private, no-store"


class Place:
    """One project with something at every address: a task that waits at a gate, one at a manual station, a file.
    `mark` makes its keys differ from those of another; `says` stands wherever people write."""

    def __init__(self, world: World, mark: str = "", says: str = "A task") -> None:
        self.world = world
        self.sessions: dict[str, str] = {}
        self.line, self.gate = f"line{mark}", f"look{mark}"
        version = world.line(
            document(
                key=self.line,
                stations=[
                    station("build", {"id": "on", "to": "check", "gates": [self.gate]}),
                    {"key": "check", "work": {"kind": "manual"}},
                ],
                gates=[{"key": self.gate, "name": f"Look {says}"}],
                description=says,
            )
        )
        waits, manual = world.start(version, title=says), world.start(version, title=says)
        world.report(waits)
        world.report(manual)
        world.vote(manual, by=world.reviewer)
        self.task, self.job = waits, world.job(manual)
        self.manual = manual
        blob, _ = Blob.objects.get_or_create(
            digest="0" * 64, defaults={"size": 1, "name": "no such file", "created_at": timezone.now()}
        )
        made = waits.jobs.get()
        self.artifact = Artifact.objects.create(task=waits, job=made, name=f"{says}.txt", blob=blob)
        self.group = world.group(f"security{mark}")
        self.agent = Agent.objects.create(
            project=world.project, key=f"coder{mark}", owner=world.operator, created_at=timezone.now()
        )
        (self.invitation,) = invitations.invite(
            world.project,
            [f"newcomer{mark}@example.com"],
            roles=[Role.VIEWER],
            execute=False,
            groups=(),
            by=world.admin,
            now=timezone.now(),
        )
        self.machine, self.machine_secret = world.machine("read", "submit", "report", "design")
        self.runner, self.runner_secret = world.runner()
        self.visit = world.visit(waits)
        self.member = Membership.objects.get(user=world.viewer)
        self.scenario = Scenario.objects.create(
            line=version.line,
            key=f"smoke{mark}",
            name=says,
            document={"key": f"smoke{mark}"},
            at=timezone.now(),
        )

        self.comment = comments.write(version.line, world.viewer, says, timezone.now(), kind="line")
        self.escalation = engine.escalate(waits.pk, user=world.operator, trigger="architecture", reason=says)
        self.deadlock = Deadlock.objects.create(
            task=waits,
            kind="circular_wait",
            parties=[],
            suggestion=says,
            role="admin",
            found_at=timezone.now(),
        )
        self.deadlock.tasks.add(waits)
        with transaction.atomic():
            batch = Batch.of_tasks(waits.pk)
            batch.event(
                batch.tasks[waits.pk],
                "deadlock.found",
                engine.ENGINE,
                trigger="circular_wait",
                deadlock=str(self.deadlock.pk),
            )
            batch.flush()
        self.value = store.put(
            store.Place(world.project),
            f"REGION{mark.upper().replace('-', '_')}",
            says,
            kind="variable",
            by=world.admin,
            now=timezone.now(),
        )
        self.repository = Repository.objects.create(
            project=world.project,
            name=self.value.name,
            address="/no/such/folder",
            connected_at=timezone.now(),
        )
        self.trigger = IssueTrigger.objects.create(
            repository=self.repository,
            line=version.line,
            value=says,
            made_by=world.admin,
            created_at=timezone.now(),
        )
        self.channel = ChannelConnection.objects.create(
            project=world.project, kind="webhook", name=says, address="", created_at=timezone.now()
        )
        self.message = ChannelMessage.objects.create(
            connection=self.channel,
            visit=self.visit,
            kind="opened",
            state="failed",
            created_at=timezone.now(),
        )
        self.notification = Notification.objects.get(user=world.admin, kind="review", task=waits)
        now = timezone.now()
        self.absence = Absence.objects.create(
            user=world.admin, stand_in=world.viewer, project=world.project, until=now, created_at=now
        )
        self.migration = Migration.objects.create(
            line=version.line, to=version, reason=says, at=timezone.now(), finished_at=timezone.now()
        )

    def arguments(self, name: str) -> dict[str, Any]:
        project, task = self.world.project, self.manual if name == "job-complete" else self.task
        return {
            "owner": project.owner.key,
            "project": project.key,
            "line": self.task.line.key,
            "wi": task.name,
            "task": task.name,
            "gate": self.gate,
            "number": 1,
            "visit": self.visit.pk,
            "artifact": self.artifact.pk,
            "digest": "0" * 64,
            "remark": 1,
            "channel": self.channel.pk,
            "message": self.message.pk,
            "job": self.job.pk,
            "member": self.member.pk,
            "pk": 1,
            "group": self.group.pk,
            "agent": self.agent.pk,
            "invitation": self.invitation.pk,
            "uidb36": "1",
            "provider_id": "nobody",
            "secret": "no-such-link",
            "page": "design",
            "picture": "move",
            "name": self.value.name if name == "api" else "nothing.eml",
            "value": self.value.pk,
            "repository": self.repository.pk,
            "trigger": self.trigger.pk,
            "key": self.visit.token_id if name == "need-act" else self.scenario.key,
            "kind": "question",
            "what": "station",
            "migration": self.migration.pk,
            "notification": self.notification.pk,
            "absence": self.absence.pk,
            "comment": self.comment.pk,
            "escalation": self.escalation.pk,
            "deadlock": self.deadlock.pk,
            "token": self._token_of(name),
            "runner": "00000000-0000-4000-8000-000000000000",
        }

    def _token_of(self, name: str) -> int:
        """A bearer's, or of the task."""
        if name.startswith("runner-"):
            return self.runner.pk
        return self.machine.pk if "token" in name else self.visit.token_id

    def address(self, name: str) -> str:
        given, pattern = self.arguments(name), ROUTES[name]
        wanted = [each for each in given if f":{each}>" in pattern or f"<{each}>" in pattern]
        query = f"?job={self.task.jobs.get().pk}" if name.startswith("task-log") else ""
        return reverse(name, kwargs={argument: given[argument] for argument in wanted}) + query


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Name and pattern of every route but the API's and the admin's own."""
    for each in (resolver or get_resolver()).url_patterns:
        pattern = before + str(each.pattern)
        if isinstance(each, URLPattern):
            yield str(each.name), pattern
        elif each.app_name != "admin" and not pattern.startswith("api/"):
            yield from routes(each, pattern)


ROUTES = {**dict(routes()), "admin:index": "admin/"}


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


@pytest.mark.smoke(4)
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
    assert response.headers["Cache-Control"] == PRIVATE
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
    row = f"POST {matrix.DRAFTS}/{{line}}/comments".split()
    assert _ask_api(place, "admin", client, *row, **own) == "y"


@pytest.mark.django_db
def test_a_token_that_is_none_is_not_saved_by_a_session(place: Place) -> None:
    client = _signed_in(place, "admin")
    row = f"GET {matrix.DRAFTS}".split()
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
    token, secret = accounts.mint_token(
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
