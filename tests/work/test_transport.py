"""The seam between a worker and its server: what passes can be sent, and a worker needs nothing else of the server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Artifact, Job, Snapshot, Token
from pipelines.work.config import WorkerConfig
from pipelines.work.orders.order import Orders
from pipelines.work.processes.isolation import Isolation
from pipelines.work.transport.local.orders import job_orders
from pipelines.work.transport.local.transport import LocalTransport
from pipelines.work.transport.protocol import (
    AttemptResults,
    EarlierFile,
    HandedOver,
    InputFile,
    Material,
    ReportAnswer,
    Started,
    StartingWorkspace,
    Workspace,
)
from pipelines.work.worker.drive import Driver
from pipelines.work.workspaces import Folders
from tests.factories import World, document, station
from tests.fixtures.site import ROOT
from tests.work.driving import Bench, command, in_thread, outcome_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]


def sent(value: Any) -> Any:
    """As it comes out at the other end of a wire."""
    return json.loads(json.dumps(value))


class Wire(LocalTransport):
    """Everything that passes goes through JSON."""

    async def claim_token(self, token_id: int) -> Started | None:
        return self._started(await super().claim_token(token_id))

    async def report(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        answer = await super().report(started, sent(outcome), go_on)
        return replace(answer, following=self._started(answer.following))

    def _started(self, started: Started | None) -> Started | None:
        if started is None:
            return None
        lease = sent(started.lease.hex)
        return Started(Orders.of_json(sent(started.orders.to_json())), uuid.UUID(lease))

    async def read_material(self, started: Started) -> Material:
        plain = sent(asdict(await super().read_material(started)))
        before = plain["before"] and StartingWorkspace(**plain["before"])
        return Material(before, _each(EarlierFile, plain["earlier"]), _each(InputFile, plain["files"]))

    async def store_results(self, started: Started, left: AttemptResults) -> None:
        plain = sent(asdict(replace(left, root=Path())) | {"root": str(left.root)})
        files = {digest: (path, size) for digest, (path, size) in plain["files"].items()}
        workspace = plain["workspace"] and Workspace(**plain["workspace"])
        artifacts = _each(HandedOver, plain["artifacts"])
        await super().store_results(started, AttemptResults(Path(plain["root"]), files, artifacts, workspace))


def _each(kind: Any, rows: Iterable[dict[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(**row) for row in rows)


def drive_by_wire(world: World, bench: Bench, token: int) -> None:
    async def go() -> None:
        config = WorkerConfig(bench.base, Isolation("none"), engine_threads=2)
        transport = Wire(world.worker.pk, config)
        folders = await asyncio.to_thread(Folders, bench.base, world.worker.pk)
        driver = Driver(config, transport, folders)
        try:
            await driver.drive_token(token)
        finally:
            await driver.cancel_every_drive()
            await asyncio.to_thread(transport.close)
            folders.close()

    asyncio.run(go())


def test_whole_stations_are_worked_over_a_wire(world: World, bench: Bench) -> None:
    write = (
        "import json, os; open('kept', 'w').write('x'); open('paper.txt', 'w').write('found')\n"
        "json.dump({'output': {'n': 1.5}, 'artifacts': ['paper.txt']}, open(os.environ['GATELINE_RESULT'], 'w'))"
    )
    read = (
        "import json, os; given = os.environ['GATELINE_ARTIFACTS']\n"
        "paper = open(os.path.join(given, 'write', 'paper.txt')).read()\n"
        "n = json.load(open(os.environ['GATELINE_CONTEXT']))['n']\n"
        "said = {'output': {'paper': paper, 'kept': open('kept').read(), 'n': n}}\n"
        "json.dump(said, open(os.environ['GATELINE_RESULT'], 'w'))"
    )
    stations = [command("write", write), command("read", read)]
    task = world.start(world.line(document(stations, "wired")))
    drive_by_wire(world, bench, Token.objects.get(task=task).pk)
    assert world.status(task) == "completed"
    assert outcome_of(task, "read")["output"] == {"paper": "found", "kept": "x", "n": 1.5}
    assert [each.name for each in Artifact.objects.filter(task=task)][:1] == ["paper.txt"]
    assert Snapshot.objects.filter(task=task).count() == 1, "the second changed nothing"


@pytest.mark.wide
def test_what_lost_its_lease_changes_nothing_over_a_wire(world: World, bench: Bench) -> None:
    task = world.start(world.line(document([command("a", "open('kept', 'w')")], "wired")))
    token = Token.objects.get(task=task).pk

    async def go() -> None:
        config = WorkerConfig(bench.base, Isolation("none"), engine_threads=2)
        transport = Wire(world.worker.pk, config)
        try:
            started = await transport.claim_token(token)
            assert started is not None
            stale = replace(started, lease=uuid.uuid4())
            answer = await transport.report(stale, {"result": "success"}, False)
            assert answer.status == "ignored"
            await transport.give_back(started.orders.job_id, started.orders.attempt, stale.lease)
            assert await in_thread(lambda: Job.objects.get(task=task).state) == "running"
            assert await in_thread(transport.renew_leases, ()) == {started.orders.job_id: started.lease}
        finally:
            await asyncio.to_thread(transport.close)

    asyncio.run(go())


def test_orders_are_the_same_at_the_other_end(world: World) -> None:
    rule = {"id": "x", "when": {"eval": {"op": "equals", "value": "bug"}}, "to": "b"}
    limits = {"idle_timeout": "2m", "max_timeout": "1.5s"}
    given = [
        station("a", kind="command", work={"argv": ["{{input.note}}"]}, limits=limits, output_keys=["k"]),
        station("sort", rule, kind="route", work={"prompt": "Which?"}),
        station("b", kind="noop"),
    ]
    for first in (given, given[1:]):
        task = world.start(
            world.line(document(first, first[0]["key"], inputs=[{"key": "note"}])), inputs={"note": "n"}
        )
        orders = job_orders(Job.objects.select_related("task__project__owner").get(task=task))
        assert Orders.of_json(sent(orders.to_json())) == orders
        assert "now" in Orders.of_json(sent(orders.to_json())).machine


def test_a_worker_is_there_without_a_database() -> None:
    """All of it but the server's side; a runner on another machine has no Django."""
    names = "worker.service", "worker.drive", "handlers.table", "transport.protocol"
    loads = "; ".join(f"import pipelines.work.{name}" for name in names)
    checks = "import sys; assert not {'django', 'psycopg', 'procrastinate'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"{loads}; {checks}"], cwd=ROOT, check=True)
