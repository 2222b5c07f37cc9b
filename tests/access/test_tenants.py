"""Two tenants that share nothing replay each other's whole traffic: pages, API, sockets, with the ids of the other in
the path, in the query and in bodies. Each is answered as if nothing were there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client
from django.urls import resolve

from pipelines.api import api
from pipelines.lines import publishing
from pipelines.models import Line
from tests.access import matrix
from tests.access.tenants import (
    CANARY,
    Tenant,
    Untouched,
    apart,
    body_of,
    call,
    difference,
    ghost,
    make_tenant,
    named_in,
    page,
    shape_of,
    tried,
)
from tests.access.test_matrix import API, BODIES, PAGES, ROUTES
from tests.factories import World
from tests.live.conftest import session_of
from tests.waiting import LONG

pytestmark = pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
A, B, NOBODY = "-aa", "-bb", "-gg"
# Say which of a kind there is, the same for every tenant, or stand in no project.
COMMON = {"number", "what", "page", "picture", "kind", "provider_id", "uidb36", "pk", "secret"}
HOST = "https://git.example/app.git"
# A tenant may use any such name itself; it names nothing of another.
FREE = {"name", "key", "gate", "line"}


class Two:
    """`other` was there first. What it has is fixed from then on."""

    def __init__(self) -> None:
        apart()
        self.other = make_tenant(A, CANARY)
        self.untouched = Untouched()
        self.me = make_tenant(B, "mine")
        self.faults: list[str] = []

    def replay(self, what: str, ask: Callable[[dict[str, Any]], Any], foreign: set[str]) -> None:
        """`ask` sends a request with the arguments it gets: those of the other have to be answered as a ghost's."""
        mine = arguments(self.me, what)
        theirs, never = arguments(self.other, what), arguments_of_ghost(what)
        answers = []
        for source in (theirs, never):
            given = mine | {each: source[each] for each in foreign}
            response, violations = tried(lambda given=given: ask(given), self.untouched)  # type: ignore[misc]
            self.faults += [f"{what}: {each}" for each in violations]
            asked = [given[each] for each in foreign]
            answers.append((response.status_code, CANARY in body_of(response), shape_of(response, *asked)))
        (status, leaks, shape), (_, _, expected) = answers
        if leaks:
            self.faults.append(f"{what} with the other's {sorted(foreign)}: says what is theirs")
        if shape != expected:
            self.faults.append(f"{what} with the other's {sorted(foreign)}: {difference(shape, expected)}")
        if status != 404 and not foreign <= FREE:
            self.faults.append(f"{what} with the other's {sorted(foreign)}: {status}")


def arguments(tenant: Tenant, what: str) -> dict[str, Any]:
    name = what.split()[1]
    if not name.startswith("/api/"):
        own = {"job": tenant.place.task.jobs.get().pk} if name.startswith("task-log") else {}
        return tenant.arguments(name) | own
    return tenant.arguments("api") | {"visit": tenant.place.task.jobs.get().pk}


def arguments_of_ghost(what: str) -> dict[str, Any]:
    number = {"visit": 2_000_000_007} if what.partition(" ")[2].startswith("/api/") else {}
    return ghost(NOBODY) | number


def foreign_in(pattern: str) -> list[str]:
    return [each for each in named_in(pattern) if each not in COMMON]


def ask_page(tenant: Tenant, row: str) -> Callable[[dict[str, Any]], Any]:
    method, name = row.split()
    query = "?job={job}" if name.startswith("task-log") else ""
    return lambda given: tenant.client.generic(method, page(name, given) + query.format(**given))


def ask_api(client: Client, row: str, **headers: str) -> Callable[[dict[str, Any]], Any]:
    method, path = row.split()
    body = next((body for end, body in BODIES.items() if path.endswith(end)), {})
    return lambda given: call(client, method, path.format(**given), body, **headers)


# Rows of the matrix that name something of a project: for a stranger it is not there.
OF_PROJECTS = [row for row in PAGES if PAGES[row]["stranger"] == "0" and foreign_in(ROUTES[row.split()[1]])]
OPERATIONS = [row for row in API if foreign_in(row)]


@pytest.fixture
def two(db: None) -> Two:
    return Two()


def test_every_address_of_the_other_answers_as_if_nothing_were_there(two: Two) -> None:
    for row in OF_PROJECTS:
        two.replay(row, ask_page(two.me, row), set(foreign_in(ROUTES[row.split()[1]])))
    assert not two.faults, "\n".join(two.faults)


@pytest.mark.wide
def test_every_operation_of_the_other_answers_as_if_nothing_were_there(two: Two) -> None:
    bearer = {"Authorization": f"Bearer {two.me.secret}"}
    for row in OPERATIONS:
        two.replay(row, ask_api(Client(), row, **bearer), set(foreign_in(row)))
    assert not two.faults, "\n".join(two.faults)


@pytest.mark.wide
def test_no_id_of_the_other_is_found_below_an_address_of_ones_own(two: Two) -> None:
    bearer = {"Authorization": f"Bearer {two.me.secret}"}
    for row in OF_PROJECTS:
        for each in foreign_in(ROUTES[row.split()[1]]):
            two.replay(row, ask_page(two.me, row), {each})
    for row in OPERATIONS:
        for each in foreign_in(row):
            two.replay(row, ask_api(Client(), row, **bearer), {each})
    assert not two.faults, "\n".join(two.faults)


@pytest.mark.wide
def test_a_machine_and_a_page_are_told_no_more_by_the_api(two: Two) -> None:
    machine = {"Authorization": f"Bearer {two.me.place.machine_secret}"}
    for row in OPERATIONS:
        two.replay(row, ask_api(Client(), row, **machine), set(foreign_in(row)))
        two.replay(row, ask_api(two.me.client, row), set(foreign_in(row)))
    assert not two.faults, "\n".join(two.faults)


@pytest.mark.wide
def test_each_tenant_gets_all_of_its_own_traffic(two: Two) -> None:
    """Otherwise the others would be refused what nobody gets."""
    other, missing = two.other, []
    bearer = {"Authorization": f"Bearer {other.secret}"}
    for row in PAGES:
        if PAGES[row]["admin"] == "y":
            response, _ = tried(lambda row=row: ask_page(other, row)(arguments(other, row)), None)  # type: ignore[misc]
            # The bytes of its artifact and of its input at the gate were never stored.
            if response.status_code == 404 and row.split()[1] not in (
                "artifact",
                "task-file",
                "task-input",
                "task-input-preview",
                "task-receipt",
            ):
                missing.append(row)
    for row in OPERATIONS:
        response, _ = tried(lambda row=row: ask_api(Client(), row, **bearer)(arguments(other, row)), None)  # type: ignore[misc]
        if response.status_code == 404:
            missing.append(row)
    assert missing == []


@pytest.mark.wide
def test_ones_own_pages_say_nothing_of_the_other(two: Two) -> None:
    """Lists, searches and exports over all that one may see, and one's own project."""
    for row in PAGES:
        if PAGES[row]["stranger"] == "y" or (row in OF_PROJECTS and row.startswith("GET")):
            ask = ask_page(two.me, row)
            response, violations = tried(lambda ask=ask, row=row: ask(arguments(two.me, row)), two.untouched)  # type: ignore[misc]
            two.faults += [f"{row}: {each}" for each in violations]
            two.faults += [f"{row}: says what is theirs"] if CANARY in body_of(response) else []
    assert not two.faults, "\n".join(two.faults)


class Named:
    """What a tenant has that a body or a query can name; of a ghost: what never was."""

    def __init__(self, tenant: Tenant | None) -> None:
        never = ghost(NOBODY)
        self.owner = tenant.place.world.project.owner.key if tenant else never["owner"]
        self.key = tenant.place.world.project.key if tenant else never["project"]
        self.project = f"{self.owner}/{self.key}"
        self.line = tenant.place.line if tenant else never["line"]
        self.task = tenant.place.task.name if tenant else never["task"]
        self.file = (
            tenant.file if tenant else {"name": f"{CANARY}.txt", "digest": "7" * 64, "size": len(CANARY)}
        )
        self.stored = tenant.place.value.name if tenant else never["name"].upper()
        self.member = tenant.place.member.pk if tenant else never["member"]
        self.user = tenant.admin.pk if tenant else never["member"]
        self.username = tenant.admin.username if tenant else never["name"]
        self.group = tenant.place.group.pk if tenant else never["group"]
        self.job = tenant.place.task.jobs.get().pk if tenant else never["job"]
        self.visit = tenant.place.visit.pk if tenant else never["visit"]
        self.position = tenant.place.visit.token_id if tenant else never["token"]
        self.comment = tenant.place.comment.pk if tenant else never["comment"]
        self.session = tenant.session if tenant else never["name"]
        self.notification = tenant.place.notification.pk if tenant else never["notification"]
        self.agent = tenant.place.agent.pk if tenant else never["agent"]
        self.value = tenant.place.value.pk if tenant else never["value"]
        self.token = tenant.place.machine.pk if tenant else never["token"]
        self.invitation = tenant.place.invitation.pk if tenant else never["invitation"]


Row = tuple[str, Callable[[Named], dict[str, Any]]]
# What else names a thing: queries of pages, and forms that are right but for the one foreign name.
QUERIES: list[Row] = [
    ("inbox", lambda x: {"selected": x.visit, "fragment": "list"}),
    ("needs-me", lambda x: {"project": x.project}),
    ("palette", lambda x: {"q": CANARY[:6], "project": x.project}),
    ("tasks-everywhere", lambda x: {"q": CANARY[:6], "line": x.line, "requester": x.username}),
    ("tasks", lambda x: {"q": CANARY[:6], "line": x.line}),
    ("project-audit", lambda x: {"who": x.username}),
    ("project-audit-export", lambda x: {"who": x.username}),
    ("task-log", lambda x: {"job": x.job}),
    ("task-log-download", lambda x: {"job": x.job}),
    ("task", lambda x: {"move": x.position, "job": x.job}),
    ("task-new", lambda x: {"follows": x.task}),
    ("task-new", lambda x: {"blocks": x.task}),
    ("task-new-choose", lambda x: {"follows": x.task}),
    ("line-impact", lambda x: {"to": 1, "task": x.task}),
    ("line-backtest", lambda x: {"task": x.task}),
]
FORMS: list[Row] = [
    ("task-new", lambda x: {"title": "t", "follows": x.task}),
    ("task-new", lambda x: {"title": "t", "blocks": x.task}),
    ("task-new", lambda x: {"title": "t", "depends_on": x.task}),
    ("projects", lambda x: {"name": "New", "key": "new", "owner": x.owner}),
    ("projects", lambda x: {"name": "New", "key": "new", "owner": "", "new_owner": x.owner}),
    ("project-transfer", lambda x: {"owner": x.owner}),
    ("line-duplicate", lambda x: {"to": x.project}),
    ("member-add", lambda x: {"username": x.username, "roles": "viewer"}),
    ("member-invite", lambda x: {"emails": "a@example.com", "roles": "viewer", "groups": x.group}),
    ("member-change", lambda x: {"do": "remove", "remove": "1", "heir": x.user}),
    ("member-account", lambda x: {"do": "deactivate", "heir": x.user}),
    ("project-leave", lambda x: {"heir": x.user}),
    ("project-groups", lambda x: {"key": "new", "name": "New", "members": x.user}),
    ("group-change", lambda x: {"do": "save", "key": "k", "name": "New", "members": x.user}),
    ("project-agents", lambda x: {"key": "new", "name": "n", "owner": x.user}),
    ("project-agent", lambda x: {"name": "n", "owner": x.user, "escalates_to": x.username}),
    ("project-secrets", lambda x: {"name": "N", "kind": "secret", "value": "12345678", "place": x.owner}),
    ("project-secrets", lambda x: {"name": "N", "kind": "secret", "value": "12345678", "place": x.line}),
    ("project-repositories", lambda x: {"address": HOST, "pushing": "admin", "credential": x.stored}),
    (
        "project-setup",
        lambda x: {"do": "connect", "address": HOST, "pushing": "admin", "credential": x.stored},
    ),
    ("project-repository-trigger", lambda x: {"on": "label", "value": "v", "line": x.line}),
    ("sessions-end", lambda x: {"session": x.session}),
    ("notifications-read", lambda x: {"notification": x.notification}),
    ("notifications-read", lambda x: {"notification": x.notification, "all": "1"}),
    ("line-restore", lambda x: {"source": f"aside-{x.job}", "based_on": 1}),
]
DRAFTS, TASKS, PROJECT = matrix.DRAFTS, matrix.LINE, matrix.PROJECT
CALLS: list[tuple[str, str, Callable[[Named], dict[str, Any]]]] = [
    ("POST", TASKS, lambda x: {"title": "t", "follows": x.task}),
    ("POST", TASKS, lambda x: {"title": "t", "depends_on": [x.task]}),
    ("POST", TASKS.replace("{line}", "{asks}"), lambda x: {"title": "t", "inputs": {"file": x.file}}),
    ("POST", TASKS.replace("{line}", "{asks}"), lambda x: {"title": "t", "inputs": {"key": x.stored}}),
    ("POST", f"{TASKS}/{{task}}/dependencies", lambda x: {"depends_on": [x.task]}),
    ("POST", f"{TASKS}/{{task}}/gates/{{gate}}", lambda x: {"action": "approve", "visit": str(x.visit)}),
    ("POST", f"{TASKS}/{{task}}/hold", lambda x: {"reason": "r", "position": x.position}),
    ("POST", f"{TASKS}/{{task}}/answer", lambda x: {"version": 1, "text": "t", "position": x.position}),
    (
        "POST",
        f"{TASKS}/{{task}}/complete",
        lambda x: {"version": 1, "outcome": {"result": "success"}, "position": x.position},
    ),
    ("POST", f"{DRAFTS}/{{line}}/duplicate", lambda x: {"owner": x.owner, "project": x.key}),
    ("POST", f"{PROJECT}/transfer", lambda x: {"owner": x.owner}),
    ("POST", "/api/owners/{owner}/projects", lambda x: {"key": "new", "name": "New"}),
    ("PUT", f"{PROJECT}/repositories/N", lambda x: {"address": HOST, "credential": x.stored}),
    ("PUT", f"{PROJECT}/repositories/N", lambda x: {"address": HOST, "host_credential": x.stored}),
    ("PUT", f"{PROJECT}/repositories/N", lambda x: {"address": HOST, "hook_secret": x.stored}),
    ("PUT", f"{PROJECT}/secrets/N", lambda x: {"value": "12345678", "place": "line", "line": x.line}),
    ("POST", f"{DRAFTS}/{{line}}/comments", lambda x: {"text": "t", "parent": str(x.comment)}),
    (
        "POST",
        f"{DRAFTS}/{{line}}/migrations",
        lambda x: {"to": 1, "digest": "d", "reason": "r", "tasks": [x.task]},
    ),
    ("GET", f"{DRAFTS}/{{line}}/impact", lambda x: {"to": 1, "task": x.task}),
    ("GET", f"{DRAFTS}/{{line}}/backtest", lambda x: {"to": "draft", "tasks": x.task}),
    ("GET", "/api/needs", lambda x: {"project": x.project}),
    ("GET", f"{PROJECT}/secrets", lambda x: {"line": x.line}),
]


# Names in bodies and queries of the API that name no row of the database: words, texts, numbers, parts of a document.
PLAIN = """
    action address after against alone archived at base based_on before cursor deed default_branch description
    digest display_status do document draft due_at each_task edit ends evidence expect expected file flags form
    fragment from gates handoff host host_app id index keys kind labels last limit map mapping metadata
    month_cost_usd name names outcome output own page peek place policy preset priority pushing reason renamed
    resolved revision route rows rules save scope second_factor since starter station stations status steps text
    title to traces transitions trigger typed until
    value values version versions within word Idempotency-Key
"""


def test_every_name_in_a_body_of_the_api_is_played_or_known_to_name_nothing() -> None:
    described = api.get_openapi_schema()
    names = {"key"}  # of what is made, in the project of the address
    for methods in described["paths"].values():
        for operation in methods.values():
            names |= {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
            names |= _properties(operation.get("requestBody", {}), described["components"]["schemas"])
    played = {name for _method, _path, body in CALLS for name in body(Named(None))}
    assert names - played - set(PLAIN.split()) == set()


def _properties(schema: Any, others: dict[str, Any]) -> set[str]:
    """Of a body and of what is in it."""
    if isinstance(schema, list):
        return set().union(*(_properties(each, others) for each in schema))
    if not isinstance(schema, dict):
        return set()
    if "$ref" in schema:
        return _properties(others[schema["$ref"].rpartition("/")[2]], others)
    own = set(schema.get("properties", ()))
    return own.union(*(_properties(each, others) for each in schema.values()))


def requests_of(two: Two) -> Iterator[tuple[str, Callable[[Named], Any]]]:
    me, mine = two.me, arguments(two.me, "GET api")
    for name, query in QUERIES:
        address = page(name, arguments(me, f"GET {name}"))
        yield f"GET {name}", lambda x, a=address, q=query: me.client.get(a, q(x))
    for name, form in FORMS:
        address = page(name, arguments(me, f"POST {name}"))
        yield f"POST {name}", lambda x, a=address, f=form: me.client.post(a, f(x))
    bearer = {"Authorization": f"Bearer {me.secret}"}
    given = arguments(me, "GET /api/") | {"asks": f"asks{B}"} | {"key": mine["key"]}
    for method, path, body in CALLS:
        address = path.format(**given)
        if method == "GET":
            yield f"{method} {path}", lambda x, a=address, b=body: Client(headers=bearer).get(a, b(x))
        else:
            yield (
                f"{method} {path}",
                lambda x, m=method, a=address, b=body: call(Client(), m, a, b(x), **bearer),
            )


@pytest.mark.wide
def test_what_a_query_or_a_body_names_of_the_other_is_as_if_it_never_was(two: Two) -> None:
    theirs, never = Named(two.other), Named(None)
    for what, ask in requests_of(two):
        shapes: list[Any] = []
        for named in (theirs, never):
            response, violations = tried(lambda ask=ask, named=named: ask(named), two.untouched)  # type: ignore[misc]
            two.faults += [f"{what}: {each}" for each in violations]
            shapes.append(shape_of(response, *vars(named).values(), CANARY))
            if named is theirs and CANARY in body_of(response).replace(two.other.file["name"], ""):
                two.faults.append(f"{what}: says what is theirs")
        if shapes[0] != shapes[1]:
            two.faults.append(f"{what}: {difference(*shapes)}")
    assert not two.faults, "\n".join(two.faults)


@dataclass(frozen=True)
class NamingField:
    """A field of a form on a page, which sends `named` of its tenant; `form` is what else the form sends."""

    address: str
    field: str
    named: str
    form: tuple[tuple[str, str], ...]


class Forms(HTMLParser):
    """The forms of a page that are sent by POST: where to, and what each field sends."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str]]]] = []
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(
                (given.get("action", ""), []) if given.get("method", "").lower() == "post" else ("", [])
            )
        if tag == "select":
            self._select = given.get("name", "")
        name = self._select if tag == "option" else given.get("name", "")
        if self.found and name and tag in ("input", "option", "button") and "value" in given:
            self.found[-1][1].append((name, given["value"]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""


def naming_fields(two: Two) -> list[NamingField]:
    """Each field of each form on the pages of a tenant that sends what names something of that tenant, once."""
    mine = vars(Named(two.me))
    people = two.me.place.world.project.memberships.values_list("user", flat=True)
    names = {str(pk): "user" for pk in people}
    names |= {str(value): name for name, value in mine.items() if isinstance(value, int | str | UUID)}
    found: dict[tuple[str, str, str], NamingField] = {}
    for row in PAGES:
        if PAGES[row]["admin"] != "y" or not row.startswith("GET "):
            continue
        response, _ = tried(lambda row=row: ask_page(two.me, row)(arguments(two.me, row)), None)  # type: ignore[misc]
        if response.status_code != 200 or not response.headers["Content-Type"].startswith("text/html"):
            continue
        for address, fields in Forms(body_of(response)).found:
            path = address.partition("?")[0] or response.wsgi_request.path
            for field, value in fields if path.startswith("/") else ():
                named = names.get(value)
                if named and field not in ("csrfmiddlewaretoken", "next"):
                    others = tuple(
                        (name, sent) for name, sent in fields if name not in (field, "csrfmiddlewaretoken")
                    )
                    key = (resolve(path).url_name or "", field, named)
                    found.setdefault(key, NamingField(path, field, named, others))
    return list(found.values())


@pytest.mark.wide
def test_every_field_of_a_form_that_names_something_finds_nothing_of_the_other(two: Two) -> None:
    """Fields that are found on the pages, so that a new form is tried without being listed here."""
    theirs, never = Named(two.other), Named(None)
    fields = naming_fields(two)
    assert len(fields) >= 10 and {"user", "group"} <= {each.named for each in fields}, fields
    for each in fields:
        shapes = []
        for named in (theirs, never):
            value = str(getattr(named, each.named))
            sent = {**dict(each.form), each.field: value}
            response, violations = tried(
                lambda e=each, s=sent: two.me.client.post(e.address, s), two.untouched
            )  # type: ignore[misc]
            two.faults += [f"{each.address} {each.field}: {fault}" for fault in violations]
            shapes.append(shape_of(response, *vars(named).values(), CANARY))
            if named is theirs and CANARY in body_of(response):
                two.faults.append(f"{each.address} {each.field}: says what is theirs")
        if shapes[0] != shapes[1]:
            two.faults.append(f"{each.address} {each.field}: {difference(*shapes)}")
    assert not two.faults, "\n".join(two.faults)


def test_the_id_of_a_comment_of_the_other_is_refused_and_says_nothing(two: Two) -> None:
    """The one id that a client may choose: a UUID that nobody can guess."""
    address = f"{DRAFTS}/{{line}}/comments".format(**arguments(two.me, "GET /api/"))
    body = {"text": "t", "kind": "line", "id": str(two.other.place.comment.pk)}
    bearer = {"Authorization": f"Bearer {two.me.secret}"}
    response, violations = tried(lambda: call(Client(), "POST", address, body, **bearer), two.untouched)
    assert (response.status_code, violations) == (409, [])
    assert response.json()["by"] == ""
    assert CANARY not in body_of(response)


@pytest.mark.django_db(transaction=True)
async def test_a_socket_of_the_other_is_refused_as_if_nothing_were_there(
    knock: Callable[..., WebsocketCommunicator],
) -> None:
    two = await sync_to_async(Two)()
    session = await sync_to_async(session_of)(two.me.admin)
    theirs, mine = await sync_to_async(Named)(two.other), await sync_to_async(Named)(two.me)
    for named in (theirs, Named(None)):
        for project, more in (
            (named.project, {}),
            (named.project, {"line": named.line, "draw": "1"}),
            (f"{mine.owner}/{named.key}", {}),
            (f"{named.owner}/{mine.key}", {}),
            (mine.project, {"line": named.line}),
            (mine.project, {"task": named.task}),
        ):
            accepted, code = await knock(project, session, **more).connect(timeout=LONG)
            assert (accepted, code) == (False, 1000), (project, more)


@pytest.mark.django_db(transaction=True)
async def test_an_open_socket_hears_nothing_of_the_other(knock: Callable[..., WebsocketCommunicator]) -> None:
    two = await sync_to_async(Two)()
    socket = knock(two.me.place.world.project, await sync_to_async(session_of)(two.me.admin))
    accepted, _ = await socket.connect(timeout=LONG)
    assert accepted

    def move(world: World, tenant: Tenant) -> str:
        line = Line.objects.get(project=world.project, key=tenant.place.line)
        publishing.save_draft(line, {**line.draft, "description": "moved"}, world.designer, line.draft_number)
        world.vote(tenant.place.task)
        return tenant.place.task.name

    for tenant in (two.other, two.me):
        name = await sync_to_async(move)(tenant.place.world, tenant)
    heard: set[str] = set()
    while name not in heard:
        message = await socket.receive_json_from(timeout=LONG)
        heard |= {hint["task"] for hint in message.get("hints", [])}
    assert all(each.startswith(f"WI-app{B}-") for each in heard), heard
    await socket.disconnect()
