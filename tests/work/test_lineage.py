"""Workspaces of branches: apart while they run side by side, merged at their join."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.models import Job, Task, Token
from pipelines.work import storage
from pipelines.work.transport.local.workspace_history import manifest_with_changes
from tests.factories import World
from tests.work.driving import Bench, command, done, text_of

LIST = "import os; print(sorted(n for n in os.listdir('.') if n[0] != '.'), open('f').read())"


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
@pytest.mark.usefixtures("artifacts_here")
def test_branches_do_not_see_each_others_files_and_the_join_sees_all(world: World, bench: Bench) -> None:
    def to(key: str, *targets: str) -> dict[str, Any]:
        return {"id": f"{key}-on", "to": list(targets) if len(targets) > 1 else targets[0]}

    line = world.line(
        stations=[
            command("start", "open('f', 'w').write('1'); open('old', 'w')", to("start", "left", "right")),
            command("left", "open('l', 'w'); import os; os.remove('old')", to("left", "more")),
            command("more", LIST, to("more", "meet")),
            command("right", f"{LIST}; open('r', 'w'); open('f', 'w').write('2')", to("right", "meet")),
            command("meet", LIST, to("meet", "completed"), join={"wait_for": ["more", "right"]}),
        ]
    )
    task = world.start(line)
    for key in ("start", "left", "right", "more", "meet"):
        drive_at(bench, task, key)
    assert world.status(task) == "completed"
    assert text_of(done(task, "right")) == "['f', 'old'] 1\n"
    assert text_of(done(task, "more")) == "['f', 'l'] 1\n"
    assert text_of(done(task, "meet")) == "['f', 'l', 'r'] 2\n"


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
@pytest.mark.usefixtures("artifacts_here")
def test_a_retry_begins_with_the_files_of_the_ended_task(world: World, bench: Bench) -> None:
    """Those that it left at its end, and what its stations handed over; a retry of a retry, too."""
    build = "open('f', 'w').write('1'); import os, json; " + HAND_OVER
    ship = "open('f', 'a').write('2'); print(open('f').read()); import os; print(os.listdir(GIVEN)); exit(1)"
    given = "__import__('os').environ['GATELINE_ARTIFACTS']"
    line = world.line(
        stations=[
            command("build", build, {"id": "on", "to": "ship"}, result_document="optional"),
            command("ship", ship.replace("GIVEN", given), {"id": "no", "to": "failed"}),
        ]
    )
    task = world.start(line)
    drive_at(bench, task, "build")
    for content in ("12", "122", "1222"):
        drive_at(bench, task, "ship")
        assert text_of(done(task, "ship")) == f"{content}\n['build']\n"
        task.refresh_from_db()
        assert task.status == "failed"
        task = engine.start_retry_task(task.pk, station="ship", actor=engine.ENGINE)


HAND_OVER = "open(os.environ['GATELINE_RESULT'], 'w').write(json.dumps({'artifacts': ['f']}))"


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
@pytest.mark.usefixtures("artifacts_here")
def test_a_station_reads_a_file_that_was_uploaded_for_an_input(world: World, bench: Bench) -> None:
    read = "import os; print(open(os.environ['GATELINE_INPUTS'] + '/patch/a.txt').read())"
    version = world.line(
        stations=[command("read", read, {"id": "on", "to": "completed"})],
        inputs=[{"key": "patch", "type": "file"}],
    )
    patch = storage.store_upload(world.project, "a.txt", io.BytesIO(b"better"), "somebody", timezone.now())
    task = world.start(version, inputs={"patch": patch})
    drive_at(bench, task, "read")
    assert text_of(done(task, "read")) == "better\n"


def drive_at(bench: Bench, task: Task, station: str) -> None:
    """One station of one branch."""

    async def go() -> None:
        async with bench.driver(most_stations=1) as driver:
            await driver.drive_token(token)

    job = Job.objects.exclude(state="done").get(task=task, station=station)
    token = Token.objects.values_list("pk", flat=True).get(pk=job.token_id)
    asyncio.run(go())


def file(path: str, digest: str = "1") -> dict[str, Any]:
    return {"path": path, "mode": 0o644, "digest": digest, "size": 1}


def folder(path: str) -> dict[str, Any]:
    return {"path": path, "mode": 0o755, "folder": True}


def paths(manifest: Any) -> list[str]:
    return [
        f"{entry['path']}{'/' if entry.get('folder') else ''}{entry.get('digest', '')}" for entry in manifest
    ]


@pytest.mark.parametrize(
    ("onto", "before", "after", "merged"),
    [
        ([], [], [file("a")], ["a1"]),
        ([file("a"), file("b")], [file("a")], [file("a", "2")], ["a2", "b1"]),
        ([file("a"), file("b")], [file("a")], [], ["b1"]),
        ([file("a", "3")], [file("a")], [file("a")], ["a3"]),
        ([folder("d"), file("d/x")], [], [file("d")], ["d1"]),
        ([], [folder("d")], [folder("d"), file("d/y")], ["d/", "d/y1"]),
    ],
)  # fmt: skip
def test_what_one_branch_changed_is_changed_in_the_other(
    onto: Any, before: Any, after: Any, merged: list[str]
) -> None:
    assert paths(manifest_with_changes(tuple(onto), tuple(before), tuple(after))) == merged
