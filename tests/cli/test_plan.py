"""`gateline plan`, alone and as the check of a merge request of a repository."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateline.plan_markdown import escape_markdown, plan_markdown
from pipelines.formats import native
from tests.cli.conftest import Gateline
from tests.factories import World, document, station

Cli = Callable[..., Gateline]
PROMISE = {"id": "reviewed", "never": {"reach": "ship", "without": "look"}}
CHECK = """
failed=0
for file in $(git diff --name-only main...HEAD -- '*.line.yaml'); do
  "$PYTHON" -m gateline plan "$file" --project "$PROJECT" --markdown >> "$COMMENT" || failed=$?
done
exit $failed
"""
"""As docs/command-line.md says it."""


def given(*gates: str) -> dict[str, Any]:
    on = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": list(gates)}
    return document(
        [
            station("build", on, {"id": "again", "to": "build", "max_retries": 2}, name="Build"),
            station("ship", {"id": "done", "to": "completed"}, name="Ship"),
        ],
        key="release",
        gates=[{"key": "look", "name": "Second look"}],
        guarantees=[PROMISE],
    )


def git(folder: Path, *words: str) -> str:
    said = ("git", "-C", str(folder), "-c", "user.name=Sam", "-c", "user.email=sam@example.com", *words)
    return subprocess.run(said, check=True, capture_output=True, text=True).stdout


def merge_request(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> Path:
    """A checkout of the branch of a merge request that changes a line."""
    remote, checkout = folder / "remote.git", folder / "checkout"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    subprocess.run(["git", "clone", "-q", str(remote), str(checkout)], check=True, capture_output=True)
    git(checkout, "checkout", "-q", "-b", "main")
    for branch, said in (("main", before), ("change", now)):
        if branch != "main":
            git(checkout, "checkout", "-q", "-b", branch)
        (checkout / "release.line.yaml").write_text(native.dumps(said))
        git(checkout, "add", "-A")
        git(checkout, "commit", "-q", "-m", f"Say the line as {branch}")
        git(checkout, "push", "-q", "origin", branch)
    return checkout


def checked(mine: Gateline, world: World, checkout: Path) -> tuple[int, str]:
    """The exit code of the check, and its comment."""
    comment = checkout.parent / "comment.md"
    place = f"{world.project.owner.key}/{world.project.key}"
    env = mine.environment | {"PYTHON": sys.executable, "PROJECT": place, "COMMENT": str(comment)}
    done = subprocess.run(
        ["sh", "-c", CHECK], cwd=checkout, env=env, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.returncode, comment.read_text()


@pytest.mark.wide
@pytest.mark.git
def test_a_merge_request_is_checked_and_commented(cli: Cli, world: World, tmp_path: Path) -> None:
    version = world.line(given("look"))
    assert world.reviewer
    world.report(world.start(version))
    mine = cli(world.viewer)
    code, comment = checked(mine, world, merge_request(tmp_path, given("look"), given()))
    assert code == 1
    assert "**Cannot be published.**" in comment
    assert "| Nothing reaches Ship without Second look | **Refuted** | Build (rule " in comment
    assert (
        "- Outcomes of Build such as \\{result: success\\} went to Ship by rule 1 after Second look;"
        in comment
    )
    assert "- Build, rule 1: Gates: Second look → none." in comment
    assert "Migrated now, 1 would move." in comment
    assert "| approval no longer required | 1 |" in comment


def test_it_prints_text_and_json_and_ends_with_zero_where_nothing_is_wrong(cli: Cli, world: World) -> None:
    world.line(given("look"))
    assert world.reviewer
    mine = cli(world.viewer)
    file = mine.config.parent / "release.yaml"
    file.write_text(native.dumps(given("look") | {"name": "Releases"}))
    said = mine.ok("plan", str(file))
    assert "Proved  Nothing reaches Ship without Second look" in said
    assert "~ Name of the line: “Release” → “Releases”." in said
    assert "Can be published" in said
    assert mine.json("plan", str(file))["verdict"] in ("ready", "acknowledge")
    file.write_text(native.dumps(given("look")))
    assert "Nothing changes" in mine.ok("plan", str(file))
    assert mine.run("plan", str(file), "--json", "--markdown").returncode == 2


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a | b", "a \\| b"),
        ("<script>", "\\<script\\>"),
        ("@everyone", "@\u200beveryone"),
        ("two\nlines", "two lines"),
    ],
)
def test_what_a_server_said_is_no_markup(said: str, shown: str) -> None:
    assert escape_markdown(said) == shown


def test_a_comment_without_anything_to_say_is_short() -> None:
    plan: dict[str, Any] = {
        "line": "x",
        "live": None,
        "verdict": "ready",
        "counts": {},
        "findings": [],
        "guarantees": [],
        "cost": {"before": None, "now": None},
        "changes": None,
        "difference": None,
        "backtest": None,
        "impact": None,
    }
    said = plan_markdown(plan, "x.yaml")
    assert said == "### Gateline: x\n\n**Can be published.** x.yaml is the first version.\n"
