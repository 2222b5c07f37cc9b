"""A registered secret in a file that a station wrote: nothing of that visit is stored, committed or pushed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pipelines.models import Artifact, Blob, Snapshot, VisitCommit
from pipelines.work.results.secrets import SecretFinder
from pipelines.work.spec.handler_io import Attempt
from pipelines.work.storage import artifact_storage
from pipelines.work.worker.attempt_io import Packed
from pipelines.work.worker.secret_files import file_stamp_by_path, outcome_and_packed_without_secret_files
from pipelines.work.workspaces import picture_of_workspace
from tests.factories import World
from tests.vault.conftest import Put, key_file, put
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of
from tests.work.remotes import RemoteRepository, connect, remote

__all__ = ["key_file", "put"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TOKEN = "a token/with 7 parts"
WORK = {"env": {"TOKEN": {"secret": "API"}}}
DOCUMENT = (
    "import json; json.dump({'more': 1, 'output': {'t': token}}, open(os.environ['GATELINE_RESULT'], 'w'))"
)
TELL = "import os; token = os.environ['TOKEN']; "


def stored() -> bytes:
    return b"".join(
        artifact_storage().open(name).read() for name in Blob.objects.values_list("name", flat=True)
    )


def told(world: World, bench: Bench, put: Put, program: str, **more: Any) -> dict[str, Any]:
    put(world.project, "API", TOKEN, by=world.admin)
    first = command("first", "open('before.txt', 'w').write('here already')")
    tell = command("tell", TELL + program, work=WORK, **more)
    task = world.start(world.line(stations=[first, tell], policy={"on_failure": "stuck"}))
    drive(bench, task)
    assert world.status(task) == "stuck", text_of(done(task, "tell"))
    assert not Snapshot.objects.filter(job__station="tell").exists()
    assert not Artifact.objects.exists()
    assert TOKEN.encode() not in stored()
    return outcome_of(task, "tell")


def test_a_file_with_a_secret_is_kept_nowhere(world: World, bench: Bench, put: Put) -> None:
    outcome = told(
        world,
        bench,
        put,
        "os.mkdir('conf'); open('conf/app.env', 'w').write('x' * 9000 + token); open('a.txt', 'w')",
        artifacts=[{"path": "a.txt", "kind": "file"}],
    )
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "secret_in_file")
    assert outcome["summary"].startswith(
        "conf/app.env holds a secret, so nothing that this run left was kept."
    )
    assert "artifacts" not in outcome


@pytest.mark.wide
@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("os.symlink(token, 'link')", "link holds"),
        ("os.makedirs('in/' + token)", "in/••• holds"),
        ("os.mkdir('.git'); open('.git/x', 'w').write(token)", ".git/x holds"),
    ],
)
def test_names_links_and_documents_count_too(
    world: World, bench: Bench, put: Put, program: str, named: str
) -> None:
    assert named in told(world, bench, put, program)["summary"]


@pytest.mark.parametrize("how", ["pointed elsewhere", "in place of a file"])
def test_a_link_that_was_written_anew_counts(tmp_path: Path, how: str) -> None:
    attempt = Attempt(tmp_path)
    attempt.workspace.mkdir()
    place, old = attempt.workspace / "docs", attempt.workspace / "old"
    old.symlink_to(TOKEN)
    if how == "pointed elsewhere":
        place.symlink_to("elsewhere")
    else:
        place.write_text("plain")
    stood = file_stamp_by_path(attempt.workspace)
    place.unlink()
    place.symlink_to(TOKEN)
    packed = Packed((), {}, picture_of_workspace(attempt.workspace))
    outcome, left = outcome_and_packed_without_secret_files(
        attempt, {"result": "success"}, packed, SecretFinder([TOKEN]), stood
    )
    assert outcome["failure_type"] == "secret_in_file" and left.picture is None
    assert outcome["summary"].startswith("docs holds a secret"), "and not the one that stood there"


def test_a_document_with_a_secret_is_not_kept_whole(world: World, bench: Bench, put: Put) -> None:
    put(world.project, "API", TOKEN, by=world.admin)
    tell = command("tell", TELL + DOCUMENT, work=WORK, result_document="optional")
    task = world.start(world.line(stations=[tell]))
    drive(bench, task)
    assert world.status(task) == "completed"
    outcome = outcome_of(task, "tell")
    assert outcome["output"] == {"t": "•••"} and outcome["artifacts"][0]["error"] == "It holds a secret."
    assert TOKEN.encode() not in stored()


def test_it_is_never_committed_and_the_next_visit_begins_without_it(
    world: World, bench: Bench, put: Put, tmp_path: Path
) -> None:
    origin: RemoteRepository = remote(
        tmp_path / "origin.git", {"app.py": b"x = 1\n", "old.env": TOKEN.encode()}
    )
    connect(world.project, origin)
    put(world.project, "API", TOKEN, by=world.admin)
    program = TELL + (
        "again = os.path.exists('feedback.txt'); open('app.py', 'a').write('y = 1\\n')\n"
        "if os.environ['GATELINE_VISIT'] == '1': open('app.env', 'w').write(token)"
    )
    rules = [
        {"id": "again", "when": {"failure_type": ["secret_in_file"]}, "to": "fix", "max_retries": 2},
        {"id": "on", "when": {"result": "success"}, "to": "completed"},
    ]
    version = world.line(
        stations=[command("fix", program, *rules, work=WORK)], workspace={"git": {"repository": "app"}}
    )
    task = world.start(version)
    drive(bench, task, repository_roots=(str(bench.base.parent),))
    assert outcome_of(task, "fix")["failure_type"] == "secret_in_file"
    assert "app.env holds a secret" in text_of(done(task, "fix"))
    # What was committed by others is not this visit's work.
    assert outcome_of(task, "fix", 2)["facts"]["git"]["paths"] == ["app.py"]
    assert [row.job.visit for row in VisitCommit.objects.filter(task=task)] == [2]


def test_a_secret_is_found_as_it_is_spelled_elsewhere(tmp_path: Path) -> None:
    finder = SecretFinder(
        [TOKEN, "short", "-----BEGIN KEY-----\nAAAAB3NzaC1yc2EAAA\nshort\n-----END KEY-----\n"]
    )
    spelled = {
        "plain": TOKEN,
        "address": quote(TOKEN, safe=""),
        "json": json.dumps(TOKEN),
        "base64": base64.b64encode(TOKEN.encode()).decode(),
        "line": "AAAAB3NzaC1yc2EAAA",
    }
    for name, text in spelled.items():
        (tmp_path / name).write_text(f"a {text} b")
        assert finder.holds(tmp_path, name), name
    for harmless in ("", "short", "-----BEGIN KEY-----", TOKEN[:-1]):
        (tmp_path / "harmless").write_text(harmless)
        assert not finder.holds(tmp_path, "harmless"), harmless
    assert not SecretFinder(["1234567"]) and not finder.holds(tmp_path, "absent")


@pytest.mark.wide
def test_reports_of_a_repository_are_no_part_of_the_change(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    origin = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n", "kept.xml": b"<testsuite/>"})
    connect(world.project, origin)
    report = (
        "open('out.xml', 'w').write('<testsuite><testcase name=\"a\"/></testsuite>'); open('app.py', 'w')"
    )
    declared = [{"path": "out.xml", "kind": "junit"}]
    on = {"id": "on", "when": {"fact": {"path": "tests.passed", "op": "equals", "value": 1}}, "to": "look"}
    look = "import os; print(sorted(os.listdir('.')))"
    again = "open('kept.xml', 'w').write('<testsuite name=\"b\"/>')"
    end = {"id": "end", "when": {"result": "success"}, "to": "completed"}
    version = world.line(
        stations=[
            command("tests", report, on, artifacts=declared),
            command("look", look, {**end, "id": "on-again", "to": "again"}),
            command("again", again, end, artifacts=[{"path": "kept.xml", "kind": "junit"}]),
        ],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(version)
    drive(bench, task, repository_roots=(str(bench.base.parent),))
    facts = outcome_of(task, "tests")["facts"]
    assert facts["git"]["paths"] == ["app.py"]
    assert facts["tests"]["source"]["tree"] == facts["git"]["tree"]
    assert Artifact.objects.get(job__station="tests").name == "out.xml"
    assert "['.git', 'app.py', 'kept.xml']" in text_of(done(task, "look"))
    assert outcome_of(task, "look")["facts"]["git"]["tree"] == facts["git"]["tree"]
    assert outcome_of(task, "again")["facts"]["git"]["paths"] == ["app.py", "kept.xml"], "committed before"
