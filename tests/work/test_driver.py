"""A driver on the real database, with real commands, in this process."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import connection

from pipelines.models import Artifact, Blob, Job, Lease, LogChunk, Snapshot, Token
from pipelines.ports import leases
from pipelines.work.transport.local.claimable import unattended_jobs
from tests.factories import World, station
from tests.work.driving import PYTHON, Bench, command, done, drive, text_of, tickets

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def test_it_goes_straight_on_to_the_end_without_another_ticket(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=["a", "b", "c"]))
    before = tickets()
    drive(bench, task)
    assert (world.status(task), tickets()) == ("completed", before)
    assert not Lease.objects.exists()


def test_after_some_stations_others_get_their_turn(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=["a", "b", "c"]))
    before = tickets()
    drive(bench, task, most_stations=2)
    assert (world.at(task), world.job(task).state, tickets()) == (["c"], "queued", before + 1)


def test_a_ticket_that_finds_nothing_ends_quietly(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=["a"]))
    token = Token.objects.get(task=task).pk
    drive(bench, task)
    events = task.events.count()

    async def again() -> None:
        async with bench.driver() as driver:
            await driver.drive_token(token)
            await driver.drive_token(987_654)

    asyncio.run(again())
    assert task.events.count() == events


def test_two_drivers_on_one_token_do_the_work_once(world: World, bench: Bench, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = f"open({str(mark)!r}, 'a').write('x')"
    task = world.start(world.line(stations=[command("a", program), command("b", program)]))
    token = Token.objects.get(task=task).pk

    async def both() -> None:
        async with bench.driver() as one, bench.driver() as two:
            await asyncio.gather(one.drive_token(token), two.drive_token(token), one.drive_token(token))

    asyncio.run(both())
    assert (mark.read_text(), world.status(task)) == ("xx", "completed")


def test_a_command_gets_its_rendered_arguments_prompt_and_environment(world: World, bench: Bench) -> None:
    program = (
        "import os, sys; print(sys.argv[1:], os.environ['WHO'], os.environ['GATELINE_TASK']);"
        "print(sys.stdin.read())"
    )
    given = command(
        "ask",
        program,
        work={
            "argv": [PYTHON, "-c", program, "--title={{task.title}}", "{{input.count}}"],
            "prompt": "Do it for {{task.requester}}.",
            "env": {"WHO": "{{.who}}"},
        },
        output_keys=["high"],
    )
    inputs = [{"key": "count", "type": "number", "required": True}, {"key": "who"}]
    version = world.line(stations=[given], inputs=inputs)
    task = world.start(version, title="Lift; off", inputs={"count": 3, "who": "me"})
    drive(bench, task)
    text = text_of(done(task, "ask"))
    assert f"['--title=Lift; off', '3'] me {task.name}" in text
    assert f"Do it for {task.requested_by}." in text
    assert "Expected outputs" in text
    assert '"high": "…"' in text


def test_the_latest_feedback_stands_under_the_original_prompt(world: World, bench: Bench) -> None:
    again = {
        "id": "again",
        "when": {"always": True},
        "to": "a",
        "max_retries": 1,
        "on_exhausted": {"to": "b"},
    }
    given = command("a", "import sys; print(sys.stdin.read())", again, work={"prompt": "Do it."})
    task = world.start(world.line(stations=[given, "b"]))
    Job.objects.filter(task=task).update(feedback="Mind the gap.")
    drive(bench, task)
    assert text_of(done(task, "a")) == "Do it.\n\nFEEDBACK FROM PREVIOUS EVALUATION:\nMind the gap.\n\n"
    assert text_of(done(task, "a", 2)) == "Do it.\n\n"


def test_an_undefined_variable_is_an_error_before_anything_starts(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    given = command("a", f"open({str(mark)!r}, 'w')", work={"env": {"X": "{{context.nothing}}"}})
    task = world.start(world.line(stations=[given]))
    drive(bench, task)
    job = done(task, "a")
    assert job.outcome["failure_type"] == "template_error"
    assert "a: work.env.X asks for {{context.nothing}}" in job.summary
    assert not mark.exists()
    assert not LogChunk.objects.exists()
    assert world.status(task) == "failed"


@pytest.mark.parametrize(
    ("config", "taken"),
    [
        ({}, False),
        ({"labels": frozenset({"python"})}, False),
        ({"labels": frozenset({"python", "gpu", "more"})}, True),
        ({"labels": frozenset({"python", "gpu"}), "owners": frozenset({"someone"})}, False),
    ],
)
def test_a_worker_takes_only_what_it_serves(
    world: World, bench: Bench, config: dict[str, Any], taken: bool
) -> None:
    task = world.start(world.line(stations=[station("a", labels=["python", "gpu"])]))
    before = tickets()
    drive(bench, task, **config)
    assert (world.status(task) == "completed") is taken
    # A ticket of somebody else's work does not come again: who does such work looks for it.
    assert tickets() == before


@pytest.mark.broken
def test_what_nobody_has_a_ticket_for_is_found_by_who_serves_it(world: World) -> None:
    version = world.line(stations=[station("a", labels=["gpu"])])
    lost, waiting = world.start(version), world.start(version)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM procrastinate_jobs WHERE (args->>'token_id')::bigint = %s", [world.token(lost).pk]
        )
    claim = leases.WorkOffer(uuid.uuid4(), frozenset({"gpu"}))
    assert unattended_jobs(claim, ROOM, 0) == {world.job(lost).pk: "quick"}
    assert unattended_jobs(claim, ROOM, 60) == {}
    assert unattended_jobs(leases.WorkOffer(uuid.uuid4()), ROOM, 0) == {}
    assert world.status(waiting) == "queued"


ROOM = {"drive": 4, "quick": 4, "evaluate": 4}
WRITE = "import json, os; json.dump({said}, open(os.environ['GATELINE_RESULT'], 'w'))"


def test_artifacts_are_kept_by_their_content(world: World, bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    said = {
        "artifacts": [
            {"path": "out/report.txt", "name": "Report", "media_type": "text/plain"},
            "link",
            "folder-link/secret",
            "../../escape",
            "/etc/passwd",
            "missing",
        ]
    }
    program = (
        "import os; os.mkdir('out'); open('out/report.txt', 'w').write('fine');"
        f"os.symlink({str(secret)!r}, 'link'); os.symlink({str(tmp_path)!r}, 'folder-link');"
        + WRITE.format(said=said)
    )
    task = world.start(world.line(stations=[command("a", program)]))
    drive(bench, task)
    kept = Artifact.objects.get(task=task)
    assert (kept.name, kept.media_type, kept.blob.size) == ("Report", "text/plain", 4)
    with storages["artifacts"].open(kept.blob.name) as file:
        assert file.read() == b"fine"
    named = {one["name"]: one for one in done(task, "a").outcome["artifacts"]}
    assert named["Report"]["digest"] == kept.blob_id
    assert all("error" in one for name, one in named.items() if name != "Report")
    assert text_of(done(task, "a")).count("was not kept") == 5


def test_a_document_that_says_more_is_kept_as_it_is(world: World, bench: Bench) -> None:
    said = {"summary": "fine", "timing": {"began": 1}, "run": 7}
    task = world.start(world.line(stations=[command("a", WRITE.format(said=said))]))
    drive(bench, task)
    kept = Artifact.objects.get(task=task)
    assert kept.name == "result-document.json"
    with storages["artifacts"].open(kept.blob.name) as file:
        assert json.load(file) == said


def test_another_worker_goes_on_from_the_snapshot(world: World, bench: Bench) -> None:
    first = command(
        "a", "import os; os.makedirs('x/empty'); open('x/run', 'w').write('1'); os.chmod('x/run', 0o755)"
    )
    second = command(
        "b", "import os; print(open('x/run').read(), os.access('x/run', os.X_OK), os.listdir('x'))"
    )
    task = world.start(world.line(stations=[first, second]))
    drive(bench, task, most_stations=1)
    assert Snapshot.objects.get(task=task).job == done(task, "a")
    drive(bench, task)
    assert text_of(done(task, "b")) in ("1 True ['run', 'empty']\n", "1 True ['empty', 'run']\n")


def test_attempts_never_share_a_folder(world: World, bench: Bench) -> None:
    show = command("a", "import os; print(os.getcwd()); open('mine', 'w')")
    task = world.start(world.line(stations=[show, {**show, "key": "b"}]))
    drive(bench, task)
    assert text_of(done(task, "a")) != text_of(done(task, "b"))


def test_unchanged_workspaces_are_not_stored_again(world: World, bench: Bench) -> None:
    write = command("a", "open('f', 'w').write('same')")
    task = world.start(world.line(stations=[write, command("b", "print(open('f').read())")]))
    drive(bench, task)
    assert Snapshot.objects.filter(task=task).count() == 1
    assert Blob.objects.count() == 1


def test_secrets_are_masked_in_log_and_outcome(world: World, bench: Bench) -> None:
    said = {"summary": "key-12345678 was used", "output": {"deep": ["key-12345678"]}}
    program = "print('the key-12345678'); " + WRITE.format(said=said)
    task = world.start(world.line(stations=[command("a", program)]))
    drive(bench, task, secrets=("key-12345678",))
    job = done(task, "a")
    assert "12345678" not in json.dumps(job.outcome) + text_of(job)
    assert text_of(job) == "the •••\n"


def test_an_outcome_that_cannot_be_stored_is_reported_as_such(world: World, bench: Bench) -> None:
    program = WRITE.format(said="{'output': 'x' * (10 * 1024 * 1024 - 20)}")
    task = world.start(world.line(stations=[command("a", program)]))
    drive(bench, task)
    outcome = done(task, "a").outcome
    assert "MiB" in outcome["output_error"]
    assert outcome["exit_code"] == 0
