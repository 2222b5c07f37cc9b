"""A runner on another address and without a database works tasks of a line with six stations, while the server is
restarted and the runner killed: nothing lost, nothing done twice.

    python -m proof.soak.runner_kills --tasks 100 --restarts 2 --kills 5

Where the machine allows it the runner has a network namespace of its own, joined to the server by a pair of interfaces;
else another loopback address. Runs on a PostgreSQL of its own that writes to disk. Prints one JSON object; exit code 1
if anything that must hold does not."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proof.soak.kills import again, free_port, prepare

STATIONS = 6
PATIENCE = 900.0
# Each run appends to a file of its own outside of the workspace: how often a visit was begun, and by whom it ended.
WORK = """
import json, os, time
seen = open("path.txt").read() if os.path.exists("path.txt") else ""
open("path.txt", "w").write(seen + os.environ["GATELINE_STATION"])
time.sleep(0.1)
json.dump({"output": {"path": seen}, "artifacts": ["path.txt"]}, open(os.environ["GATELINE_RESULT"], "w"))
"""


@contextmanager
def elsewhere(port: int) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """(address to bind, address of the server for the runner, what stands before its command, what it is)"""
    name, here, there = f"gl{os.getpid()}", "10.231.77.1", "10.231.77.2"
    steps = (
        f"ip netns add {name}",
        f"ip link add {name}a type veth peer name {name}b netns {name}",
        f"ip addr add {here}/30 dev {name}a",
        f"ip link set {name}a up",
        f"ip netns exec {name} ip addr add {there}/30 dev {name}b",
        f"ip netns exec {name} ip link set {name}b up",
        f"ip netns exec {name} ip link set lo up",
    )
    try:
        made = shutil.which("ip") is not None and all(
            subprocess.run(step.split(), capture_output=True, check=False).returncode == 0 for step in steps
        )
        if made:
            yield "0.0.0.0", f"http://{here}:{port}", ("ip", "netns", "exec", name), "network namespace"
        else:
            yield "127.0.0.1", f"http://127.0.0.1:{port}", (), "loopback, no namespace here"
    finally:
        if shutil.which("ip") is not None:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", f"{name}a"], capture_output=True, check=False)


class Trial:
    def __init__(
        self, home: Path, tasks: int, where: tuple[str, str, tuple[str, ...], str], port: int
    ) -> None:
        from tests.factories import make_world, station  # noqa: PLC0415  # see prepare
        from tests.fixtures.site import environment  # noqa: PLC0415  # see prepare
        from tests.work.runners.running import RunnerProcess  # noqa: PLC0415  # see prepare

        bind, server, before, self.how = where
        self.home, self.port, self.bind = home, port, bind
        self.wrong: list[str] = []
        self.env = environment(PORT=str(port), BASE_URL=server, GATELINE_RUNNER_LEASE="20", ALLOWED_HOSTS="*")
        self.world = make_world()

        def does(number: int) -> dict[str, Any]:
            to = f"s{number + 1}" if number < STATIONS else "completed"
            work = {"argv": [sys.executable, "-c", WORK]}
            return station(
                f"s{number}", {"id": f"on-{number}", "to": to}, kind="command", work=work, labels=["far"]
            )

        self.line = self.world.line(stations=[does(number) for number in range(1, STATIONS + 1)])
        _token, secret = self.world.runner("far")
        self.runner = RunnerProcess(server, secret, home / "far", more=("--plain-http", "--concurrency", "6"))
        self.runner.before = before
        self.web = self.start_web()
        self.scheduler = self.manage("worker", "--concurrency", "1")
        self.tasks = [self.world.start(self.line).pk for _ in range(tasks)]

    def manage(self, *words: str) -> subprocess.Popen[bytes]:
        from tests.fixtures.site import manage  # noqa: PLC0415  # see prepare

        return manage(*words, log=self.home / f"{words[0]}.log", env=self.env)

    def start_web(self) -> subprocess.Popen[bytes]:
        return self.manage("web", "--host", self.bind, "--port", str(self.port))

    def run(self, restarts: int, kills: int) -> None:
        total = len(self.tasks) * STATIONS
        self.runner.start()
        points = sorted(
            [(total * (number + 1) / (kills + 1), "kill") for number in range(kills)]
            + [(total * (number + 1) / (restarts + 1.5), "restart") for number in range(restarts)]
        )
        for at, what in points:
            self.until(lambda at=at: self.done() >= at, f"{what} at {at:.0f}")  # type: ignore[misc]
            if what == "kill":
                self.runner.kill()
                self.runner.start()
            else:
                self.web.kill()
                self.web.wait()
                time.sleep(3)
                self.web = self.start_web()
        self.until(lambda: self.ended() == len(self.tasks), "the end")

    def done(self) -> int:
        from pipelines.models import Job  # noqa: PLC0415  # see prepare

        return int(again(lambda: Job.objects.filter(state="done").count()))

    def ended(self) -> int:
        from pipelines.models import Task  # noqa: PLC0415  # see prepare

        return int(again(lambda: Task.objects.filter(ended_at__isnull=False).count()))

    def until(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                self.wrong.append(f"not reached: {what}")
                return
            time.sleep(0.2)

    def look(self) -> dict[str, Any]:
        from pipelines.engine.invariants import find_violations  # noqa: PLC0415  # see prepare
        from pipelines.models import Artifact, Job, Task  # noqa: PLC0415  # see prepare
        from pipelines.work import storage  # noqa: PLC0415  # see prepare

        statuses = Counter(Task.objects.values_list("status", flat=True))
        jobs = list(Job.objects.order_by("pk"))
        if set(statuses) != {"completed"}:
            self.wrong.append(f"statuses {dict(statuses)}")
        if len(jobs) != len(self.tasks) * STATIONS:
            self.wrong.append(f"{len(jobs)} jobs")
        for job in jobs:
            events = job.task.events.filter(kind="job.reported", source=job.station).count()
            if events != 1:
                self.wrong.append(f"{job.task.name} {job.station}: reported {events} times")
            if job.worker is None or job.worker.token_id is None:
                self.wrong.append(f"{job.task.name} {job.station}: not done by the runner")
            artifact = Artifact.objects.select_related("blob").get(job=job)
            with storage.artifact_storage().open(artifact.blob.name) as file:
                path = file.read().decode()
            wanted = "".join(f"s{number}" for number in range(1, int(job.station[1:]) + 1))
            if path != wanted:
                self.wrong.append(f"{job.task.name} {job.station}: {path!r}")
        self.wrong += [str(each) for each in find_violations()]
        return {"attempts": dict(Counter(job.attempt for job in jobs)), "statuses": dict(statuses)}

    def close(self) -> None:
        from tests.fixtures.site import stop  # noqa: PLC0415  # see prepare

        for process in (self.runner.process, self.scheduler, self.web):
            if process is not None:
                stop(process)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--kills", type=int, default=5)
    said = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave nothing running
    home = Path(tempfile.mkdtemp(prefix="gl-soak-"))
    prepare(home)
    from django.core.management import call_command  # noqa: PLC0415  # see prepare

    call_command("migrate", verbosity=0)
    port = free_port()
    with elsewhere(port) as where:
        trial = Trial(home, said.tasks, where, port)
        began = time.monotonic()
        try:
            trial.run(said.restarts, said.kills)
            found = trial.look()
        finally:
            trial.close()
        seconds = round(time.monotonic() - began, 1)
    print(json.dumps({"tasks": said.tasks, "restarts": said.restarts, "kills": said.kills, "runner": trial.how,
                      "seconds": seconds, **found, "wrong": trial.wrong[:20]}))  # fmt: skip
    if trial.wrong:
        print(f"kept: {home}", file=sys.stderr)
        return 1
    from django.db import connections  # noqa: PLC0415  # see prepare

    connections.close_all()
    shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
