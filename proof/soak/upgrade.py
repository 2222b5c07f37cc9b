"""An upgrade without a stop: the release of before, filled with tasks that are under way, is migrated while its web
process and its worker run, then the new ones join, then the old ones leave (docs/operating.md).

    python -m proof.soak.upgrade [--before COMMIT] [--tasks 60] [--beside 30] [--for-people 5] [--kills 6]

`--before`: the code that runs first; by default the commit before the first migration that an older process may meet
(tests/ops/test_expanding_migrations.py). It is taken from git, beside this tree, and runs in the same environment. The
tasks go along the line with everything that can be waited for (`lines.killed`), and people stand beside it; so many of
each kind stand where only a person moves them on (`tasks_for_people`), and are moved on when the older ones left.
While both run beside one another, processes of both are killed. Prints a
JSON object of counts; exit code 1 if a task is lost, a report counts twice, or a web process answers with an error."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from proof.soak.fleet import ROOT, Fleet, Member
from proof.soak.kills import Run, again, free_port, prepare, verdict

FIRST_NEW = "pipelines/migrations/0016_deliveries_by_commit.py"
FILL = """
import json, sys, time
from pathlib import Path
from proof.soak.kills import Run, prepare
home, number, stop = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
documents, of_each = json.loads(sys.argv[4]), int(sys.argv[5])
prepare(home)
from pipelines import engine
run = Run(home, 0, False, "whole-law")
run.open_line()
run.submit(number, 1.0)
world = run.world
token = world.token_of(world.operator, "read", "submit")[1]
for role in ("admin", "operator", "reviewer"):
    world.person(role)
for_people = []
for document in documents:
    version = world.line(document)
    for _ in range(of_each):
        task = world.start(version)
        for_people.append(task.pk)
        if document["key"] == "held":
            held = world.token(task)
            engine.hold(held.pk, user=world.operator, token_version=held.version)
place = f"{world.project.owner.key}/projects/{world.project.key}/stages/{run.version.line.key}/tasks"
text = json.dumps({"project": world.project.pk, "worker": str(world.worker.pk), "version": run.version.pk,
                   "mark": run.mark, "tasks": run.tasks, "for_people": for_people, "token": token, "place": place})
(stop.parent / "filled.part").write_text(text)
(stop.parent / "filled.part").rename(stop.parent / "filled.json")
while not stop.exists():
    run.attend()
    time.sleep(0.3)
"""
"""Runs in the tree of before: what people do there, by its code."""


def commit_before() -> str:
    words = ("log", "--diff-filter=A", "--format=%P", "-1", "--", FIRST_NEW)
    return subprocess.check_output(["git", *words], cwd=ROOT, text=True).split()[0]


def take_tree(commit: str, folder: Path) -> None:
    packed = subprocess.check_output(["git", "archive", "--format=tar", commit], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    built = ROOT / "static" / "dist"
    if built.exists() and not (folder / "static" / "dist").exists():
        shutil.copytree(built, folder / "static" / "dist")


class OldMember(Member):
    """A process of the tree of before."""

    tree = Path()

    def tend(self) -> None:
        self.program = (str(self.tree / "manage.py"),)
        super().tend()


def start_by_web(port: int, filled: dict[str, Any]) -> str:
    """Start a task through a web process, as a program does; its answer."""
    address = f"http://127.0.0.1:{port}/api/v1/owners/{filled['place']}"
    body = json.dumps({"title": "By web", "inputs": {"seconds": "0.2"}}).encode()
    headers = {"Authorization": f"Bearer {filled['token']}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, body, headers)  # our own, on loopback
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.load(answer)["id"])


def until(check: Any, complaint: str, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise SystemExit(complaint)
        time.sleep(0.3)


def web_answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz?web", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def upgrade(
    home: Path, tree: Path, number: int, beside: int, of_each: int, kills: int
) -> tuple[dict[str, Any], list[str]]:
    """Upgrade; counts, and what should not have happened."""
    OldMember.tree = tree
    old_port, new_port, stop = free_port(), free_port(), tree.parent / "stop"
    old, new = Fleet(home, ("none",), old_port), Fleet(home, ("none",), new_port)
    old.workers = old.members = [
        OldMember(one.name, one.words, {**one.env, "PYTHONPATH": str(tree)}, one.log) for one in old.members
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "GATELINE_HOME": str(home)}
    subprocess.run([sys.executable, str(tree / "manage.py"), "migrate", "-v0"], check=True, env=environment)
    from proof.soak.tasks_for_people import LINES, move_on, open_tasks  # noqa: PLC0415  # see prepare

    words = [sys.executable, "-c", FILL, str(home), str(number), str(stop), json.dumps(LINES), str(of_each)]
    filler = subprocess.Popen(words, cwd=tree, env=environment)
    try:
        until((tree.parent / "filled.json").exists, "the release of before could not be filled")
        filled = json.loads((tree.parent / "filled.json").read_text())
        old.tend()
        until(lambda: web_answers(old_port), "the web process of before does not answer")
        by_web = [start_by_web(old_port, filled)]
        time.sleep(10)
        by_position = positions([*filled["tasks"], *filled["for_people"]])
        began = time.monotonic()
        # As the documentation says it, by the newer tree, beside the older processes.
        prepared = [sys.executable, "manage.py", "prepare"]
        subprocess.run(prepared, cwd=ROOT, check=True, env={**os.environ, "GATELINE_HOME": str(home)})
        migrated = round(time.monotonic() - began, 1)
        run = run_of(home, filled)
        by_web.append(start_by_web(old_port, filled))
        new.tend()
        until(lambda: web_answers(new_port), "the new web process does not answer")
        for port in (old_port, new_port) * 2:
            by_web.append(start_by_web(port, filled))
        run.submit(beside, 0.5)
        killed = [kill_one_of_both(run, old, new, number) for number in range(kills)]
        run.wait(10)
        old.tend()
        new.tend()
        for port in (old_port, new_port):
            until(partial(web_answers, port), "a web process that was killed does not come back")
        by_web.append(start_by_web(old_port, filled))
        stop.touch()
        filler.wait(60)
        old.stop()
        run.tasks = all_tasks(filled["project"])
        by_web.append(start_by_web(new_port, filled))
        run.tasks = all_tasks(filled["project"])
        run.fleet = new
        still = open_tasks(filled["for_people"])
        run.until(
            lambda: not again(partial(move_on, run.world, filled["for_people"])) and not run.in_flight(),
            "some tasks never ended",
        )
        new.stop()
        counts, faults = verdict(run, 60)
    finally:
        stop.touch()
        filler.terminate()
        old.stop()
        new.stop()
    expected = number + beside + len(by_web) + len(filled["for_people"])
    if len(run.tasks) != expected:
        faults.append(f"{len(run.tasks)} tasks are there of {expected}")
    if still != len(filled["for_people"]):
        faults.append(f"{still} of {len(filled['for_people'])} still stood when the older ones had left")
    facts = {"standing": by_position, "migrated_in": migrated, "by_web": len(by_web), "killed": killed}
    return {**facts, **counts}, faults


def kill_one_of_both(run: Run, old: Fleet, new: Fleet, number: int) -> str:
    """Kill a process, of each release in turn, a while after the last; it is started again at once."""
    fleet, name = ((old, "before"), (new, "new"))[number % 2]
    run.wait(3)
    killed = f"{fleet.kill_one()} of {name}"
    fleet.tend()
    return killed


def run_of(home: Path, filled: dict[str, Any]) -> Run:
    """What was begun by the old tree, to go on with by this one."""
    from pipelines.models import LineVersion, Membership, Project, Worker  # noqa: PLC0415  # see prepare
    from tests.factories import World  # noqa: PLC0415  # see prepare

    run = Run(home, 0, False, "whole-law")
    run.mark, run.tasks = filled["mark"], []
    people = Membership.objects.filter(project=filled["project"]).select_related("user")
    project, worker = Project.objects.get(pk=filled["project"]), Worker.objects.get(pk=filled["worker"])
    run.world = World(project, worker, {member.roles[0]: member.user for member in people})
    run.version = LineVersion.objects.get(pk=filled["version"])
    return run


def all_tasks(project: int) -> list[int]:
    from pipelines.models import Task  # noqa: PLC0415  # see prepare

    return list(again(lambda: list(Task.objects.filter(project=project).values_list("pk", flat=True))))


def positions(tasks: list[int]) -> dict[str, int]:
    """Count what tasks were doing when they were migrated, by status and station."""
    from pipelines.models import Token  # noqa: PLC0415  # see prepare

    rows = Token.objects.filter(task__in=tasks, ended_at=None, forked=False).values_list("status", "station")
    return dict(Counter(f"{status} at {station}" for status, station in rows))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", default="")
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--beside", type=int, default=30)
    parser.add_argument("--for-people", type=int, default=5)
    parser.add_argument("--kills", type=int, default=6)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gl-soak-"))
    home, tree = folder / "home", folder / "before"
    take_tree(given.before or commit_before(), tree)
    home.mkdir()
    prepare(home)
    counts, wrong = upgrade(home, tree, given.tasks, given.beside, given.for_people, given.kills)
    print(json.dumps(counts, indent=1), flush=True)
    for fault in wrong:
        print(fault, file=sys.stderr)
    if wrong:
        print(f"kept: {folder}", file=sys.stderr)
        return 1
    from django.db import connections  # noqa: PLC0415  # see prepare

    from config.embedded.server_share import acquire_share  # noqa: PLC0415  # see prepare

    connections.close_all()
    # Before its folder goes: at the end of the process there would be nothing to stop it by
    acquire_share(home).release()
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
