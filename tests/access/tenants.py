"""Two tenants that share nothing, and what shows that one of them reached the other: an answer that says the canary, a
row that changed, a row that was made beside it."""

from __future__ import annotations

import difflib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, models, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.lines import publishing
from pipelines.models import (
    AddressMinute,
    ApiToken,
    Blob,
    Role,
    User,
    Worker,
)
from pipelines.people import accounts
from pipelines.work import storage
from tests.access.place import ROUTES, Place
from tests.factories import World, document, make_project, make_worker
from tests.pages.conftest import PASSWORD

CANARY = "canary-of-the-other-tenant"
SCOPES = ("read", "submit", "report", "decide", "design", "settings")
# Differs from request to request, whoever asks and for whatever.
OF_THE_REQUEST = re.compile(
    r'nonce="[^"]*"|name="csrfmiddlewaretoken" value="[^"]*"|"X-CSRFToken": ?"[^"]*"|<time\b.*?</time>'
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z|-\d{16}\b|for \d+(?:\s|\\u00a0)\w+"
    r'|"request_id": ?"[^"]*"|Request ID <span class="mono">\w+',
    re.DOTALL,
)
# Shared by all tenants, by what they are: bytes by their digest, runners, what a session or an address costs.
SHARED: tuple[type[models.Model], ...] = (Blob, Worker, Session, AddressMinute)


@dataclass
class Tenant:
    """A project with something of every kind, its administrator, and their token and session."""

    place: Place
    file: dict[str, Any]
    token: ApiToken
    secret: str
    session: str

    @property
    def client(self) -> Client:
        """A browser of the administrator that was nowhere yet."""
        browser = Client()
        browser.cookies[settings.SESSION_COOKIE_NAME] = self.session
        return browser

    @property
    def admin(self) -> User:
        return self.place.world.admin

    def arguments(self, name: str) -> dict[str, Any]:
        """As of the matrix, with what a member has for themselves."""
        own = {"token": self.token.pk} if name == "token-revoke" else {}
        return self.place.arguments(name) | own


def apart() -> None:
    """Let the ids that come be such as nothing else says."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1")
        for number, (name,) in enumerate(cursor.fetchall()):
            cursor.execute(f'ALTER SEQUENCE "{name}" RESTART WITH {910_000_000 + number * 10_000}')


def make_tenant(mark: str, says: str) -> Tenant:
    """`mark` ends each of its keys, `says` stands in whatever its people wrote."""
    world = World(make_project(f"app{mark}", f"owner{mark}"), make_worker(name=f"worker{mark}"))
    place = Place(world, mark, says)
    world.project.name = world.project.owner.name = says
    world.project.save()
    world.project.owner.save()
    file = storage.store_upload(
        world.project, f"{says}.txt", SimpleUploadedFile("x", says.encode()), str(world.admin), timezone.now()
    )
    asks = world.line(
        document(
            key=f"asks{mark}",
            name=f"Asks {says}",
            description=says,
            stations=["build"],
            inputs=[{"key": "file", "type": "file", "label": says}, {"key": "key", "type": "secret"}],
        )
    )
    world.start(asks, title=says, inputs={"file": file})
    line = asks.line
    draft = {**asks.document, "description": f"{says}, changed"}
    publishing.save_draft(line, draft, world.designer, line.draft_number)
    token, secret = accounts.mint_token_and_secret(
        kind="person", name=says, scopes=SCOPES, now=timezone.now(), created_by=world.admin, user=world.admin
    )
    # Else each request would note the use of its token, and the database would be looked through after each.
    ApiToken.objects.filter(pk__in=[token.pk, place.machine.pk]).update(last_used_at=timezone.now())
    members = User.objects.filter(memberships__project=world.project)
    members.update(first_name=says, last_name="", password="!")
    place.group.name = place.agent.name = says
    place.group.save()
    place.agent.save()
    place.group.members.add(world.reviewer)
    admin = User.objects.get(pk=world.admin.pk)
    admin.set_password(PASSWORD)
    admin.save()
    world.people[Role.ADMIN] = admin
    client = Client()
    client.force_login(admin)
    return Tenant(place, file, token, secret, str(client.session.session_key))


def ghost(mark: str) -> dict[str, Any]:
    """Names and numbers of what never was: what is another tenant's has to answer as this does."""
    nobody, number = uuid.UUID(int=7), 2_000_000_007
    names = ("owner", "project", "line", "gate", "key", "secret", "drawing", "commit")
    numbers = (
        "artifact",
        "channel",
        "message",
        "account",
        "remark",
        "job",
        "member",
        "pk",
        "group",
        "agent",
        "channel",
        "message",
        "invitation",
        "notification",
        "absence",
        "question",
        "permission",
        "trial",
        "evaluation",
        "value",
        "repository",
        "trigger",
        "line_trigger",
        "notice",
        "folder",
        "token",
    )
    return {
        **dict.fromkeys(names, f"ghost{mark}"),
        **dict.fromkeys(numbers, number),
        "name": f"GHOST{mark.upper().replace('-', '_')}",
        **dict.fromkeys(("visit", "migration", "bulk", "comment", "escalation", "deadlock"), nobody),
        "digest": "7" * 64,
        "workflow": f"ghost{mark}:ghost{mark}:ghost{mark}",
        "execution": f"WI-ghost{mark}-1",
        "wi": f"WI-ghost{mark}-1",
        "task": f"WI-ghost{mark}-1",
    }


def named_in(pattern: str) -> list[str]:
    """The arguments of an address, in their order."""
    return re.findall(r"[<{](?:\w+:)?(\w+)[>}]", pattern)


def page(name: str, arguments: Mapping[str, Any]) -> str:
    return reverse(name, kwargs={each: arguments[each] for each in named_in(ROUTES[name])})


def body_of(response: HttpResponse) -> str:
    """A stream is read to its end."""
    if response.streaming:
        return b"".join(response).decode(errors="replace")
    return str(response.content.decode(errors="replace"))


def shape_of(response: HttpResponse, *asked: object) -> tuple[int, str, str]:
    """Status, where it leads, and the text without what was asked for and what each request has of its own."""
    said = OF_THE_REQUEST.sub("", body_of(response)), response.headers.get("Location", "")
    for each in sorted({str(one) for one in asked if len(str(one)) > 2}, key=len, reverse=True):
        said = said[0].replace(each, "…"), said[1].replace(each, "…")
    return response.status_code, said[1], said[0]


def difference(shape: tuple[int, str, str], expected: tuple[int, str, str]) -> str:
    """What to look at where two answers are not alike."""
    lines = difflib.unified_diff(expected[2].splitlines(), shape[2].splitlines(), lineterm="", n=0)
    told = [line.strip() for line in lines if line[1:].strip()]
    return f"{shape[:2]} is not {expected[:2]}: " + " ".join(told[2:])[:600]


class Untouched:
    """What stood in the database at first still does, and nothing new belongs to it."""

    def __init__(self) -> None:
        self._models = [model for model in apps.get_models() if model._meta.managed and model not in SHARED]
        self._stood = {model: self._rows(model) for model in self._models}

    def violations(self) -> list[str]:
        found = []
        for model, stood in self._stood.items():
            now = self._rows(model)
            found += [f"{model.__name__} {key} changed" for key, row in stood.items() if now.get(key) != row]
            found += self._planted(model, now.keys() - stood.keys())
        return found

    def _planted(self, model: type[models.Model], new: set[Any]) -> Iterator[str]:
        for field in model._meta.concrete_fields if new else ():
            others = self._stood.get(field.related_model) if field.is_relation else None  # type: ignore[arg-type]
            for row in model._default_manager.filter(pk__in=new).values(field.attname) if others else ():
                if row[field.attname] in others:
                    yield f"{model.__name__}.{field.name} {row[field.attname]} is the other's"

    def _rows(self, model: type[models.Model]) -> dict[Any, str]:
        table, key = model._meta.db_table, model._meta.pk.column  # type: ignore[union-attr]
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT t."{key}", md5(t::text) FROM "{table}" t')
            return dict(cursor.fetchall())


WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)


def tried(ask: Callable[[], HttpResponse], untouched: Untouched | None) -> tuple[HttpResponse, list[str]]:
    """The answer, read to its end, and what it did to the other tenant. Then all is put back, so that each request
    meets the same."""
    wrote = False

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal wrote
        wrote = wrote or bool(WRITES.match(sql))
        return execute(sql, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(watch):
            response = ask()
            if response.streaming:
                response.streaming_content = [b"".join(response)]
        violations = untouched.violations() if wrote and untouched else []
        transaction.set_rollback(True)
    return response, violations


def call(client: Client, method: str, address: str, body: object = None, **headers: str) -> HttpResponse:
    text = json.dumps(body, default=str) if body is not None else ""
    response: HttpResponse = client.generic(method, address, text, "application/json", headers=headers)
    return response
