"""`gateline runner --once`, with a token for one job of the queue: what an engine starts that has one machine, pod or
batch job for each (docs/runners.md)."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines.models import ApiToken, Job
from pipelines.queries.runners import runner_rows
from pipelines.work.transport.http.calls import ServerCalls
from pipelines.work.transport.http.transport import HttpTransport
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.api.conftest import Apis
from tests.factories import World
from tests.fixtures.site import Site, free_port
from tests.waiting import LONG
from tests.work.driving import command
from tests.work.runners.far import FACTS, FarAway
from tests.work.runners.running import runner


@pytest.fixture
def api(world: World) -> Apis:
    return Apis(world)


pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]

OK, FAILS = "print('done elsewhere')", "raise SystemExit(3)"
SIZED = {"labels": ["gpu"], "resources": {"memory_mb": 512}}


def to(station: str) -> dict[str, str]:
    return {"id": f"to-{station}", "to": station}


def two_stations(world: World, program: str = OK) -> Any:
    return world.line(
        stations=[command("build", program, to("check"), **SIZED), command("check", OK, to("completed"))]
    )


def queue_of(api: Apis, world: World, query: str = "") -> dict[str, Any]:
    answer: dict[str, Any] = api.as_(world.admin).get(f"/queue{query}").json()
    return answer


def token_for(api: Apis, world: World, job: int) -> str:
    made = api.as_(world.admin, "read", "design").post(f"/queue/{job}/token", {"minutes": 5})
    assert made.status_code == 201, made.content
    return str(made.json()["token"])


def test_the_queue_names_labels_and_size_of_what_waits(api: Apis, world: World) -> None:
    line = two_stations(world)
    tasks = [world.start(line) for _ in range(3)]
    listed = queue_of(api, world, "?limit=2")
    assert listed["total"] == 3 and [row["task"] for row in listed["jobs"]] == [
        task.name for task in tasks[:2]
    ]
    first = listed["jobs"][0]
    assert (first["station"], first["kind"], first["labels"], first["attempt"]) == (
        "build",
        "command",
        ["gpu"],
        1,
    )
    assert (first["resources"], first["image"]) == ({"memory_mb": 512}, "")
    assert queue_of(api, world, "?label=gpu&label=big")["total"] == 3
    assert queue_of(api, world, "?label=big") == {"total": 0, "jobs": []}


def test_a_long_queue_costs_no_more_statements(api: Apis, world: World) -> None:
    line, admin = two_stations(world), api.as_(world.admin)
    world.start(line)
    admin.get("/queue")
    counts = []
    for more in (0, 30):
        for _ in range(more):
            world.start(line)
        with CaptureQueriesContext(connection) as queries:
            assert admin.get("/queue").json()["total"] == 1 + more
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_its_job_is_offered_however_many_more_urgent_ones_wait(
    api: Apis, world: World, tmp_path: Path
) -> None:
    line = two_stations(world)
    tasks = [world.start(line) for _ in range(3)]
    last = Job.objects.get(task=tasks[-1])
    pod = FarAway(tmp_path / "pod", token_for(api, world, last.pk))
    assert pod.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    assert pod.call("/waiting", {"room": {"drive": 1}}).json()["jobs"] == [{"job": last.pk, "queue": "drive"}]
    assert pod.call("/waiting", {"room": {"drive": 0}}).json()["jobs"] == []


@pytest.mark.parametrize(("program", "code"), [(OK, 0), (FAILS, 10)])
def test_it_does_one_job_and_its_exit_code_says_how(
    site: Site, api: Apis, world: World, tmp_path: Path, program: str, code: int
) -> None:
    line = two_stations(world, program)
    task, other = world.start(line), world.start(line)
    job = Job.objects.get(task=task)
    secret = token_for(api, world, job.pk)
    with runner(site.url, secret, tmp_path / "pod", "--once") as pod:
        assert pod.process is not None
        assert pod.process.wait(LONG) == code, pod.log.read_text()[-3000:]
    job.refresh_from_db()
    assert job.state == "done" and job.worker is not None and job.worker.stopped_at is not None
    assert [row for row in runner_rows(world.project, timezone.now()) if row.token] == []
    assert job.result == ("success" if code == 0 else "failure")
    # Neither the next station of the same task, nor another task's
    states = Job.objects.filter(task__in=[task, other]).exclude(pk=job.pk).values_list("state", flat=True)
    assert set(states) == {"queued"}
    assert list((tmp_path / "pod" / "state").iterdir()) == []


@pytest.mark.wide
def test_nothing_waits_for_it(site: Site, world: World, tmp_path: Path) -> None:
    _token, secret = world.runner()
    with runner(site.url, secret, tmp_path / "pod", "--once", "--wait", "1") as pod:
        assert pod.process is not None
        assert pod.process.wait(LONG) == 14
    assert "no job came" in pod.log.read_text()


def test_a_server_that_is_away_holds_it_no_longer_than_a_job(tmp_path: Path) -> None:
    with runner(
        f"http://127.0.0.1:{free_port()}", "gl_nobody", tmp_path / "pod", "--once", "--wait", "1"
    ) as pod:
        assert pod.process is not None and pod.process.wait(LONG) == 14
    log = pod.log.read_text()
    assert "server_away" in log and "no job came" in log and "Traceback" not in log


async def test_its_token_opens_no_other_job(site: Site, api: Apis, world: World) -> None:
    def started() -> tuple[int, int, str]:
        line = two_stations(world)
        own, other = (Job.objects.get(task=world.start(line)).pk for _ in range(2))
        return own, other, token_for(api, world, own)

    own, other, secret = await sync_to_async(started)()
    transport = HttpTransport(ServerCalls(site.url, secret, uuid.uuid4(), lambda why: None), {})
    its = {"name": "pod", "host": "h", "pid": 1, "isolation": "none", "labels": ["gpu"]}
    await transport.register({**its, "offers": ["kind:command", "resources"]})
    assert await transport.waiting({"drive": 5}) == {own: "drive"}
    assert await transport.claim_job(other) is None
    assert await transport.claim_job(own) is not None


def test_who_gets_a_token_for_which_job(api: Apis, world: World) -> None:
    task = world.start(world.line(stations=[command("build", OK, to("completed"))]))
    job = Job.objects.get(task=task)
    for person in (world.viewer, world.operator, world.designer):
        member = api.as_(person, "read", "design")
        assert member.post(f"/queue/{job.pk}/token", {}).status_code == 403
    stranger = api.as_(world.stranger, "read", "design")
    assert stranger.get("/queue").status_code == 404
    assert stranger.post(f"/queue/{job.pk}/token", {}).status_code == 404
    admin = api.as_(world.admin, "read", "design")
    assert admin.post(f"/queue/{10**15}/token", {}).status_code == 404
    assert admin.post(f"/queue/{job.pk}/token", {"minutes": 0}).status_code == 400
    world.started(task)
    assert admin.post(f"/queue/{job.pk}/token", {}).status_code == 409
    assert not ApiToken.objects.filter(only_job=job).exists()
