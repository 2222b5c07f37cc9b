"""Nothing that a client can send is a fault of the server: every route, with what no page means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from tests.access.place import ROUTES, Place
from tests.factories import World
from tests.pages.conftest import As

pytestmark = pytest.mark.django_db

STRANGE = [
    "\0",
    "%00",
    "'",
    '"><script>',
    "../../etc/passwd",
    "9" * 400,
    "-1",
    "é\u202e",
    "a" * 5000,
    "%ff%fe",
    "{{7*7}}",
]
QUERY = (
    *("q", "status", "page", "sort", "line", "show", "job", "attempt"),
    *("from", "move", "tab", "version", "as", "fragment", "next"),
)
PARTS = ("%00", "%ff", "'", "9" * 400, "..%2f..", "a" * 5000, "%F0%9F%92%A9")
FIELDS = ("\0", "9" * 400, "{" * 200, "é\u202e", "a" * 20_000, "&a [*a]")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


@pytest.fixture
def client(world: World, signed_in: As) -> Client:
    client = signed_in(world.admin)
    client.raise_request_exception = False
    return client


@pytest.fixture
def place(world: World) -> Place:
    return Place(world)


def told(response: HttpResponse) -> bool:
    """A stream is read to its end: what goes wrong late goes wrong, too."""
    if response.streaming:
        b"".join(response)
    return response.status_code < 500


@pytest.fixture(params=[1, pytest.param(99, marks=pytest.mark.soak)], ids=["some", "all"])
def most(request: pytest.FixtureRequest) -> int:
    """How many of the strange things each page meets."""
    return int(request.param)


def some(of: Sequence[str], turn: int, most: int) -> Iterator[str]:
    """As many of them, other ones at each turn: pages share what serves them, so together they meet all."""
    for step in range(min(most, len(of))):
        yield of[(turn * most + step) % len(of)]


# healthz says 503 where no worker runs; the links of sign-in are single pages of their own.
PAGES = sorted(set(ROUTES) - {"healthz", "admin:index", "sign-out"})


@pytest.mark.wide
def test_no_query_is_a_fault_of_the_server(place: Place, client: Client, most: int) -> None:
    faults = [
        (name, strange)
        for turn, name in enumerate(PAGES)
        for strange in some(STRANGE, turn, most)
        if not told(client.get(place.address(name).partition("?")[0], dict.fromkeys(QUERY, strange)))
    ]
    assert faults == []


@pytest.mark.wide
def test_no_part_of_an_address_is_a_fault_of_the_server(place: Place, client: Client, most: int) -> None:
    faults = []
    for turn, name in enumerate(PAGES):
        address = place.address(name).partition("?")[0]
        parts = address.strip("/").split("/")
        # Where each part meets one strange thing only, one part of each address does.
        for n in [turn % len(parts)] if most == 1 else range(len(parts)):
            for strange in some(PARTS, turn + n, most):
                broken = "/" + "/".join([*parts[:n], strange, *parts[n + 1 :]]) + "/"
                if not told(client.get(broken)):
                    faults.append(broken[:200])
    assert faults == []


@pytest.mark.wide
def test_no_method_is_a_fault_of_the_server(place: Place, client: Client, most: int) -> None:
    faults = [
        (name, method)
        for turn, name in enumerate(PAGES)
        for method in some(METHODS, turn, 2 * most)
        if not told(client.generic(method, place.address(name)))
    ]
    assert faults == []


@pytest.mark.wide
def test_no_form_is_a_fault_of_the_server(place: Place, client: Client, most: int) -> None:
    fields = (
        *(
            "text",
            "reason",
            "title",
            "description",
            "labels",
            "token_version",
            "based_on",
            "username",
            "role",
        ),
        *(
            "days",
            "scopes",
            "name",
            "key",
            "members",
            "email",
            "time_zone",
            "theme",
            "answer",
            "result",
            "summary",
        ),
        *("inputs.x", "outcome.output.x", "priority", "old_password", "new_password1", "next"),
    )
    faults = [
        (name, strange)
        for turn, name in enumerate(PAGES)
        for strange in some(FIELDS, turn, most)
        if not told(client.post(place.address(name), dict.fromkeys(fields, strange)))
    ]
    assert faults == []


@pytest.mark.wide
def test_a_body_that_is_no_form_is_refused(place: Place, client: Client) -> None:
    for kind, body in (
        ("application/json", b"{"),
        ("multipart/form-data; boundary=x", b"--x\r\n\xff"),
        ("text/plain", b"\0"),
    ):
        answer = client.post(place.address("task-cancel"), body, content_type=kind)
        assert answer.status_code < 500


def test_an_unknown_address_is_a_page_with_a_way_on(client: Client) -> None:
    answer = client.get("/no/such/page/")
    assert answer.status_code == 404
    assert reverse("home") in answer.content.decode()
