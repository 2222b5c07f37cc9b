"""Kill -9 of the worker, web and PostgreSQL while a task is in a fetch, at work, in a commit, in a report, in a push
and in the merge of a join: one branch, one commit for each visit, one merge, nothing of a dead attempt in the tree.

    python -m proof.soak.repository_kills --rounds 25 [--seed 1] [--victims worker,web,postgres]

A round has one task, with a repository of its own, for each of the six points. Each goes on until it is there and
waits; then one of the three is killed, in half of the rounds a moment after all were told to go on. Runs on a
PostgreSQL of its own that writes to disk. Prints one JSON object; exit code 1 if anything that must hold does not."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proof.soak.kills import again, free_port, prepare

POINTS = ("fetch", "run", "commit", "report", "push", "merge")
PATIENCE = 300.0
# Each attempt leaves a file of its own name before it is through; only that of the last may be there.
WORK = """
import os, sys, time, uuid
open(uuid.uuid4().hex + ".part", "w").write("x")
point = os.path.join(sys.argv[1], os.path.basename(sys.argv[2])[:-4])
armed, go = point + ".run.before", point + ".go"
if os.path.exists(armed):
    os.rename(armed, point + ".run.reached")
    while not os.path.exists(go):
        time.sleep(0.01)
open(os.environ["GATELINE_STATION"] + ".txt", "w").write("done")
"""


class Killing:
    def __init__(self, home: Path, rng: random.Random) -> None:
        from proof.soak.fleet import Fleet  # noqa: PLC0415  # see prepare

        self.home, self.rng = home, rng
        self.points = home / "points"
        # Beside the state: no folder below it can be allowed.
        self.remotes = home.with_name(f"{home.name}-repositories")
        self.points.mkdir()
        self.remotes.mkdir(exist_ok=True)
        self.fleet = Fleet(home, ("none",), free_port())
        (worker,) = self.fleet.workers
        worker.env["POINTS"] = str(self.points)
        worker.program = ("-m", "proof.soak.points")
        worker.words = ("worker", "--concurrency", "12")
        self.killed: Counter[str] = Counter()
        self.wrong: list[str] = []

    def open_line(self) -> None:
        from tests.factories import make_world, station  # noqa: PLC0415  # see prepare
        from tests.work.repository_lines import GATE  # noqa: PLC0415  # see prepare

        def does(key: str, *to: str, **more: Any) -> dict[str, Any]:
            work = {"argv": [sys.executable, "-c", WORK, str(self.points), "{{input.repo}}"]}
            return station(key, {"id": key, "to": list(to)}, kind="command", work=work, **more)

        review = {"id": "review", "to": "merge", "gates": ["review"]}
        meet = station("meet", review, join={"wait_for": ["left", "right"]})
        deliver = {"gate": "review"}
        self.world = make_world()
        self.version = self.world.line(
            stations=[
                does("begin", "left", "right"),
                does("left", "meet"),
                does("right", "meet"),
                meet,
                station("merge", {"id": "on", "to": "completed"}, kind="deliver", work=deliver),
            ],
            gates=[GATE],
            inputs=[{"key": "repo", "type": "repository"}],
            workspace={"git": {"repository": "input.repo"}},
        )

    def round(self, number: int, victim: str) -> None:
        from tests.work.remotes import allow, connect, remote  # noqa: PLC0415  # see prepare

        tasks: dict[str, int] = {}
        for point in POINTS:
            name = f"{victim}-{number}-{point}"
            at = remote(self.remotes / f"{name}.git", {"a": b"1"})
            again(lambda at=at, name=name: connect(self.world.project, at, name))
            again(lambda at=at: allow(self.world.project.owner, at.path))
            when = self.rng.choice(["before", "after"]) if point != "run" else "before"
            (self.points / f"{name}.{point}.{when}").touch()
            said = {"repo": str(at.path)}
            tasks[name] = again(lambda said=said: self.world.start(self.version, inputs=said)).pk
        self.until(lambda: all(self.reached(name) for name in tasks), f"{victim} {number}: not all points")
        late = self.rng.random() < 0.5
        if late:
            self.go(tasks)
            time.sleep(self.rng.uniform(0, 0.1))
        self.kill(victim)
        self.go(tasks)
        self.killed.update(f"{victim} in {point}" for point in POINTS)
        self.until(lambda: all(self.ended(pk) for pk in tasks.values()), f"{victim} {number}: not ended")
        for name, pk in tasks.items():
            again(lambda name=name, pk=pk: self.look(name, pk))

    def reached(self, name: str) -> bool:
        return (self.points / f"{name}.{name.rpartition('-')[2]}.reached").exists()

    def go(self, names: dict[str, int]) -> None:
        for name in names:
            (self.points / f"{name}.go").touch()

    def kill(self, victim: str) -> None:
        if victim == "postgres":
            self.fleet.kill_postgres()
            return
        member = next(each for each in self.fleet.members if each.name.startswith(victim))
        member.tend()
        member.end(signal.SIGKILL)

    def until(self, check: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not again(check):
            if time.monotonic() > deadline:
                raise SystemExit(f"{complaint}; kept: {self.home}")
            self.fleet.tend()
            again(self.vote)
            time.sleep(0.1)

    def vote(self) -> None:
        from pipelines import engine  # noqa: PLC0415  # see prepare
        from pipelines.models import GateVisit  # noqa: PLC0415  # see prepare

        for visit in GateVisit.objects.filter(state=GateVisit.State.OPEN):
            shown = {"token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
            engine.vote(visit, user=self.world.reviewer, word="approve", **shown)

    def ended(self, pk: int) -> bool:
        from pipelines.models import ENDED, Task  # noqa: PLC0415  # see prepare

        return Task.objects.filter(pk=pk, status__in=ENDED).exists()

    def look(self, name: str, pk: int) -> None:
        """One branch, one commit for each visit, one merge, no part of an attempt that died."""
        from pipelines.models import Delivery, Job, Task, VisitCommit  # noqa: PLC0415  # see prepare
        from tests.work.remotes import RemoteRepository  # noqa: PLC0415  # see prepare

        origin = RemoteRepository(self.remotes / f"{name}.git")
        status = Task.objects.values_list("status", flat=True).get(pk=pk)
        if status != "completed":
            outcomes = list(Job.objects.filter(task=pk).values_list("station", "outcome__summary"))
            self.wrong.append(f"{name}: {status}, {outcomes}")
            return
        heads = dict(VisitCommit.objects.filter(task=pk).values_list("job__station", "head"))
        landed = origin.commit()

        def parents(commit: str) -> list[str]:
            return [each.decode() for each in origin.commit(commit).parents]

        (base,) = parents(heads["begin"])
        held = {
            "stations": sorted(heads) == ["begin", "left", "meet", "right"],
            "landed": parents(landed.id.decode()) == [base, heads["meet"]],
            "merged": parents(heads["meet"]) == [heads["left"], heads["right"]],
            "branches": parents(heads["left"]) == parents(heads["right"]) == [heads["begin"]],
            "history": len(origin.history()) == 6,
            "parts": sum(path.endswith(".part") for path in origin.files()) == 3,
            "delivery": [each.commit for each in Delivery.objects.filter(task=pk)] == [landed.id.decode()],
            "jobs": Job.objects.filter(task=pk).count() == 5,
        }
        self.wrong += [f"{name}: {what}" for what, is_so in held.items() if not is_so]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--victims", default="worker,web,postgres")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave nothing running
    home = Path(tempfile.mkdtemp(prefix="gl-soak-"))
    prepare(home)
    from django.core.management import call_command  # noqa: PLC0415  # see prepare

    from pipelines.engine import invariants  # noqa: PLC0415  # see prepare

    call_command("migrate", verbosity=0)
    killing = Killing(home, random.Random(given.seed))
    killing.open_line()
    began, times = time.monotonic(), Counter[str]()
    try:
        for number in range(given.rounds):
            for victim in given.victims.split(","):
                killing.fleet.tend()
                killing.round(number, victim)
                times[victim] += 1
                print(f"{number} {victim} {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    finally:
        killing.fleet.stop()
    wrong = [*killing.wrong, *map(str, invariants.find_violations())]
    counts = {"seconds": round(time.monotonic() - began), "kills": dict(times), **killing.killed}
    print(json.dumps({**counts, "wrong": wrong}), flush=True)
    if wrong:
        print(f"kept: {home}", file=sys.stderr)
        return 1
    from django.db import connections  # noqa: PLC0415  # see prepare

    connections.close_all()
    shutil.rmtree(killing.remotes, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
