"""Lone reports that are here at the same time are answered together, each as by itself
(config/request_handler.py, pipelines/api/runner_calls.py)."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from django.db import connection, connections, transaction
from django.utils import timezone

from config.request_handler import SingleThreadHandler
from pipelines.api import auth
from pipelines.models import ApiToken, Event, Job, RunnerUpload, Task
from pipelines.people import accounts
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.factories import World, make_project
from tests.waiting import LONG, until
from tests.work.runners.far import FACTS, FarAway

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
Json = dict[str, Any]
FILE = b"a file"


class Web:
    """The web process's way with a request, on an event loop of its own."""

    def __init__(self) -> None:
        self.app, self.loop = SingleThreadHandler(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(LONG)
        for thread in self.app._idle:
            thread.submit(connections.close_all).result(LONG)
            thread.shutdown()
        self.loop.close()

    def ask(self, method: str, path: str, headers: dict[str, str], sent: dict[str, Any]) -> httpx2.Response:
        async def work() -> httpx2.Response:
            by = httpx2.ASGITransport(app=self.app)
            async with httpx2.AsyncClient(transport=by, base_url="http://testserver") as client:
                return await client.request(method, path, headers=headers, timeout=LONG, **sent)

        return asyncio.run_coroutine_threadsafe(work(), self.loop).result(LONG)


@dataclass
class FarOff(FarAway):
    """A runner whose calls go the way of the web process."""

    web: Web = field(default_factory=lambda: WEB[-1])

    def call(
        self, path: str, document: Any = None, lease: Any = None, method: str = "POST"
    ) -> httpx2.Response:
        leased = {"Gateline-Lease": str(lease)} if lease else {}
        headers = {"Authorization": f"Bearer {self.secret}", **leased}
        sent = {"content": document} if isinstance(document, bytes) else {"json": document}
        return self.web.ask(method, f"/api/v1/runner/{self.id}{path}", headers, sent)


WEB: list[Web] = []


@pytest.fixture(autouse=True)
def _a_web_process() -> Iterator[None]:
    auth._PROJECTS.clear()
    WEB.append(Web())
    yield
    WEB.pop().stop()


def runner_of(world: World, home: Path) -> FarAway:
    made = FarOff(home, world.runner()[1])
    assert made.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    return made


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    return runner_of(world, tmp_path / "far")


def taken(
    world: World, far: FarAway, count: int, stations: tuple[str, ...] = ("build", "test")
) -> list[Json]:
    """First stations of so many tasks that it took."""
    line = world.line(stations=list(stations))
    jobs = [world.start(line).jobs.get().pk for _ in range(count)]
    found: list[Json] = far.call("/claims", {"jobs": jobs}).json()["started"]
    return found


def told(far: FarAway, started: Json, lease: str = "", **other: Any) -> httpx2.Response:
    orders = started["orders"]
    said = {"attempt": orders["attempt"], "outcome": {"result": "success"}, "go_on": True, **other}
    return far.call(f"/jobs/{orders['job_id']}/report", said, lease or started["lease"])


Calls = list[Callable[[], httpx2.Response]]


def at_once(world: World, far: FarAway, calls: Calls) -> list[httpx2.Response]:
    """The answers to calls that all come while a first is being answered."""
    first, *_ = started = taken(world, far, 2)
    assert told(far, started[1]).status_code == 200  # its project is known from here on
    gathering = WEB[-1].app._gathering(world.project.pk)
    answers: list[Future[httpx2.Response]]
    with ThreadPoolExecutor(1 + len(calls)) as pool:
        with transaction.atomic():
            Task.objects.select_for_update().get(jobs=first["orders"]["job_id"])
            gathering._patience = LONG
            leads = pool.submit(told, far, first)
            until(lambda: len(gathering._lanes) == 1 and not gathering._waiting)
            answers = [pool.submit(call) for call in calls]
            until(lambda: len(gathering._waiting) == len(calls))
        found = [each.result(LONG) for each in answers]
        assert leads.result(LONG).status_code == 200
    return found


def status(answer: httpx2.Response) -> str | int:
    return answer.json()["status"] if answer.status_code == 200 else answer.status_code


def test_each_gets_its_own_answer_whatever_the_others_are(world: World, far: FarAway, tmp_path: Path) -> None:
    mine = taken(world, far, 6)
    second = runner_of(world, tmp_path / "second")
    before, of_second = taken(world, second, 2)
    assert told(second, before).status_code == 200
    others = World(make_project("foreign"), world.worker)
    foreign = others.start(others.line(stations=["build"])).jobs.get()
    revoked = runner_of(world, tmp_path / "revoked")
    (of_revoked,) = taken(world, revoked, 1)
    assert told(revoked, taken(world, revoked, 1)[0]).status_code == 200
    accounts.revoke_token(
        ApiToken.objects.get(digest=accounts.secret_digest(revoked.secret)), timezone.now(), None
    )
    stranger = FarOff(tmp_path / "stranger", far.secret)
    of_other = {**mine[5], "orders": {**mine[5]["orders"], "job_id": foreign.pk}}
    calls: Calls = [
        lambda: told(far, mine[0]),
        lambda: told(revoked, of_revoked),
        lambda: told(far, mine[1], lease=str(uuid.uuid4())),
        lambda: told(far, of_other),
        lambda: told(far, mine[2], outcome="success"),
        lambda: told(far, mine[3], outcome={"result": "none of these"}),
        lambda: told(stranger, mine[5]),
        lambda: told(second, of_second),
        lambda: told(second, mine[5]),
        lambda: told(far, mine[4]),
    ]
    answers = at_once(world, far, calls)
    assert [status(each) for each in answers] == [
        "accepted", 401, "ignored", 404, 400, "invalid", 404, "accepted", 404, "accepted",
    ]  # fmt: skip
    assert [each["path"] for each in answers[4].json()["errors"]] == ["outcome"]
    assert answers[5].json()["path"] == "outcome.result"
    assert answers[6].json()["detail"] == "This runner is not registered."
    followed = [answers[at].json()["following"]["orders"]["task"] for at in (0, 7, 9)]
    assert followed == [each["orders"]["task"] for each in (mine[0], of_second, mine[4])]
    moved = Event.objects.filter(kind="job.reported", data__job__id__in=_ids(mine[0], of_second, mine[4]))
    assert moved.count() == 3 and len({each.at for each in moved}) == 1, "one transaction, one time"
    assert {(each.data["job"]["id"], each.actor) for each in moved} == {
        (*_ids(mine[0]), f"worker:{far.id}"),
        (*_ids(of_second), f"worker:{second.id}"),
        (*_ids(mine[4]), f"worker:{far.id}"),
    }
    left = Job.objects.filter(pk__in=_ids(mine[1], mine[2], mine[3], mine[5], of_revoked))
    assert {job.state for job in left} == {Job.State.RUNNING}
    foreign.refresh_from_db()
    assert foreign.state == Job.State.QUEUED


def _ids(*started: Json) -> list[int]:
    return [each["orders"]["job_id"] for each in started]


def test_a_wrong_token_is_never_among_others(world: World, far: FarAway, tmp_path: Path) -> None:
    """It is of no project, so that it is looked up by itself, before anything that it sends is read."""
    (mine,) = taken(world, far, 1)
    wrong = FarOff(tmp_path, "gl_" + "0" * 40, id=far.id)
    assert [told(wrong, mine).status_code for _ in range(2)] == [401, 401]
    assert wrong.call(f"/jobs/{_ids(mine)[0]}/report", b"{", mine["lease"]).status_code == 401
    assert not auth._PROJECTS
    assert told(far, mine).json()["status"] == "accepted"


def test_a_token_that_was_in_force_is_asked_about_each_time(world: World, far: FarAway) -> None:
    first, second = taken(world, far, 2)
    assert told(far, first).status_code == 200
    accounts.revoke_token(
        ApiToken.objects.get(digest=accounts.secret_digest(far.secret)), timezone.now(), None
    )
    assert told(far, second).status_code == 401
    assert told(far, second, outcome=5).status_code == 401, "what is wrong with it is not told either"
    assert Job.objects.get(pk=_ids(second)[0]).state == Job.State.RUNNING


def test_reports_of_a_runner_with_several_go_with_lone_ones(world: World, far: FarAway) -> None:
    mine = taken(world, far, 4)
    together = {"reports": [_with_lease(each) for each in mine[:2]]}
    broken = {"reports": [_with_lease(mine[2]), {**_with_lease(mine[3]), "attempt": 0}]}

    calls: Calls = [
        lambda: far.call("/reports", together),
        lambda: far.call("/reports", broken),
        lambda: told(far, mine[2]),
    ]
    answers = at_once(world, far, calls)
    assert [each["status"] for each in answers[0].json()["answers"]] == ["accepted"] * 2
    assert answers[1].status_code == 400 and answers[2].json()["status"] == "accepted"
    assert Job.objects.get(pk=_ids(mine[3])[0]).state == Job.State.RUNNING


def _with_lease(started: Json) -> Json:
    orders = started["orders"]
    fence = {"job": orders["job_id"], "lease": started["lease"], "attempt": orders["attempt"]}
    return {**fence, "outcome": {"result": "success"}}


BREAKS = """
    CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'refused by the test'; END $$;
    CREATE TRIGGER refused BEFORE {what} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refused()"""


@pytest.fixture
def breaks() -> Any:
    made: list[str] = []

    def make(table: str, what: str, when: str) -> None:
        made.append(table)
        with connection.cursor() as cursor:
            cursor.execute(BREAKS.format(what=f"{what} ON {table}", when=when))

    yield make
    with connection.cursor() as cursor:
        for table in made:
            cursor.execute(f"DROP TRIGGER refused ON {table}; DROP FUNCTION refused()")


def test_one_whose_transaction_is_refused_loses_none_of_the_others(
    world: World, far: FarAway, breaks: Callable[[str, str, str], None]
) -> None:
    mine = taken(world, far, 3)
    breaks("pipelines_job", "UPDATE", f"new.id = {_ids(mine[1])[0]} AND new.state = 'done'")
    with structlog.testing.capture_logs() as logs:
        answers = at_once(world, far, [lambda each=each: told(far, each) for each in mine])
    assert [status(each) for each in answers] == ["accepted", 503, "accepted"]
    assert [each["job"] for each in logs if each["event"] == "report_failed"] == _ids(mine[1])
    assert Job.objects.get(pk=_ids(mine[1])[0]).state == Job.State.RUNNING


def test_what_fails_behind_the_transaction_is_told_to_that_one_alone(
    world: World, far: FarAway, breaks: Callable[[str, str, str], None]
) -> None:
    """The others come by themselves again, and find that they were recorded."""
    mine = taken(world, far, 3)
    for each in mine:
        _upload(far, each)
    breaks("pipelines_runnerupload", "DELETE", f"old.job_id = {_ids(mine[1])[0]}")
    answers = at_once(world, far, [lambda each=each: told(far, each) for each in mine])
    assert [answers[0].json()["status"], answers[2].json()["status"]] == ["repeated", "repeated"]
    assert all(answers[at].json()["following"] for at in (0, 2))
    reported = Event.objects.filter(kind="job.reported", data__job__id__in=_ids(*mine))
    assert reported.count() == 3, "none twice"


def _upload(far: FarAway, started: Json) -> None:
    (job,) = _ids(started)
    at = f"/jobs/{job}/files/{sha256(FILE).hexdigest()}"
    assert far.call(at, FILE, started["lease"], "PUT").status_code == 204
    assert RunnerUpload.objects.filter(job=job).exists()
