"""The folder of workspaces, for people whose home holds configuration files: tools of stations never read those."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.models import Job, Task, Worker
from pipelines.work import logs
from pipelines.work.workspace_folder.choice import read_record_or_none
from pipelines.work.workspace_folder.folders import remove_folder
from tests.factories import World, document, station
from tests.fixtures.site import ROOT, environment, manage, stop
from tests.ops.processes import clean_environment
from tests.waiting import LONG, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
HOME_FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--of-the-home"\n[tool.ruff]\nline-length = 10\n'
    'lint.select = ["E501"]\n',
    "conftest.py": "raise RuntimeError('the conftest of the home')\n",
    "setup.cfg": "[tool:pytest]\naddopts = --of-the-home\n",
    "package.json": '{"type": "module"}',
    "eslint.config.js": "export default [];\n",
    ".editorconfig": "root = true\n",
    "Cargo.toml": "[workspace]\n",
}
REPOSITORY = {
    "prices.py": "def total(items):\n    return sum(items)\n",
    "test_prices.py": "from prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    "main.js": "const { sep } = require('path');\nconsole.log('separator', sep);\n",
}
PROGRAM = f"""
import pathlib, shutil, subprocess, sys
for name, text in {REPOSITORY!r}.items():
    pathlib.Path(name).write_text(text)
code = subprocess.call([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no"])
code |= subprocess.call(["ruff", "check", "--no-cache", "--output-format=concise", "."])
code |= subprocess.call(["node", "main.js"]) if shutil.which("node") else 0
sys.exit(code)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name, text in HOME_FILES.items():
        (folder / name).write_text(text)
    return folder


@contextmanager
def worker(tmp_path: Path, home: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process of an installation of its own, whose user has this home."""
    own = environment(HOME=str(home), GATELINE_HOME=str(tmp_path / "state"), **more)
    own.pop("XDG_STATE_HOME", None)
    process = manage("worker", log=tmp_path / "worker.log", env=own)
    try:
        yield process
    finally:
        stop(process)
        # With such a home it lies outside the folder of this test.
        if record := read_record_or_none(tmp_path / "state"):
            remove_folder(record.folder)


def work(world: World, tmp_path: Path, home: Path, **more: str) -> tuple[Job, str]:
    """The job of a station that runs the tools of a stranger's repository, and its log."""
    tools = {"argv": ["python", "-c", PROGRAM]}
    rules = [{"id": "done", "when": {"always": True}, "to": "completed"}]
    version = world.line(document([station("tools", *rules, kind="command", work=tools)], "tools"))
    with worker(tmp_path, home, **more) as process:
        log = tmp_path / "worker.log"
        until(
            lambda: process.poll() is not None or Worker.objects.filter(pid=process.pid).exists(),
            log.read_text,
        )
        if process.poll() is not None and "does not work here" in log.read_text():
            pytest.skip(f"{more['GATELINE_ISOLATION']} does not work on this machine")
        task: Task = world.start(version)
        until(lambda: world.status(task) in ("completed", "failed"), log.read_text)
    job = Job.objects.get(task=task, station="tools")
    return job, "".join(logs.read_log_text(job, job.attempt))


def exit_code(job: Job) -> int:
    assert isinstance(job.outcome, dict)
    return int(job.outcome["exit_code"])


@pytest.mark.smoke(1)  # without any isolation nothing hides the home
@pytest.mark.isolation
@pytest.mark.parametrize("isolation", ["none", "landlock", "bubblewrap"])
def test_a_configuration_in_the_home_is_not_that_of_a_repository(
    world: World, tmp_path: Path, home: Path, isolation: str
) -> None:
    job, text = work(world, tmp_path, home, GATELINE_ISOLATION=isolation)
    assert exit_code(job) == 0 and "1 passed" in text and "configfile" not in text, text
    assert "All checks passed" in text, text
    folder = Path(json.loads((tmp_path / "state" / "workspaces.json").read_text())["folder"])
    assert not folder.is_relative_to(home)
    assert "lies above the workspaces" not in (tmp_path / "worker.log").read_text()


@pytest.mark.smoke(2)
@pytest.mark.isolation
@pytest.mark.parametrize(("isolation", "reads"), [("none", True), ("landlock", True), ("bubblewrap", False)])
def test_a_folder_that_is_named_counts_and_is_warned_of(
    world: World, tmp_path: Path, home: Path, isolation: str, reads: bool
) -> None:
    """Behind namespaces the folders above are empty: there the configuration cannot be read all the same."""
    place = home / "named"
    job, text = work(world, tmp_path, home, GATELINE_ISOLATION=isolation, GATELINE_WORKSPACES=str(place))
    assert (exit_code(job) != 0) == reads, text
    said = (tmp_path / "worker.log").read_text()
    assert f"{home / 'pyproject.toml'} lies above the workspaces" in said and "GATELINE_WORKSPACES" in said


def chosen(state: Path, **more: str) -> Path:
    """The folder that a command of this installation uses."""
    own = clean_environment(GATELINE_HOME=str(state), DATABASE_URL="postgres://nobody@127.0.0.1:1/none")
    own.pop("XDG_STATE_HOME", None)
    program = "from config import settings; print(settings.WORKSPACES_DIR)"
    words = [sys.executable, "-c", program]
    answer = subprocess.run(words, cwd=ROOT, env=own | more, capture_output=True, text=True, check=True)
    return Path(answer.stdout.strip())


def test_two_installations_never_share_and_one_stays_with_its_choice(tmp_path: Path, home: Path) -> None:
    user = tmp_path / "user"
    first, second = (chosen(tmp_path / name / ".gateline", XDG_STATE_HOME=str(user)) for name in "ab")
    assert first != second and {first.parent, second.parent} == {user / "gateline"}
    assert first.name.startswith("a-") and first.stat().st_mode & 0o777 == 0o700
    (user / "package.json").write_text("{}")
    assert chosen(tmp_path / "a" / ".gateline", XDG_STATE_HOME=str(user)) == first
    # A copy of a checkout, its state along with it, takes a folder of its own.
    (tmp_path / "copy").mkdir()
    subprocess.run(["cp", "-a", str(tmp_path / "a" / ".gateline"), str(tmp_path / "copy")], check=True)
    other = chosen(tmp_path / "copy" / ".gateline", XDG_STATE_HOME=str(home / "state"))
    assert other not in (first, second)
    other.rmdir()


@pytest.mark.smoke(3)
@pytest.mark.parametrize("variables", [{"HOME": "/"}, {"HOME": "/proc/no-home"}, {"HOME": ""}])
def test_a_home_that_is_missing_or_cannot_be_written_to(tmp_path: Path, variables: dict[str, str]) -> None:
    folder = chosen(tmp_path / "state", **variables)
    assert folder.is_dir() and folder.stat().st_uid == os.geteuid()
    folder.rmdir()


def test_a_folder_that_somebody_else_made_is_not_taken(tmp_path: Path, home: Path) -> None:
    own = {"HOME": str(home), "TMPDIR": str(tmp_path)}
    first = chosen(tmp_path / "state", **own)
    assert not first.is_relative_to(home)
    first.rmdir()
    first.symlink_to(tmp_path)
    (tmp_path / "state" / "workspaces.json").unlink()
    try:
        second = chosen(tmp_path / "state", **own)
        assert second.resolve() not in (first, tmp_path)
        second.rmdir()
    finally:
        first.unlink()


def plant(state: Path) -> Path:
    """Workspaces as an earlier version left them in the state folder."""
    place = state / "workspaces"
    for name, text in {
        "homes/7.agent/.session": "goes on",
        ".mirrors/known_hosts": "host key",
        ".mirrors/a.git/ready": "",
        "5d7c/lock": "",
        "5d7c/7/1.1/workspace/file": "",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.smoke(1)
@pytest.mark.parametrize("base", ["/dev/shm", ""])
def test_workspaces_of_an_earlier_version_move_once_nobody_works_there(tmp_path: Path, base: str) -> None:
    """Also from one file system to another, and after a crash on the way: a copy is half there, a home is twice."""
    place, user = plant(tmp_path / "state"), Path(base or tmp_path) / f"user-{tmp_path.name}-{os.getpid()}"
    session = "homes/7.agent/.session"
    own = environment(GATELINE_HOME=str(tmp_path / "state"), XDG_STATE_HOME=str(user))
    log = tmp_path / "worker.log"
    try:
        with (place / "5d7c" / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stop(until_started(manage("worker", log=log, env=own), log))
            assert (place / session).is_file() and "A worker still works in" in log.read_text()
        folder = chosen(tmp_path / "state", XDG_STATE_HOME=str(user))
        for home, text in (
            (folder / "homes" / ".moving-7.agent", "half"),
            (folder / "homes" / "8.agent", "newer"),
        ):
            home.mkdir(parents=True, exist_ok=True)
            (home / "half").write_text(text)
        (place / "homes" / "8.agent").mkdir()
        stop(until_started(manage("worker", log=log, env=own), log))
        assert folder == Path(json.loads((tmp_path / "state" / "workspaces.json").read_text())["folder"])
        assert folder.is_relative_to(user) and not place.exists()
        assert not (folder / "homes" / "7.agent" / "half").exists()
        assert (folder / "homes" / "8.agent" / "half").read_text() == "newer"
        assert (folder / session).read_text() == "goes on"
        assert (folder / ".mirrors" / "known_hosts").read_text() == "host key"
        assert not (folder / "5d7c").exists()
    finally:
        subprocess.run(["rm", "-rf", str(user)], check=True)


def until_started(process: subprocess.Popen[bytes], log: Path) -> subprocess.Popen[bytes]:
    until(
        lambda: process.poll() is not None or Worker.objects.filter(pid=process.pid).exists(), log.read_text
    )
    assert process.poll() is None, log.read_text()
    return process


def test_make_clean_leaves_the_homes_of_agents(tmp_path: Path) -> None:
    """In a checkout that has only what this needs, for it removes environments as well."""
    checkout, room = tmp_path / "checkout", "pipelines/work/workspace_folder"
    for path in (
        ROOT / "Makefile",
        ROOT / "pipelines/__init__.py",
        ROOT / "pipelines/work/__init__.py",
        *(ROOT / room).glob("*.py"),
    ):
        target = checkout / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())
    folders = {}
    for name in (".gateline", ".test-state"):
        place = plant(checkout / name)
        folders[name] = chosen(checkout / name, XDG_STATE_HOME=str(tmp_path / "user"))
        folders[name].rmdir()
        place.rename(folders[name])
    folder = folders[".gateline"]
    words = ["make", "clean", f"PYTHON={sys.executable}"]
    with (folder / "5d7c" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = subprocess.run(
            words, cwd=checkout, capture_output=True, text=True, timeout=LONG, check=False
        )
        assert refused.returncode != 0 and "Stop Gateline" in refused.stderr
    subprocess.run(words, cwd=checkout, capture_output=True, timeout=LONG, check=True)
    assert not folders[".test-state"].exists()
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == [".mirrors/known_hosts", "homes/7.agent/.session"]
