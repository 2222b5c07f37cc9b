"""Claims and reports of one runner in one call: each as by itself (docs/runners.md)."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.models import Event, Job
from pipelines.work.transport.http.transport import HttpTransport
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.factories import World, make_project
from tests.work.runners.far import FACTS, FarAway

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    made = FarAway(tmp_path / "far", world.runner()[1])
    assert made.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    return made


def begun(world: World, far: FarAway, count: int) -> list[dict[str, Any]]:
    """What a runner would say of the first stations of so many tasks that it took."""
    line = world.line(stations=["build", "test"])
    jobs = [world.start(line).jobs.get().pk for _ in range(count)]
    taken = far.call("/claims", {"jobs": jobs}).json()["started"]
    return [_said(each) for each in taken]


def _said(started: dict[str, Any]) -> dict[str, Any]:
    orders = started["orders"]
    fence = {"job": orders["job_id"], "lease": started["lease"], "attempt": orders["attempt"]}
    return {**fence, "outcome": {"result": "success"}, "go_on": True}


def told(far: FarAway, said: list[Any]) -> list[dict[str, Any]]:
    answer = far.call("/reports", {"reports": said})
    assert answer.status_code == 200, answer.text
    answers: list[dict[str, Any]] = answer.json()["answers"]
    return answers


def test_what_it_may_not_have_is_no_claim_and_hinders_none(world: World, far: FarAway) -> None:
    line = world.line(stations=["build"])
    mine, taken = (world.start(line).jobs.get().pk for _ in range(2))
    assert far.call(f"/jobs/{taken}/claim", {}).json()["started"]
    others = World(make_project("foreign"), world.worker)
    foreign = others.start(others.line(stations=["build"])).jobs.get().pk
    found = far.call("/claims", {"jobs": [foreign, taken, mine, 2**40]}).json()["started"]
    assert [each and each["orders"]["job_id"] for each in found] == [None, None, mine, None]
    assert Job.objects.get(pk=foreign).state == Job.State.QUEUED
    for wrong in ([0], ["1"], [1] * 51, 5):
        assert far.call("/claims", {"jobs": wrong}).status_code == 400, wrong


def test_each_moves_its_task_and_brings_the_next_job(world: World, far: FarAway) -> None:
    said = begun(world, far, 3)
    said[1]["go_on"] = False
    answers = told(far, said)
    assert [each["status"] for each in answers] == ["accepted"] * 3
    following = [each["following"] for each in answers]
    assert following[1] is None
    assert [each["orders"]["station"]["key"] for each in following if each] == ["test", "test"]
    ends = told(far, [_said(each) for each in following if each])
    assert [each["decision"] for each in ends] == ["finish", "finish"]
    assert all(job.reported_by == f"worker:{far.id}" for job in Job.objects.filter(state=Job.State.DONE))


def test_the_same_again_is_answered_the_same(world: World, far: FarAway) -> None:
    said = begun(world, far, 2)
    told(far, said)
    events = Event.objects.count()
    assert [each["status"] for each in told(far, [*said, said[0]])] == ["repeated"] * 3
    assert Event.objects.count() == events


def test_what_is_none_of_its_own_keeps_nothing_else_from_moving(world: World, far: FarAway) -> None:
    said = begun(world, far, 3)
    others = World(make_project("foreign"), world.worker)
    other = others.start(others.line(stations=["build"])).jobs.get()
    foreign = {**said[0], "job": other.pk}
    late = {**said[1], "lease": str(uuid.uuid4())}
    wrong = {**said[2], "outcome": {"result": "none of these", "facts": 5}}
    answers = told(far, [foreign, late, wrong, said[0]])
    assert [each["status"] for each in answers] == ["not_found", "ignored", "invalid", "accepted"]
    assert answers[2]["path"] == "outcome.result"
    other.refresh_from_db()
    assert other.state == Job.State.QUEUED
    left = Job.objects.filter(pk__in=[said[1]["job"], said[2]["job"]])
    assert {job.state for job in left} == {Job.State.RUNNING}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (None, "reports[1]"),
        ({"job": "1"}, "reports[1].job"),
        ({"job": 2**63}, "reports[1].job"),
        ({"lease": 5}, "reports[1].lease"),
        ({"lease": "none"}, "reports[1].lease"),
        ({"attempt": 0}, "reports[1].attempt"),
        ({"outcome": "success"}, "reports[1].outcome"),
    ],
)
def test_a_call_that_cannot_be_read_moves_nothing(
    world: World, far: FarAway, change: dict[str, Any] | None, where: str
) -> None:
    said = begun(world, far, 2)
    answer = far.call("/reports", {"reports": [said[0], None if change is None else {**said[1], **change}]})
    assert answer.status_code == 400, answer.text
    assert [each["path"] for each in answer.json()["errors"]] == [where]
    assert {job.state for job in Job.objects.all()} == {Job.State.RUNNING}


def test_more_than_fit_into_one_batch_are_refused(world: World, far: FarAway) -> None:
    assert far.call("/reports", {"reports": [{}] * 51}).status_code == 400
    assert far.call("/reports", {"reports": 5}).status_code == 400
    assert told(far, []) == []


def test_twenty_ask_no_more_than_two(world: World, far: FarAway) -> None:
    asked = []
    for count in (1, 2, 20):  # the first also reads the version
        said = begun(world, far, count)
        with CaptureQueriesContext(connection) as statements:
            told(far, said)
        asked.append(len(statements))
    assert asked[1] == asked[2] <= 26, asked


def test_a_runner_sends_what_is_done_at_the_same_time_in_one_call(world: World, far: FarAway) -> None:
    """Its own code. One alone goes alone."""
    calls: list[tuple[str, int]] = []

    def kept(path: str, document: Any) -> Any:
        calls.append((path, len((document or {}).get("reports", ()))))
        return document

    far.lie = kept
    line = world.line(stations=["build", "test"])
    jobs = [world.start(line).jobs.get().pk for _ in range(5)]

    async def work() -> None:
        transport = HttpTransport(far.calls(), {})
        held = await asyncio.gather(*map(transport.claim_job, jobs))
        assert calls == [("/claims", 0)]
        calls.clear()
        answers = await asyncio.gather(
            *(transport.report(each, {"result": "success"}, True) for each in held if each)
        )
        assert [answer.status for answer in answers] == ["accepted"] * 5
        assert calls == [("/reports", 5)]
        (last, *_) = [each.following for each in answers if each.following]
        assert (await transport.report(last, {"result": "success"}, False)).decision == "finish"
        assert calls[1:] == [(f"/jobs/{last.orders.job_id}/report", 0)]
        await asyncio.to_thread(transport.close)

    asyncio.run(work())


def test_what_fails_together_comes_by_itself(world: World, far: FarAway) -> None:
    """One outcome that the server cannot take in one call with others hinders none of them."""
    line = world.line(stations=["build"])
    jobs = [world.start(line).jobs.get().pk for _ in range(3)]
    calls: list[str] = []

    def spoiled(path: str, document: Any) -> Any:
        calls.append(path)
        return {"reports": 5} if path == "/reports" else {"jobs": 5} if path == "/claims" else document

    far.lie = spoiled

    async def work() -> list[str]:
        transport = HttpTransport(far.calls(), {})
        held = await asyncio.gather(*map(transport.claim_job, jobs))
        said = (transport.report(each, {"result": "success"}, False) for each in held if each)
        answers = await asyncio.gather(*said)
        await asyncio.to_thread(transport.close)
        return [each.decision for each in answers]

    assert asyncio.run(work()) == ["finish"] * 3
    assert sorted(calls) == sorted(
        ["/claims", "/reports", *(f"/jobs/{job}/{what}" for job in jobs for what in ("claim", "report"))]
    )
