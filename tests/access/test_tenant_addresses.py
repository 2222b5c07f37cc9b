"""Two tenants that share nothing replay each other's whole traffic: pages, API, sockets, with the ids of the other in
the path, in the query and in bodies. Each is answered as if nothing were there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from pipelines.lines import publishing
from pipelines.models import Line
from tests.access.place import ROUTES
from tests.access.tenants import (
    CANARY,
    Tenant,
    body_of,
    call,
    named_in,
    tried,
)
from tests.access.test_matrix import API, BODIES, PAGES
from tests.access.two import DRAFTS, SIGNED, B, Named, Two, arguments, ask_page
from tests.factories import World
from tests.live.conftest import session_of
from tests.waiting import LONG

pytestmark = pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")


# Say which of a kind there is, the same for every tenant, or stand in no project.
COMMON = {"number", "station", "what", "page", "picture", "kind", "provider_id", "uidb36", "pk", "secret"}


def foreign_in(pattern: str) -> list[str]:
    return [each for each in named_in(pattern) if each not in COMMON]


def ask_api(client: Client, row: str, **headers: str) -> Callable[[dict[str, Any]], Any]:
    method, path = row.split()
    body = next((body for end, body in BODIES.items() if path.endswith(end)), {})
    return lambda given: call(client, method, path.format(**given), body, **headers)


# Rows of the matrix that name something of a project: for a stranger it is not there.
OF_PROJECTS = [row for row in PAGES if PAGES[row]["stranger"] == "0" and foreign_in(ROUTES[row.split()[1]])]


# With a token of its own kind, which tests/work/runners/test_lying.py and tests/dialects/test_alp_runner.py try: any
# other is answered 401.
OF_RUNNERS = [row for row in API if API[row]["admin"] == ">" and not row.endswith(SIGNED)]
OPERATIONS = [row for row in API if foreign_in(row) and row not in OF_RUNNERS]
# A person's own, in no project: nothing of it is a machine's, whatever it names.
OF_ONE_PERSON = [row for row in OPERATIONS if API[row]["viewer"] == "0"]


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
        refused = 403 if row in OF_ONE_PERSON else 404
        two.replay(row, ask_api(Client(), row, **machine), set(foreign_in(row)), refused)
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
            # The bytes of its artifact and of its input at the gate were never stored, and no gate of it fell back.
            if response.status_code == 404 and row.split()[1] not in (
                "artifact",
                "sample-again",
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
