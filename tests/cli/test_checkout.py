"""`gateline checkout`: the branch of a task with the person's own git, before and after a remote has it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gateline.commands import checkout
from gateline.failures import CommandFailure
from tests.cli.conftest import Gateline
from tests.factories import World
from tests.work.driving import Bench, outcome_of
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import line, origin, run

__all__ = ["origin"]
pytestmark = [
    pytest.mark.moves,
    pytest.mark.git,
]
Cli = Callable[..., Gateline]
WHO = {"GIT_AUTHOR_NAME": "Somebody", "GIT_AUTHOR_EMAIL": "somebody@example.com"}
GIT = os.environ | WHO | {
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.com",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env=GIT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.wide
def test_it_checks_out_what_nobody_pushed_and_the_push_goes_back(
    cli: Cli, world: World, origin: RemoteRepository, tmp_path: Path
) -> None:
    task = world.start(line(world), title="Fix the answer")
    run(Bench(tmp_path / "workspaces"), task)
    head = outcome_of(task, "fix")["facts"]["git"]["head"]
    mine = cli(world.operator)
    mine = Gateline(mine.config, mine.environment | {k: v for k, v in GIT.items() if k.startswith("GIT_")})
    said = mine.json("checkout", task.name)
    clone = tmp_path / task.name
    assert (said["at"], said["remote"], Path(said["folder"])) == (head, "origin", Path(task.name))
    assert (clone / "app.py").read_text() == "x = 2\n"
    assert git(clone, "status", "--porcelain") == ""

    (clone / "app.py").write_text("x = 3\n")
    git(clone, "commit", "-qam", "Three")
    git(clone, "push", "-q", "origin", said["branch"])
    assert origin.head(said["branch"]) == git(clone, "rev-parse", "HEAD")
    # In the clone, again: what is on top of the task's commits stays.
    assert mine.json("checkout", task.name, cwd=clone)["at"] == git(clone, "rev-parse", "HEAD")
    git(clone, "reset", "-q", "--hard", "main~0" if said["base_branch"] == "main" else "HEAD")
    git(clone, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
    apart = mine.run("checkout", task.name, cwd=clone)
    assert (apart.returncode, "commits of yours that are not on top" in apart.stderr) == (6, True)


BRANCH = {
    "branch": "gateline/a",
    "base_branch": "main",
    "head": "a" * 40,
    "base": "b" * 40,
    "pushed": "",
    "address": "x",
}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"base_branch": "--upload-pack=touch stolen"}, "WI-app-1"),
        ({"base_branch": "--upload-pack=stolen"}, "WI-app-1"),
        ({"branch": "-f"}, "WI-app-1"),
        ({"branch": "../../HEAD"}, "WI-app-1"),
        ({"head": "--orphan"}, "WI-app-1"),
        ({"base": "HEAD"}, "WI-app-1"),
        ({"pushed": "x"}, "WI-app-1"),
        ({"address": "--upload-pack=stolen"}, "WI-app-1"),
        ({}, "WI-../../.ssh/x-1"),
    ],
)
def test_what_a_server_says_is_no_option_of_git_and_leads_nowhere_else(
    change: dict[str, str], name: str
) -> None:
    checkout._check_branch_values(BRANCH, "WI-app-1")
    with pytest.raises(CommandFailure, match="cannot take"):
        checkout._check_branch_values(BRANCH | change, name)


def test_an_address_of_a_server_runs_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody allowed it for addresses of their own."""
    config = tmp_path / "config"
    config.write_text('[protocol "ext"]\n\tallow = always\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    stolen = tmp_path / "stolen"
    with pytest.raises(checkout.GitFailure):
        checkout.git_output("clone", "--", f"ext::touch {stolen}", str(tmp_path / "clone"))
    assert not stolen.exists()
