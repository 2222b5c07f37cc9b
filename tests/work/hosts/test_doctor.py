"""`gateline doctor`: what a token may do at its host, found by reading alone; and what this machine enforces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.work.processes.isolation import Isolation
from pipelines.work.program.doctor import enforcement_lines, image_program_line, main
from tests.waiting import LONG
from tests.work.hosts.servers import PATH, TOKEN, host
from tests.work.remotes import RemoteRepository, remote

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def origin(tmp_path: Path) -> RemoteRepository:
    return remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})


def doctor(*words: str, token: str = TOKEN) -> tuple[int, dict[str, dict[str, str]], str]:
    """(exit code, {check: line}, standard error) of the real program."""
    said = subprocess.run(
        [sys.executable, "-m", "gateline", "doctor", *words, "--json"],
        env={"PATH": "/usr/bin:/bin"} | dict.fromkeys(("GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"), token),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    found = {each["check"]: each for each in json.loads(said.stdout)} if said.stdout else {}
    assert TOKEN not in said.stdout + said.stderr
    return said.returncode, found, said.stderr


@pytest.mark.parametrize("key", ["github", pytest.param("gitlab", marks=pytest.mark.wide)])
def test_an_account_is_looked_at_and_nothing_is_changed(origin: RemoteRepository, key: str) -> None:
    with host(key, origin) as server:
        server.queues, server.requires, server.checks = True, ["unit"], {"unit": "success"}
        code, found, _said = doctor(key, "--repository", PATH, "--server", server.server.url)
        assert code == 0, found
        assert {each.method for each in server.server.asked} == {"GET"}
    assert found["repository"]["said"] == "the token may write"
    assert "by its queue" in found["branch rules"]["said"]
    assert found["required checks"]["said"].endswith("unit" if key == "github" else "pipeline")
    assert found["checks"]["state"] == found["requests"]["state"] == "ok"
    assert found["merge call"]["state"] == "ok" and "api" in found["scopes"]["said"] + "api" * (
        key == "github"
    )


@pytest.mark.parametrize("key", ["gitea", pytest.param("github", marks=pytest.mark.wide)])
def test_it_ends_with_what_the_owner_has_to_try(origin: RemoteRepository, key: str) -> None:
    def to_try(*words: str) -> list[str]:
        _code, found, _said = doctor(key, "--repository", PATH, "--server", server.server.url, *words)
        states = [line["state"] for line in found.values()]
        assert states == sorted(states, key=lambda state: state == "untried"), "they come last"
        return [line["check"] for line in found.values() if line["state"] == "untried"]

    with host(key, origin) as server:
        wrote = ("--issue", "3", "--commit", origin.head())
        assert to_try() == [
            "a comment",
            "a status",
            "a pull request",
            "a merge",
            "a failed check",
            "a webhook",
        ]
        assert to_try(*wrote) == ["a pull request", "a merge", "a failed check", "a webhook"]
        assert server.comments and server.statuses


@pytest.mark.wide
def test_what_is_missing_is_named_with_its_remedy(origin: RemoteRepository) -> None:
    with host("github", origin) as server:
        where = ("github", "--repository", PATH, "--server", server.server.url)
        server.may_push, server.scopes = False, "read:org"
        code, found, _said = doctor(*where)
        assert (code, found["repository"]["state"], found["set a status"]["state"]) == (1, "failed", "failed")
        assert found["repository"]["remedy"] == "Use a token that may push."
        server.may_push, server.scopes = True, None
        code, found, _said = doctor(*where)
        assert (code, found["merge call"]["state"], found["scopes"]["state"]) == (0, "unknown", "unknown")
        code, found, _said = doctor(*where, token="wrong")
        assert code == 1 and "refuses the credential" in found["repository"]["said"]
        assert [line["state"] for line in found.values()] == ["failed"], "nothing else can be tried"
        code, found, said = doctor(*where, token="")
        assert (code, found) == (2, {}) and "GITHUB_TOKEN" in said
        head = origin.head()
        assert doctor(*where, "--commit", head)[0] == 0
        assert server.statuses[head][0]["state"] == "success"


@pytest.mark.parametrize(
    ("isolation", "network", "egress"),
    [
        (Isolation("bubblewrap", cuts_network=True, limits_hosts=True), "ok", "ok"),
        (Isolation("landlock", cuts_network=True, limits_hosts=True), "ok", "ok"),
        (Isolation("landlock", cuts_network=True), "ok", "failed"),
        (Isolation("bubblewrap"), "failed", "failed"),
        (Isolation("none"), "failed", "failed"),
    ],
)
def test_what_is_enforced_of_a_station_is_said(isolation: Isolation, network: str, egress: str) -> None:
    found = {each.check: each for each in enforcement_lines(isolation)}
    assert (found["network of a station"].state, found["egress"].state) == (network, egress)
    assert all(bool(each.remedy) == (each.state == "failed") for each in found.values())


@pytest.mark.wide
def test_this_machine_is_looked_at() -> None:
    code, found, _said = doctor()
    assert found["system"]["state"] == "ok" and "egress" in found and "podman" in found
    assert code == (1 if any(each["state"] == "failed" for each in found.values()) else 0)


def test_a_server_that_nobody_can_mean_is_refused() -> None:
    assert main(["github", "--repository", "no owner", "--server", "https://x"]) == 2


@pytest.mark.parametrize("odd", ["\n", "é"])
def test_a_token_that_no_header_takes_is_not_shown(origin: RemoteRepository, odd: str) -> None:
    with host("github", origin) as server:
        words = ("github", "--repository", PATH, "--server", server.server.url)
        code, found, said = doctor(*words, token=f"begin{odd}end")
        assert not server.server.asked
    assert code == 1 and "line breaks or letters" in found["repository"]["said"]
    assert "begin" not in str(found) + said


def test_nothing_of_the_folder_in_which_it_is_called_runs(tmp_path: Path) -> None:
    """It may be a stranger's repository, with modules called like ours or like those of Python."""
    stranger = tmp_path / "stranger"
    inner = stranger / "pipelines" / "work" / "program" / "doctor"
    inner.mkdir(parents=True)
    for file in (stranger / "argparse.py", inner.parent.parent / "__init__.py", inner / "__main__.py"):
        file.write_text("raise SystemExit('the stranger ran')")
    said = subprocess.run(
        [sys.executable, "-P", "-c", "from gateline.main import main; main()", "doctor", "github", "--help"],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        cwd=stranger,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert "--repository" in said.stdout


def test_docker_that_does_not_answer_is_told_from_one_that_brings_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo Docker version 28\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = image_program_line("docker")
    assert said.state == "unknown" and "does not answer" in said.said and "DOCKER_HOST" in said.remedy
    program.write_text("#!/bin/sh\necho Docker version 28\n")
    assert image_program_line("docker").state == "ok"
    program.unlink()
    assert image_program_line("docker").said.startswith("not installed")
