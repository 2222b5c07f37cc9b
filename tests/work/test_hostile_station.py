"""A station that tries to steal and to decide, on the whole product: a worker process beside a web process."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from pipelines.models import GateVisit, Job, Vote, Worker
from pipelines.queries.workers import protection_gaps
from pipelines.work import logs
from pipelines.work.processes.isolation import isolation_places, link_folders
from tests.factories import World, document, station
from tests.fixtures.site import Site, environment, manage, stop
from tests.waiting import until
from tests.work.isolations import BOTH, isolation_or_skip

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
HOSTILE = Path(__file__).with_name("hostile.py")


@pytest.fixture(params=BOTH)
def isolated_worker(
    request: pytest.FixtureRequest, site: Site, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    python = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(sys.executable))]
    asyncio.run(isolation_or_skip(request.param, isolation_places(python, [], tmp_path), tmp_path / "tried"))
    env = environment(GATELINE_ISOLATION=request.param, GATELINE_STATION_READABLE=str(HOSTILE))
    process = manage("worker", log=tmp_path / "worker.log", env=env, alone=True)
    yield process
    stop(process)


@pytest.mark.smoke(1)
@pytest.mark.isolation
@pytest.mark.parametrize(("network", "refusal"), [("open", "401"), ("none", "refused|Permission denied")])
def test_a_station_cannot_steal_or_approve_its_own_gate(
    world: World,
    site: Site,
    isolated_worker: subprocess.Popen[bytes],
    tmp_path: Path,
    network: str,
    refusal: str,
) -> None:
    log = tmp_path / "worker.log"
    running = until(lambda: Worker.objects.filter(pid=isolated_worker.pid).first(), log.read_text)
    data = Path(settings.DATA_DIR)
    neighbour = Path(settings.WORKSPACES_DIR) / "another-worker" / "7" / "7.1" / "workspace"
    for folder in (data / "mail", data / "artifacts", neighbour):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "canary").write_text("gateline")
    project = world.project
    gate = (
        f"{site.url}/api/owners/{project.owner.key}/projects/{project.key}"
        f"/stages/hostile/tasks/WI-{project.key}-1/gates/sign-off"
    )
    what: dict[str, Any] = {
        "read": {"password": str(data / "postgres-password"), "secret-key": str(data / "secret-key")},
        "list": {
            "mail": str(data / "mail"),
            "neighbour": str(neighbour),
            "artifacts": str(data / "artifacts"),
        },
        "write": {"manage": str(Path(settings.BASE_DIR) / "manage.py.forged")},
        "find": {"root": str(data), "needle": "gateline"},
        "needle": "DATABASE_URL=",
        "link": str(data / "postgres-password"),
        "pid": isolated_worker.pid,
        "kill": "manage.py\x00worker",
        "approve": {"own-gate": gate},
    }
    host = str(connection.settings_dict["HOST"])
    if host.startswith("/") and running.isolation == "bubblewrap":
        what["connect"] = {"database": f"{host}/.s.PGSQL.{connection.settings_dict['PORT'] or 5432}"}
    rule = {"id": "on", "when": {"always": True}, "to": "ship", "gates": ["sign-off"]}
    work = {"argv": ["python", "-I", str(HOSTILE), json.dumps(what)], "network": network}
    stations = [station("attack", rule, kind="command", work=work), "ship"]
    version = world.line(document(stations, "hostile", gates=[{"key": "sign-off", "name": "Sign-off"}]))
    task = world.start(version)
    until(lambda: world.status(task) == "awaiting_review", log.read_text)
    job = Job.objects.get(task=task, station="attack")
    results = json.loads("".join(logs.read_log_text(job, 1)))
    assert {name for name, why in results.items() if why is None} == set(), results
    assert re.search(refusal, results["own-gate"]), results
    assert isolated_worker.poll() is None
    assert (GateVisit.objects.get(task=task).state, Vote.objects.count()) == ("open", 0)


def open_workers(world: World) -> list[str]:
    return protection_gaps(timezone.now(), world.project.pk).isolation


@pytest.mark.wide
def test_pages_are_told_when_nothing_isolates(world: World, site: Site, tmp_path: Path) -> None:
    assert open_workers(world) == [world.worker.name]
    Worker.objects.update(isolation="landlock")
    assert open_workers(world) == []
    process = manage("worker", log=tmp_path / "open.log", env=environment(GATELINE_ISOLATION="none"))
    try:
        until(lambda: len(open_workers(world)) == 1, (tmp_path / "open.log").read_text)
    finally:
        stop(process)
    until(lambda: open_workers(world) == [], (tmp_path / "open.log").read_text)
