"""Who asks much holds up nobody else: turns of costly requests, time for each person, pages for each address."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from pipelines.models import AddressMinute, Line, Role
from pipelines.web.shell.costly_requests import OF_ONE, TurnLimiter, TurnRefused
from pipelines.web.shell.rate_limits import rate_limit_key, seconds_until_room
from tests.factories import World, document, make_member, station
from tests.fixtures.site import start_web, stop
from tests.pages.conftest import client_of
from tests.waiting import LONG, until

pytestmark = pytest.mark.django_db


def status_of(url: str, *, data: str = "", method: str = "GET", **headers: str) -> tuple[int, dict[str, str]]:
    request = urllib.request.Request(url, data.encode() or None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return answer.status, dict(answer.headers)
    except urllib.error.HTTPError as refusal:
        return refusal.code, dict(refusal.headers)


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_many_saves_of_one_person_leave_pages_of_others_free(world: World, tmp_path: Path) -> None:
    """The saves wait for a row that the test holds, so they are under way for as long as it wants, whatever the speed
    of the machine. The web process has fewer connections than there are saves."""
    line = world.line(document([station("build")])).line
    secret = world.token_of(world.designer)[1]
    web = start_web(tmp_path, DATABASE_POOL="4")
    reader = client_of(world.viewer)
    cookie = f"gateline_session={reader.cookies['gateline_session'].value}"
    base = f"{web.url}/api/owners/{world.project.owner.key}/projects/{world.project.key}"
    address = f"{base}/lines/{line.key}/draft?based_on={line.draft_number}"
    text = json.dumps(document([station("build")], key=line.key))
    page = f"{web.url}/p/{world.project.owner.key}/{world.project.key}/lines/"

    def save() -> tuple[int, dict[str, str]]:
        return status_of(address, data=text, method="PUT", Authorization=f"Bearer {secret}")

    try:
        with ThreadPoolExecutor(8) as pool:
            with transaction.atomic():
                Line.objects.select_for_update().get(pk=line.pk)
                saves = [pool.submit(save) for _ in range(8)]
                refused = _first(saves, 8 - OF_ONE)
                assert {each.result()[0] for each in refused} == {429}
                assert status_of(page, Cookie=cookie)[0] == 200
                under_way = [each for each in saves if not each.done()]
                assert len(under_way) == OF_ONE
            answers = [each.result() for each in refused]
            ended = sorted(each.result()[0] for each in under_way)
    finally:
        stop(web.process)
    assert all(int(headers["Retry-After"]) > 0 for _, headers in answers)
    assert ended == [200]


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_viewers_who_look_at_once_leave_a_turn_for_who_saves(world: World, tmp_path: Path) -> None:
    """Two lints of each of five viewers wait for a table that the test holds; meanwhile a designer saves."""
    viewers = [make_member(world.project, Role.VIEWER) for _ in range(5)]
    secrets = [world.token_of(viewer)[1] for viewer in viewers]
    designer = world.token_of(world.designer)[1]
    web = start_web(tmp_path, DATABASE_POOL="10", GATELINE_COSTLY_AT_ONCE="5")
    base = f"{web.url}/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}"
    text = json.dumps(document([station("build")], key="new"))

    def lint(secret: str) -> tuple[int, dict[str, str]]:
        return status_of(f"{base}/lint", data=text, method="POST", Authorization=f"Bearer {secret}")

    try:
        with ThreadPoolExecutor(10) as pool:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("LOCK TABLE pipelines_repository IN ACCESS EXCLUSIVE MODE")
                lints = [pool.submit(lint, secret) for secret in secrets * 2]
                refused = _first(lints, 6)  # of four viewers one each goes on, and nobody has two
                assert [future.result()[0] for future in refused] == [429] * 6
                saved = status_of(
                    f"{base}/lines/new/draft", data=text, method="PUT", Authorization=f"Bearer {designer}"
                )
                assert saved[0] == 200 and sum(not future.done() for future in lints) == 4
            ended = [future.result()[0] for future in lints if future not in refused]
    finally:
        stop(web.process)
    assert ended == [200] * 4


def test_who_saves_comes_before_who_looks() -> None:
    turns, order = TurnLimiter(at_once=2, budget=0), []
    looking, saving = turns.taking_turn("person 1"), turns.taking_turn("person 2", saves=True)
    looking.__enter__()
    saving.__enter__()

    def take(person: str, saves: bool) -> None:
        with turns.taking_turn(person, saves=saves):
            order.append(person)

    with ThreadPoolExecutor(2) as pool:
        late = [pool.submit(take, "looks", False)]
        until(lambda: pool._work_queue.empty(), "the first to wait")
        late.append(pool.submit(take, "saves", True))
        until(lambda: turns._waiting_to_save == 1, "the second to wait")
        looking.__exit__(None, None, None)
        saving.__exit__(None, None, None)
        for future in late:
            future.result()
    assert order == ["saves", "looks"]


Answers = list[Future[tuple[int, dict[str, str]]]]


def _first(saves: Answers, count: int) -> Answers:
    """The first `count` that are answered; fewer as soon as one is answered otherwise than 429."""
    done: Answers = []
    while len(done) < count and all(each.result()[0] == 429 for each in done):
        wait([each for each in saves if each not in done], return_when=FIRST_COMPLETED)
        done = [each for each in saves if each.done()]
    return done


def test_a_person_has_so_much_time_and_another_person_has_their_own() -> None:
    turns = TurnLimiter(at_once=4, budget=1e-9)
    with turns.taking_turn("person 1"):
        sum(range(10_000))
    with pytest.raises(TurnRefused) as refused, turns.taking_turn("person 1"):
        pass
    assert refused.value.seconds >= 1
    with turns.taking_turn("person 2"):
        pass
    unlimited = TurnLimiter(at_once=4, budget=0)
    for _ in range(2):
        with unlimited.taking_turn("person 1"):
            sum(range(10_000))


def test_who_waits_for_a_turn_gives_back_and_gets_it_when_one_is_free() -> None:
    turns = TurnLimiter(at_once=1, budget=0)
    first = turns.taking_turn("person 1")
    first.__enter__()
    given_back: list[bool] = []

    def give_back() -> None:
        given_back.append(True)
        first.__exit__(None, None, None)

    with turns.taking_turn("person 2", give_back):
        assert given_back == [True]


def asked(client: Client, count: int, path: str = "/sign-in/", **more: str) -> list[int]:
    return [client.get(path, **more).status_code for _ in range(count)]  # type: ignore[arg-type]


def test_anonymous_pages_are_limited_for_each_address_over_all_web_processes(
    settings: Any,
) -> None:
    settings.ANONYMOUS_PER_MINUTE = 5
    one, other = Client(), Client()  # each with a chain of middleware of its own, as two processes have
    assert asked(one, 3) + asked(other, 2) == [200] * 5
    refused = one.get("/sign-in/")
    assert refused.status_code == 429 and 1 <= int(refused["Retry-After"]) <= 120
    assert "Too many requests" in refused.content.decode()
    assert asked(other, 2, "/no-such-page/") == [429, 429]
    assert asked(one, 1, REMOTE_ADDR="192.0.2.7") == [200]
    counted = AddressMinute.objects.filter(address="127.0.0.1").values_list("requests", flat=True)
    assert sum(counted) == 7  # who is refused is not counted again by the process that refused


def test_people_tokens_assets_and_health_are_not_limited(world: World, settings: Any) -> None:
    settings.ANONYMOUS_PER_MINUTE = 1
    assert asked(Client(), 2) == [200, 429]
    assert asked(client_of(world.viewer), 3, "/help/") == [200] * 3
    secret = world.token_of(world.viewer)[1]
    lines = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/lines"
    assert asked(Client(), 3, lines, HTTP_AUTHORIZATION=f"Bearer {secret}") == [200] * 3
    assert 429 not in asked(Client(), 3, "/static/favicon.svg") + asked(Client(), 3, "/healthz")


def test_a_header_is_no_token(world: World, settings: Any) -> None:
    """Whatever it says, where no token counts; and where one does, one that is not in force."""
    settings.ANONYMOUS_PER_MINUTE = 2
    secret = world.token_of(world.viewer)[1]
    lines = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/lines"
    right = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    assert asked(Client(), 3, HTTP_AUTHORIZATION="x") == [200, 200, 429]
    assert asked(Client(), 2, **right) == [429, 429]  # a page takes no token
    other = {"REMOTE_ADDR": "192.0.2.7"}
    for header in ("x", "Bearer x", "Bearer gl_wrong"):
        answers = asked(Client(), 3, "/api/v1/openapi.json", HTTP_AUTHORIZATION=header, **other)
        assert answers[-1] == 429
    assert asked(Client(), 3, lines, **right, **other) == [200] * 3
    assert asked(Client(), 3, "/api/v1/openapi.json", **right, **other) == [200] * 3
    assert asked(Client(), 1, lines, HTTP_AUTHORIZATION="Bearer gl_wrong", **other) == [429]


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_saw(rf: Any, settings: Any) -> None:
    settings.ANONYMOUS_PER_MINUTE, settings.TRUST_PROXY = 2, True
    client = Client()
    forged = [f"198.51.100.{n}, 203.0.113.9" for n in range(4)]
    answers = [client.get("/sign-in/", headers={"X-Forwarded-For": each}).status_code for each in forged]
    assert answers == [200, 200, 429, 429]
    assert asked(client, 1, HTTP_X_FORWARDED_FOR="203.0.113.10") == [200]
    settings.TRUST_PROXY = False
    assert asked(client, 1, HTTP_X_FORWARDED_FOR="203.0.113.9") == [200]


@pytest.mark.parametrize(
    ("seen", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", "unknown"),
        ("unix:", "unknown"),
    ],
)
def test_an_ipv6_network_counts_as_one_address(rf: Any, seen: str, counted: str) -> None:
    assert rate_limit_key(rf.get("/", REMOTE_ADDR=seen)) == counted


@pytest.mark.parametrize(
    ("requests", "second", "before", "seconds"),
    [
        (60, 30.0, 0, 0),
        (60, 30.0, 120, 0),  # half of the minute before still counts
        (61, 30.0, 120, 1),
        (1, 0.0, 120, 1),
        (121, 50.0, 0, 10),
        (240, 0.0, 0, 90),  # as many again have to slide out
    ],
)
def test_the_minute_slides(requests: int, second: float, before: int, seconds: int) -> None:
    assert seconds_until_room(requests, second, before, 120) == seconds
