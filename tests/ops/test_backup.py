"""`manage.py backup` and `restore` on a real installation: worked with, backed up meanwhile, wiped, put back."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from config.backup.archive import ArchiveWriter, _manifest_checksum
from config.embedded import layout
from tests.fixtures.receipts import gateline_verify, in_clone
from tests.fixtures.site import free_port
from tests.ops.conftest import open_folder
from tests.ops.processes import Commands, on_linux
from tests.ops.test_up import LINK, Up, Visitor
from tests.waiting import LONG, until

# They tell one story, in order, on one installation.
pytestmark = on_linux
PASSWORD = "three-plain-words"
EVENTS_WRITTEN = re.compile(r"\ngateline_events_total (\S+)")
STAGES = "/api/v1/owners/demo/projects/app/stages"
LINE = f"{STAGES}/fix-lint-findings"


@dataclass
class Installation:
    """One that was worked with. `task` and `receipt` are what it has to have again."""

    home: Path
    up: Up
    archive: Path
    token: str = ""
    task: str = ""
    receipt: str = ""

    def manage(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return self.up.manage(*words, **more)

    def commands(self) -> Commands:
        return Commands(self.up.environment)

    def api(self, path: str, body: Any = None, method: str | None = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.up.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=LONG) as answer:
            return json.load(answer)

    def sign_in(self) -> Visitor:
        person = Visitor()
        person.press(f"http://127.0.0.1:{self.up.port}/sign-in/", username="admin", password=PASSWORD)
        assert person.signed_in()
        return person

    def receipt_of(self, person: Visitor) -> str:
        status, _, text = person.get(f"http://127.0.0.1:{self.up.port}/p/demo/app/tasks/{self.task}/receipt/")
        assert status == 200
        return text


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with open_folder() as folder:
        up = Up(folder / "state", free_port())
        up.end_helper()
        made = Installation(folder / "state", up, folder / "gateline.tar")
        yield made
        if made.up.process.poll() is None:
            made.up.interrupt()


def test_it_is_backed_up_while_it_works(installation: Installation) -> None:
    link = LINK.search(installation.up.line())
    assert link
    person = Visitor()
    landed = person.press(link[0])[1]
    assert person.press(landed, new_password1=PASSWORD, new_password2=PASSWORD)[0] == 200
    _work(installation)
    # Another one is under way.
    installation.api(f"{STAGES}/repository-check/tasks", {"title": "Check it"})
    with installation.commands() as manage, scraped(installation.up.port) as answers:
        until(lambda: answers, "/metrics")
        done = manage.run("backup", str(installation.archive))
        assert done.returncode == 0, done.stderr
        told = len(answers)
        until(lambda: len(answers) > told, "/metrics after the backup")
        assert installation.archive.stat().st_mode & 0o777 == 0o600
        again = manage.run("backup", str(installation.archive))
        assert again.returncode != 0 and "is there already" in again.stderr
    # Before, through and after it: nobody who watches sees anything of it
    assert told > 1 and all("\ngateline_database_up 1.0\n" in answer for answer in answers)
    written = [float(EVENTS_WRITTEN.findall(answer)[0]) for answer in answers]
    assert written == sorted(written)


@contextmanager
def scraped(port: int) -> Iterator[list[str]]:
    """Read `/metrics` again and again, as Prometheus does, until the block is over; what it answered."""
    answers: list[str] = []
    over = Event()

    def read_until_over() -> None:
        while not over.is_set():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LONG) as answer:
                answers.append(answer.read().decode())

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_until_over)
        try:
            yield answers
        finally:
            over.set()
            reading.result(LONG)


def _work(installation: Installation) -> None:
    scopes = (word for scope in ("read", "submit", "decide", "settings") for word in ("--scope", scope))
    words = ("--project", "demo/app", *scopes)
    installation.token = installation.manage("create_token", "admin", *words).stdout.splitlines()[-1]
    installation.api("/api/v1/owners/demo/projects/app/secrets/DEPLOY", {"value": "s3cret-s3cret"}, "PUT")
    task = installation.api(f"{LINE}/tasks", {"title": "Fix it"})
    installation.task = task["id"]
    place = f"{LINE}/tasks/{task['id']}"
    waiting = until(lambda: _with_gate(installation.api(place)), "the gate")
    vote = {"action": "approve", "reason": "", "visit": waiting["visit"]}
    installation.api(f"{place}/gates/{waiting['pendingGateId']}", vote)
    until(lambda: installation.api(place)["status"] == "completed", "the merge")
    installation.receipt = installation.receipt_of(installation.sign_in())


def test_what_runs_or_is_not_empty_is_not_overwritten(installation: Installation) -> None:
    with installation.commands() as manage:
        plain = manage.run("restore", str(installation.archive))
        running = manage.run("restore", "--replace", str(installation.archive))
    assert plain.returncode != 0 and "not empty" in plain.stderr and "--replace" in plain.stderr
    assert (
        running.returncode != 0 and "Stop Gateline" in running.stderr and "gateline worker" in running.stderr
    )
    assert installation.up.health()[0] == 200


def test_it_is_wiped_and_put_back(installation: Installation) -> None:
    installation.up.interrupt()
    base = layout.recorded_or_planned_layout(installation.home).base
    shutil.rmtree(installation.home)
    shutil.rmtree(base, ignore_errors=True)
    done = installation.manage("restore", str(installation.archive))
    assert done.returncode == 0 and "Restored the state of" in done.stdout, done.stdout + done.stderr
    assert not (installation.home / "restore.new").exists()
    installation.up = Up(installation.home, free_port())
    installation.up.end_helper()
    assert "Setting up the database" not in installation.up.said()
    assert "Loading the demo" not in installation.up.said()
    assert not LINK.search(installation.up.line()), "the password is there again"
    assert installation.api(f"{LINE}/tasks/{installation.task}")["status"] == "completed"
    installation.sign_in()
    # The task that was under way goes on.
    listed = f"{STAGES}/repository-check/tasks"
    place = f"{listed}/{installation.api(listed)[0]['id']}"
    until(lambda: _with_gate(installation.api(place)), "the second task at its gate")


def test_its_receipt_is_the_same_and_verifies(installation: Installation) -> None:
    text = installation.receipt_of(installation.sign_in())
    assert text == installation.receipt
    receipt, key = (installation.home.parent / name for name in ("receipt.json", "gateline.pem"))
    receipt.write_text(text)
    repository = str(installation.home / "repositories" / "basket.git")
    with installation.commands() as manage:
        key.write_text(manage.run("receipt_key").stdout)
    done = gateline_verify(receipt, "--key", key, *in_clone(repository))
    assert done.returncode == 0 and "Valid: signed by this key." in done.stdout, done.stderr


def test_its_secrets_can_be_read_and_its_invariants_hold(installation: Installation) -> None:
    with installation.commands() as manage:
        assert "1 secrets are encrypted" in manage.run("rotate_secrets").stdout
        checked = manage.run("check_invariants")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture
def empty(installation: Installation) -> Iterator[dict[str, str]]:
    """The environment of another state folder, in which nothing is."""
    if installation.up.process.poll() is None:
        installation.up.interrupt()
    with open_folder() as folder:
        yield installation.up.environment | {"GATELINE_HOME": str(folder / "state")}


def restore(environment: dict[str, str], archive: Path) -> subprocess.CompletedProcess[str]:
    with Commands(environment) as manage:
        return manage.run("restore", str(archive))


def test_a_damaged_or_newer_archive_changes_nothing_and_says_where(
    installation: Installation, empty: dict[str, str], tmp_path: Path
) -> None:
    content = installation.archive.read_bytes()
    with tarfile.open(installation.archive) as tar:
        places = {member.name: (member.offset_data, member.size) for member in tar}
    start, size = places["database.sql.gz"]
    manifest = places["manifest.json"][0]
    damages = {
        "database.sql.gz is not what was backed up": _other_byte(content, start + size // 2),
        "manifest.json is not what was written": content.replace(
            b'"pipelines.0001_initial"', b'"pipelines.0001_unitial"'
        ),
        "it ends before its manifest": content[: manifest - 512],
        "is damaged": content[: manifest + 100],
        "state/secret-key is not what was backed up": _other_byte(content, places["state/secret-key"][0]),
        "no backup": b"%PDF-1.7 " * 500,
    }
    refusals: dict[Path, tuple[str, ...]] = {}
    for number, (words, damaged) in enumerate(damages.items()):
        file = tmp_path / f"{number}.tar"
        file.write_bytes(damaged)
        refusals[file] = ("is damaged", "Nothing was changed", "" if words == "no backup" else words)
    newer = _rewritten(installation.archive, tmp_path, migrations=["pipelines.9999_later"])
    refusals[newer] = ("newer Gateline", "pipelines.9999_later")
    refusals[_rewritten(installation.archive, tmp_path, postgresql=99)] = ("PostgreSQL 99",)
    for member, forged in {
        "files": None,
        "migrations": 7,
        "postgresql": "18",
        "keys_of_environment": [],
    }.items():
        file = _forged(installation.archive, tmp_path, **{member: forged})
        refusals[file] = (f"is damaged: manifest.json lacks {member}",)
    with Commands(empty) as manage:
        for file, words in refusals.items():
            refused = manage.run("restore", str(file))
            assert refused.returncode != 0 and all(word in refused.stderr for word in words), refused
        missing = manage.run("restore", str(tmp_path / "missing.tar"))
        assert missing.returncode != 0 and "No such file" in missing.stderr
        assert "Traceback" not in missing.stderr
        keys = restore(empty | {"GATELINE_ENCRYPTION_KEYS": "other"}, installation.archive)
        assert "GATELINE_ENCRYPTION_KEYS" in keys.stderr, keys.stderr
        # Nothing of all that has been left, and the right one goes in.
        done = manage.run("restore", str(installation.archive))
        assert done.returncode == 0 and str(installation.home) in done.stdout, done.stdout + done.stderr


@pytest.mark.wide
def test_it_moves_to_a_database_of_ones_own_and_back(
    installation: Installation, empty: dict[str, str], tmp_path: Path
) -> None:
    """With DATABASE_URL, and `--replace` over what is there."""
    with psycopg.connect(layout.connection_url(Path(layout.state_folder())), autocommit=True) as database:
        database.execute("DROP DATABASE IF EXISTS moved_here WITH (FORCE)")
        database.execute("CREATE DATABASE moved_here")
        own = empty | {
            "DATABASE_URL": layout.connection_url(Path(layout.state_folder())).rpartition("/")[0]
            + "/moved_here"
        }
        try:
            with Commands(own) as manage:
                assert manage.run("restore", str(installation.archive)).returncode == 0
                assert "not empty" in manage.run("restore", str(installation.archive)).stderr
                replaced = manage.run("restore", str(installation.archive), "--replace")
                assert replaced.returncode == 0, replaced.stderr
                file = tmp_path / "second.tar"
                done = manage.run("backup", str(file))
                assert done.returncode == 0, done.stderr
        finally:
            database.execute("DROP DATABASE moved_here WITH (FORCE)")
    with Commands(empty) as manage:
        refused = manage.run("restore", str(file))
        assert "not empty" in refused.stderr, "the folder has files, though its database has no table"
        done = manage.run("restore", str(file), "--replace")
        assert done.returncode == 0, done.stderr


def _with_gate(task: dict[str, Any]) -> dict[str, Any] | None:
    return task if task.get("pendingGateId") else None


def _other_byte(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def _rewritten(archive: Path, folder: Path, **facts: Any) -> Path:
    """As a later Gateline would have written it: every checksum is right."""
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    manifest = json.loads((unpacked / "manifest.json").read_text())
    path = folder / f"{'-'.join(facts)}.tar"
    writer = ArchiveWriter(path)
    for name in manifest.pop("files"):
        writer.add(name, unpacked / name)
    manifest.pop("sha256")
    writer.write_manifest_and_close(manifest | facts)
    return path


def _forged(archive: Path, folder: Path, **facts: Any) -> Path:
    """Nothing but a manifest whose own checksum is right."""
    with tarfile.open(archive) as tar:
        manifest = json.loads(tar.extractfile("manifest.json").read())  # type: ignore[union-attr]
    manifest.pop("sha256")
    manifest |= {"files": {}} | facts
    text = json.dumps(manifest | {"sha256": _manifest_checksum(manifest)}).encode()
    member = tarfile.TarInfo("manifest.json")
    member.size = len(text)
    path = folder / f"forged-{'-'.join(facts)}.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(member, io.BytesIO(text))
    return path
