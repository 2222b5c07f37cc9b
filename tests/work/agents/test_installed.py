"""Which coding agents a machine has: found on the path of stations, asked for their version with nothing of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Worker
from pipelines.work.agents import installed as looking
from pipelines.work.agents.installed import (
    describe_agents,
    installed_agents_on_path,
    installed_tools_on_path,
    registry_hosts_by_program,
    versions_of_tools,
)
from tests.waiting import until


def program(folder: Path, name: str, text: str) -> Path:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


def test_a_program_is_found_and_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELINE_SECRET_X", "not for it")
    place = program(tmp_path, "claude", 'echo "2.1.330$GATELINE_SECRET_X (Claude Code)"; echo more')
    program(tmp_path, "codex", "exit 3")
    path = (str(tmp_path), "/usr/bin", "/bin")
    found = describe_agents(installed_agents_on_path(path), path)
    assert set(found) == {"claude", "codex"}
    assert (found["claude"]["path"], found["claude"]["version"]) == (str(place), "2.1.330 (Claude Code)")
    assert found["codex"]["version"] == ""
    assert installed_agents_on_path(()) == {}


def test_a_program_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "SECONDS", 0.2)
    program(tmp_path, "claude", "exec sleep 60")
    path = (str(tmp_path), "/usr/bin", "/bin")
    assert describe_agents(installed_agents_on_path(path), path)["claude"]["version"] == ""


def test_package_managers_say_from_which_hosts_they_take_packages(tmp_path: Path) -> None:
    program(tmp_path, "npm", '[ "$*" = "config get registry" ] && echo "https://packages.example.com/npm/"')
    program(tmp_path, "pnpm", 'echo "https://reader:secret@packages.example.com:8443/"')
    program(tmp_path, "yarn", "echo undefined")
    program(
        tmp_path, "go", "echo 'https://one.example.com,https://two.example.com|direct'; echo sums.example.com"
    )
    path = (str(tmp_path), "/usr/bin", "/bin")
    assert registry_hosts_by_program(
        {name: place for name, place in installed_tools_on_path(path).items() if name != "python3"}, path
    ) == {
        "npm": ["packages.example.com"],
        "pnpm": ["packages.example.com:8443"],
        "go": ["one.example.com", "two.example.com", "sums.example.com"],
    }


def test_pip_says_its_index_itself() -> None:
    """The pip of this environment, as it is called in a station: with no settings of ours."""
    folder = str(Path(sys.executable).parent)
    asked = "from pip._internal.models.index import PyPI; print(PyPI.netloc, PyPI.file_storage_domain)"
    hosts = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    assert (
        registry_hosts_by_program(installed_tools_on_path((folder,)), (folder, "/usr/bin", "/bin"))["python3"]
        == hosts.split()
    )


def test_of_an_index_of_ones_own_pip_does_not_say_where_its_files_are(tmp_path: Path) -> None:
    index = 'echo "--index-url <url> Base URL (default https://packages.example.com/simple)"'
    program(tmp_path, "python3", f'case "$1" in -m) {index};; *) echo index.example files.example;; esac')
    path = (str(tmp_path), "/usr/bin", "/bin")
    assert registry_hosts_by_program(installed_tools_on_path((str(tmp_path),)), path)["python3"] == [
        "packages.example.com"
    ]


def test_tools_of_which_repositories_ask_for_a_version_say_theirs(tmp_path: Path) -> None:
    program(tmp_path, "go", 'echo "go $1 go1.22.1 linux/amd64$GOTOOLCHAIN"')
    program(tmp_path, "pnpm", "echo 10.14.0-0")
    program(tmp_path, "python3", "echo Python unknown")
    program(tmp_path, "make", "echo 4.4.1")
    path = (str(tmp_path),)
    said = {"go": "1.22.1", "pnpm": "10.14.0-0", "python3": "", "make": ""}
    assert versions_of_tools(installed_tools_on_path(path), path) == said


@pytest.mark.django_db(transaction=True)
def test_a_runner_tells_what_it_has(worker: subprocess.Popen[bytes], settings: Any) -> None:
    """This one has none of them, or those of this machine: it tells what is on its own path."""
    expected = set(installed_agents_on_path(tuple(settings.STATION_PATH)))
    until(lambda: Worker.objects.filter(stopped_at=None, pid=worker.pid).exists(), "the row of the runner")
    until(lambda: set(Worker.objects.get(pid=worker.pid).agents) == expected, "what it has")
    until(lambda: Worker.objects.get(pid=worker.pid).programs, "the versions of its tools")
    versions = Worker.objects.get(pid=worker.pid).programs
    assert (
        versions == versions_of_tools(installed_tools_on_path(settings.STATION_PATH), settings.STATION_PATH)
        and versions["python3"]
    )
