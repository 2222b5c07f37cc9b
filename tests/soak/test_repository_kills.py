"""A worker is killed again and again while a task goes from a fetch to a merge: one branch, one commit for each visit,
one merge, nothing of a dead attempt in the tree."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pipelines import engine
from pipelines.models import ENDED, Delivery, GateVisit, Job, Repository, Status, Task, VisitCommit
from tests.factories import World, station
from tests.fixtures.site import environment, manage, stop
from tests.work.driving import command
from tests.work.remotes import connect, remote
from tests.work.test_repository_lines import GATE, to

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True), pytest.mark.moves]
# Each attempt leaves a file of its own name before it is through; only that of the last may be there.
WORK = (
    "import os, time, uuid; open(uuid.uuid4().hex + '.part', 'w').write('x'); time.sleep(0.5);"
    "open(os.environ['GATELINE_STATION'] + '.txt', 'w').write('done')"
)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_killed_one_change_lands(world: World, tmp_path: Path, settings: Any, seed: int) -> None:
    folder = Path(settings.DATA_DIR) / "repositories" / f"{os.getpid()}-{seed}-{time.time_ns()}"
    folder.mkdir(parents=True)
    origin = remote(folder / "it.git", {"a": b"1"})
    connect(world.project, origin)
    base = origin.head()
    version = world.line(
        stations=[
            command("one", WORK, to("two")),
            command("two", WORK, to("merge", gates=["review"])),
            station("merge", to("completed"), kind="deliver", work={"gate": "review"}),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(version)
    rng, log, until = random.Random(seed), tmp_path / "worker.log", time.monotonic() + 240
    env = environment(GATELINE_ISOLATION="none")
    worker = manage("worker", log=log, env=env)
    kills = 0
    while not ended(task) and time.monotonic() < until:
        for visit in GateVisit.objects.filter(task=task, state=GateVisit.State.OPEN):
            shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
            engine.vote(visit.pk, user=world.reviewer, word="approve", **shown)
        time.sleep(rng.uniform(0.5, 6.0))
        if kills < 6 and not ended(task):
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            worker, kills = manage("worker", log=log, env=env), kills + 1
    stop(worker)
    assert Task.objects.get(pk=task.pk).status == Status.COMPLETED, log.read_text()[-3000:]
    visits = list(VisitCommit.objects.filter(task=task).order_by("job_id"))
    assert [each.job.station for each in visits] == ["one", "two"]
    landed = origin.commit()
    assert [each.decode() for each in landed.parents] == [base, visits[1].head]
    assert origin.commit(visits[1].head).parents[0].decode() == visits[0].head
    assert origin.commit(visits[0].head).parents[0].decode() == base
    parts = [name for name in origin.files() if name.endswith(".part")]
    assert len(parts) == 2 and {"one.txt", "two.txt"} <= set(origin.files())
    assert Delivery.objects.get().commit == origin.head() and Repository.objects.count() == 1
    assert Job.objects.filter(task=task).count() == 3


def ended(task: Task) -> bool:
    return Task.objects.filter(pk=task.pk, status__in=ENDED).exists()
