"""A runner that wants more than its stations need, or says what nobody means (law §15, docs/runners.md)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Job
from pipelines.work import logs
from pipelines.work.runners import files
from pipelines.work.transport.http.wire_format import PROTOCOL
from tests.factories import World
from tests.vault.conftest import Put, key_file, put
from tests.work.driving import command
from tests.work.remotes import connect, remote
from tests.work.runners.far import FACTS, FarAway

__all__ = ["key_file", "put"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TO_END = {"id": "end", "to": "completed"}


@pytest.fixture(autouse=True)
def near(settings: Any, tmp_path: Path) -> None:
    settings.REPOSITORY_ROOTS = [tmp_path]
    settings.WORKSPACES_DIR = tmp_path / "server"


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    return FarAway(tmp_path / "far", world.runner()[1])


def claim(far: FarAway, job: Job) -> dict[str, Any]:
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    found: dict[str, Any] = far.call(f"/jobs/{job.pk}/claim").json()["started"]
    return found


@pytest.fixture
def held(world: World, far: FarAway) -> tuple[Job, str]:
    job = world.start(world.line(stations=[command("build", "pass", TO_END)])).jobs.get()
    return job, claim(far, job)["lease"]


def test_a_runner_learns_no_secret_that_its_station_does_not_name(
    world: World, far: FarAway, put: Put, tmp_path: Path
) -> None:
    """Not even to mask it: its own masks are its own secrets, the server masks the rest."""
    for name in ("OWN", "ELSEWHERE", "HOST_TOKEN", "READ"):
        put(world.project, name, f"value of {name}", by=world.admin)
    origin = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})
    connect(world.project, origin, credential="READ", host_credential="HOST_TOKEN")
    first = command("first", "pass", {"id": "on", "to": "second"}, work={"env": {"A": {"secret": "OWN"}}})
    second = command("second", "pass", TO_END, work={"env": {"B": {"secret": "ELSEWHERE"}}})
    task = world.start(world.line(stations=[first, second], workspace={"git": {"repository": "app"}}))
    job = task.jobs.get()
    started = claim(far, job)
    assert started["values"]["secrets"] == {"OWN": "value of OWN"}
    assert sorted(started["values"]["masked"]) == ["value of OWN", "value of READ"]
    assert "ELSEWHERE" not in str(started) and "HOST_TOKEN" not in str(started)

    said = {"text": "0.1\tvalue of ELSEWHERE, value of OWN\n", "again": False}
    assert far.call(f"/jobs/{job.pk}/log", said, started["lease"]).status_code == 204
    assert [each.text for each in logs.read_log_part(job, 1, 0).lines] == ["•••, •••"]


NUL, HALF = "a\x00b", "\ud800"
DIGEST = hashlib.sha256(b"x").hexdigest()
GIT = {"branch": "b", "base_branch": "main", "base": "1" * 40, "head": "1" * 40, "pack": ""}


def _empty(**more: Any) -> dict[str, Any]:
    return {"artifacts": [], "workspace": None, "git": None, **more}


def _files(*entries: Any) -> dict[str, Any]:
    return _empty(workspace={"manifest": list(entries), "digest": DIGEST})


HOSTILE: dict[str, tuple[str, Any]] = {
    "wanted of NUL": ("wanted", {"files": {NUL: 1}}),
    "wanted of half a sign": ("wanted", {"files": {HALF: 1}}),
    "an artifact of NUL": ("store", _empty(artifacts=[{"name": "a", "digest": NUL}])),
    "an artifact of half a sign": ("store", _empty(artifacts=[{"name": HALF, "digest": HALF}])),
    "an artifact without a digest": ("store", _empty(artifacts=[{"name": "a"}])),
    "artifacts that are none": ("store", _empty(artifacts="abc")),
    "git that is a word": ("store", _empty(git="abc")),
    "git that is a list": ("store", _empty(git=[1])),
    "git of NUL": ("store", _empty(git={**GIT, "pack": NUL})),
    "git of a list": ("store", _empty(git={**GIT, "branch": [], "pack": {}})),
    "a link of half a sign": ("store", _files({"path": "a", "link": HALF})),
    "a file of NUL": ("store", _files({"path": "a", "mode": 1, "digest": NUL, "size": 1})),
    "a file of a list": ("store", _files({"path": "a", "mode": 1, "digest": [], "size": 1})),
    "a file of a number": ("store", _files({"path": "a", "mode": 1, "digest": 7, "size": 10**400})),
    "no file": ("store", _files(None)),
    "a log of half a sign": ("log", {"text": f"0.1\t{HALF}\n", "again": True}),
    "a report of an error with a list": (
        "report",
        {"attempt": 1, "outcome": {"artifacts": [{"error": "x", "name": []}]}},
    ),
    "a report of NUL": ("report", {"attempt": 1, "outcome": {"result": NUL, NUL: HALF}}),
    "a report of usage that is none": (
        "report",
        {"attempt": 1, "outcome": {"result": "success", "facts": {"usage": {"tokens_in": [HALF], NUL: {}}}}},
    ),
    "a report whose claims are none": (
        "report",
        {"attempt": 1, "outcome": {"result": 5, "claims": 7, "facts": [], "artifacts": {}, "summary": []}},
    ),
    "a deep report": ("report", b'{"attempt": 1, "outcome": {"output": ' + b"[" * 5000 + b"]" * 5000 + b"}}"),
    "a deep store": ("store", b'{"artifacts": ' + b"[" * 900 + b"]" * 900 + b"}"),
    "an attempt of half a sign": ("give-back", {"attempt": HALF}),
}


def _sent(said: Any) -> bytes:
    """As other clients write JSON: half a sign is spelt out."""
    return said if isinstance(said, bytes) else json.dumps(said).encode()


@pytest.mark.smoke(4)
@pytest.mark.parametrize("what", HOSTILE)
def test_no_document_of_a_runner_is_an_error_of_the_server(
    world: World, far: FarAway, tmp_path: Path, what: str
) -> None:
    origin = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})
    connect(world.project, origin)
    line = world.line(stations=[command("build", "pass", TO_END)], workspace={"git": {"repository": "app"}})
    job = world.start(line).jobs.get()
    lease = claim(far, job)["lease"]
    path, said = HOSTILE[what]
    answer = far.call(f"/jobs/{job.pk}/{path}", _sent(said), lease)
    assert answer.status_code < 500, answer.reason_phrase


REGISTER = {
    "name": {"name": NUL},
    "half a name": {"name": HALF},
    "label": {"labels": [NUL]},
    "offer": {"offers": [HALF]},
    "isolation": {"isolation": NUL},
    "machine": {"machine": {"os": NUL}},
    "half a machine": {"machine": {"os": HALF}},
    "pid": {"pid": 2**70},
}


def test_no_word_of_a_runner_about_itself_is_an_error_of_the_server(far: FarAway) -> None:
    answers = {
        what: far.call("", _sent({**FACTS, "protocol": PROTOCOL, **said})).status_code
        for what, said in REGISTER.items()
    }
    assert {what: status for what, status in answers.items() if status >= 500} == {}
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    for word in (NUL, HALF):
        for said in ({"agents": {word: {}}}, {"agents": {"claude": {"path": word}}}):
            assert far.call("/tell", _sent(said)).status_code < 500, said
        assert far.call("/waiting", _sent({"room": {word: 1}})).status_code < 500


def test_what_is_sent_has_a_bound_together(
    far: FarAway, held: tuple[Job, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file may be as large as a workspace: many of them could fill the disk."""
    monkeypatch.setattr(files, "MOST_TOGETHER", 20)
    job, lease = held
    answers = []
    for sign in b"abc":
        data = bytes([sign]) * 8
        digest = hashlib.sha256(data).hexdigest()
        answers.append(far.call(f"/jobs/{job.pk}/files/{digest}", data, lease, "PUT").status_code)
    assert answers == [204, 204, 400]
