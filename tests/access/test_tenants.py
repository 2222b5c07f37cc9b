"""What a query, a body or a form of one tenant names of the other is as if it never was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import resolve
from django.utils import timezone

from pipelines.api import api
from tests.access.tenants import (
    CANARY,
    body_of,
    call,
    difference,
    page,
    shape_of,
    tried,
)
from tests.access.test_matrix import PAGES
from tests.access.two import DRAFTS, PROJECT, TASKS, B, Named, Two, arguments, ask_page
from tests.factories import document

pytestmark = pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")


HOST = "https://git.example/app.git"


Row = tuple[str, Callable[[Named], dict[str, Any]]]


# What else names a thing: queries of pages, and forms that are right but for the one foreign name.
QUERIES: list[Row] = [
    ("inbox", lambda x: {"selected": x.visit, "fragment": "list"}),
    ("needs-me", lambda x: {"project": x.project}),
    ("palette", lambda x: {"q": CANARY[:6], "project": x.project}),
    ("tasks-everywhere", lambda x: {"q": CANARY[:6], "line": x.line, "requester": x.username}),
    ("tasks", lambda x: {"q": CANARY[:6], "line": x.line}),
    (
        "tasks-live",
        lambda x: {"q": CANARY[:6], "line": x.line, "project": x.project, "requester": x.username},
    ),
    ("tasks-live", lambda x: {"view": "lines", "line": x.line, "project": x.project}),
    ("task-fork", lambda x: {"at": 1, "position": x.position}),
    ("activity", lambda x: {"who": x.username, "line": x.line}),
    ("activity", lambda x: {"project": x.project}),
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
    ("line-evaluation", lambda x: {"run": str(x.job)}),
]


FORMS: list[Row] = [
    ("task-bulk-commands", lambda x: {"action": "pause", "chosen": f"{x.owner}/{x.task} {x.position}"}),
    ("task-bulk-commands", lambda x: {"action": "pause", "all": "yes", "line": f"{x.project}/{x.line}"}),
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
    ("account-away", lambda x: {"stand_in": x.user, "project": "", "until": "2026-12-31"}),
    ("account-away", lambda x: {"stand_in": x.user, "project": x.project, "until": "2026-12-31"}),
    ("notifications-read", lambda x: {"notification": x.notification}),
    ("notifications-read", lambda x: {"notification": x.notification, "all": "1"}),
    ("line-restore", lambda x: {"source": f"aside-{x.job}", "based_on": 1}),
]


def _tomorrow() -> str:
    return (timezone.now() + timedelta(days=1)).isoformat()


CALLS: list[tuple[str, str, Callable[[Named], dict[str, Any]]]] = [
    ("POST", "/api/absences", lambda x: {"stand_in": x.username, "until": _tomorrow()}),
    (
        "POST",
        "/api/absences",
        lambda x: {"stand_in": x.username, "until": _tomorrow(), "project": x.project},
    ),
    ("POST", TASKS, lambda x: {"title": "t", "follows": x.task}),
    ("POST", TASKS, lambda x: {"title": "t", "depends_on": [x.task]}),
    ("POST", TASKS.replace("{line}", "{asks}"), lambda x: {"title": "t", "inputs": {"file": x.file}}),
    ("POST", TASKS.replace("{line}", "{asks}"), lambda x: {"title": "t", "inputs": {"key": x.stored}}),
    ("POST", f"{TASKS}/{{task}}/dependencies", lambda x: {"depends_on": [x.task]}),
    ("POST", f"{TASKS}/{{task}}/gates/{{gate}}", lambda x: {"action": "approve", "visit": str(x.visit)}),
    ("POST", f"{TASKS}/{{task}}/gates/{{gate}}", lambda x: {"action": "approve", "inPlaceOf": x.username}),
    (
        "POST",
        "/api/decisions",
        lambda x: {"action": "approve", "items": [{"visit": str(x.visit), "evidence": "e"}]},
    ),
    ("POST", "/api/bulk-commands", lambda x: {"action": "pause", "tasks": [{"task": f"{x.owner}/{x.task}"}]}),
    (
        "POST",
        "/api/bulk-commands",
        lambda x: {"action": "pause", "matching": {"line": f"{x.owner}/{x.key}/{x.line}"}},
    ),
    ("POST", "/api/bulk-commands", lambda x: {"action": "pause", "matching": {"project": x.project}}),
    ("POST", f"{TASKS}/{{task}}/hold", lambda x: {"reason": "r", "position": x.position}),
    ("POST", f"{TASKS}/{{task}}/fork", lambda x: {"position": x.position}),
    ("POST", f"{TASKS}/{{task}}/fork/plan", lambda x: {"position": x.position}),
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
    (
        "POST",
        f"{DRAFTS}/{{line}}/draft/trials",
        lambda x: {"document": document(stations=["build"]), "station": "build", "run": x.job},
    ),
    (
        "POST",
        f"{DRAFTS}/{{line}}/evaluations",
        lambda x: {"station": "build", "cost_limit": "1", "tasks": [x.task]},
    ),
    ("POST", f"{DRAFTS}/{{line}}/comments", lambda x: {"text": "t", "parent": str(x.comment)}),
    (
        "POST",
        f"{DRAFTS}/{{line}}/migrations",
        lambda x: {"to": 1, "digest": "d", "reason": "r", "tasks": [x.task]},
    ),
    ("GET", f"{DRAFTS}/{{line}}/impact", lambda x: {"to": 1, "task": x.task}),
    ("GET", f"{DRAFTS}/{{line}}/backtest", lambda x: {"to": "draft", "tasks": x.task}),
    (
        "POST",
        "/api/workflow-executions/{execution}/retry-station",
        lambda x: {"station_execution_id": str(x.job)},
    ),
    (
        "POST",
        "/api/workflow-executions/{execution}/complete-station",
        lambda x: {"station_execution_id": str(x.job), "status": "completed"},
    ),
    ("GET", "/api/needs", lambda x: {"project": x.project}),
    ("GET", f"{PROJECT}/secrets", lambda x: {"line": x.line}),
]


# Names in bodies and queries of the API that name no row of the database: words, texts, numbers, parts of a document.
PLAIN = """
    matching q requester show tasks
    accepts acknowledge action address after against allow alone archived at at_once attempt base based_on before body
    at context cursor deed
    default_branch description dialect digest display_status do document draft due_at each_task edit ends evidence
    expect expected file files flags
    form fragment from gates handoff host host_app id index keys kind labels last limit losses map mapping metadata
    month_cost_usd name names one_at_a_time options outcome output own page peek place policy preset priority
    pushing reason renamed
    resolved revision route rows rules save scope second_factor secret since starter station stations status steps text
    days_off size time_zone work_days work_from work_until working_time
    check cost_limit
    title to traces transitions trigger typed until
    day_tasks month_tasks day_cost_usd file_days record_days tasks key over
    value values version versions within word Idempotency-Key fields
    abandoned again agents answers attempt jobs concurrency cuts_network isolation limits_hosts machine no_space offers
    label minutes
    path pid programs registries
    protocol room seconds stopping stops
    task_id base_branch executor_profile_id output_data
    columnId completionReason conclusion description error exitCode jobId jobResult logs message question sessionId
    summary begins input_names
    protection approvals groups changed_by four_eyes
    allow arguments tool
    wide narrow geometry svg placed parts gates ways rows stubs points back pillAt wordsAt x y width height rule target
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
