"""What stations change in git repositories of their workspace, with real repositories (C31, E15)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.work.results import git_changes, repositories
from pipelines.work.spec.handler_io import Attempt, Spec
from tests.factories import World
from tests.work.driving import Bench, command, drive, outcome_of

Make = Callable[..., Spec]
PRELUDE = f"import sys; sys.path[:0] = {sys.path!r}\n"
# What a station does, with the git that is there on every machine.
GIT = (
    PRELUDE
    + """
import os
from dulwich import porcelain
WHO = b"Agent <agent@example.com>"
def commit(folder, name, text, message):
    with open(f"{folder}/{name}", "w") as file: file.write(text)
    porcelain.add(folder, [os.path.abspath(f"{folder}/{name}")])
    porcelain.commit(folder, message=message, author=WHO, committer=WHO)
"""
)
START = GIT + "porcelain.init('repo'); commit('repo', 'a', '1', b'Begin'); commit('repo', 'b', '1', b'Go on')"
TRAILERS = "Change a\\n\\nBecause.\\n\\nAI-Usage: yes\\nAgent-IDs: developer-agent\\nAI-Prompt-Ref: p/1"
CHANGE = (
    GIT
    + f"""
commit('repo', 'a', '2', b'{TRAILERS}')
commit('repo', 'new', '1', b'Add\\n\\nAI-Usage: some\\nAgent-IDs: developer-agent')
os.unlink('repo/b'); open('repo/loose', 'w').write('x')
"""
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Subject", {}),
        ("AI-Usage: yes", {}),
        ("Subject\n\nAI-Usage: yes\nAgent-IDs: a, b", {"AI-Usage": ["yes"], "Agent-IDs": ["a, b"]}),
        ("Subject\n\nText: not\nof trailers alone", {}),
        ("Subject\n\nbody\n\nReviewed-by: A\nReviewed-by: B\n", {"Reviewed-by": ["A", "B"]}),
        ("Subject\r\n\r\nAI-Usage: a\r\n long one\r\n", {"AI-Usage": ["a long one"]}),
        ("Subject\n\nAI-Usage:", {}),
        ("", {}),
    ],
)
def test_trailers_are_the_last_paragraph(message: str, found: dict[str, list[str]]) -> None:
    assert git_changes.message_trailers(message) == found


def test_C31_files_and_commits_of_a_station_are_found(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=[command("a", START), command("b", CHANGE), command("c", "pass")]))
    drive(bench, task)
    git = outcome_of(task, "b")["git"]
    assert git["files"] == [
        {"path": "repo/a", "change": "modified", "committed": True},
        {"path": "repo/b", "change": "deleted", "committed": False},
        {"path": "repo/loose", "change": "added", "committed": False},
        {"path": "repo/new", "change": "added", "committed": True},
    ]
    assert (git["file_count"], git["commit_count"]) == (4, 2)
    assert [commit["subject"] for commit in git["commits"]] == ["Add", "Change a"]
    assert {commit["repository"] for commit in git["commits"]} == {"repo"}
    assert git["commits"][0]["author"] == "Agent <agent@example.com>"
    assert git["trailers"]["AI-Usage"] == ["yes", "some"]
    # E15: what only one of the commits says is not said of the change
    assert git["ai_metadata"] == {"AI-Usage": "some", "Agent-IDs": "developer-agent"}
    assert outcome_of(task, "a")["git"]["commit_count"] == 2, "a repository that was not there before"


def test_C31_a_clean_repository_changed_nothing(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=[command("a", START), command("b", "pass")]))
    drive(bench, task)
    assert "git" not in outcome_of(task, "b")


def test_E15_a_check_reads_the_trailers_of_the_commits(world: World, bench: Bench) -> None:
    checks = {"all": [{"field": "git.ai_metadata.AI-Prompt-Ref", "operator": "exists", "action": "abort"}]}
    gate = {"key": "traced", "mode": "auto", "checks": checks}
    stations = [command("a", START), command("b", CHANGE, gate="traced"), "c"]
    task = world.start(world.line(stations=stations, gates=[gate]))
    drive(bench, task)
    assert (world.status(task), task.jobs.count()) == ("failed", 2)


@pytest.mark.wide
def test_C31_a_condition_reads_them_where_the_station_wants_the_key(world: World, bench: Bench) -> None:
    many = {"output": {"path": "$.git.files[?@.change == 'deleted']", "op": "gt", "value": 0, "of": "count"}}
    rules = [{"id": "deleted", "when": many, "to": "d"}, {"id": "else", "when": {"always": True}, "to": "c"}]
    changes = command("b", CHANGE + "\nprint('{\"high\": 1}')", *rules, output_keys=["high", "git"])
    task = world.start(world.line(stations=[command("a", START), changes, "c", "d"]))
    drive(bench, task)
    assert [job.station for job in task.jobs.order_by("pk")] == ["a", "b", "d"]
    assert outcome_of(task, "b")["output"]["high"] == 1
    task.refresh_from_db()
    assert task.context["git"]["commit_count"] == 2


WRITES = """
import os, pathlib
os.makedirs("repo/tests", exist_ok=True)
pathlib.Path("repo/tests/test_x.py").write_text("x")
"""


def test_C31_what_follows_from_a_change_is_output_under_its_key(world: World, bench: Bench) -> None:
    tests = {"output": {"path": "tests_written", "op": "equals", "value": True}}
    rules = [{"id": "written", "when": tests, "to": "d"}, {"id": "else", "to": "c"}]
    writes = command("b", CHANGE + WRITES, *rules, output_keys=["tests_written", "files_changed"])
    task = world.start(world.line(stations=[command("a", START), writes, "c", "d"]))
    drive(bench, task)
    assert [job.station for job in task.jobs.order_by("pk")] == ["a", "b", "d"]
    assert "repo/tests/test_x.py" in outcome_of(task, "b")["output"]["files_changed"]


# Where a repository stands is read without following anything


def make(workspace: Path, head: str = "ref: refs/heads/main\n") -> Path:
    git = workspace / "repo" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text(head)
    return git


SHA = "a" * 40


def test_where_a_repository_stands(attempt: Attempt) -> None:
    git = make(attempt.workspace)
    assert repositories.repository_heads(attempt.workspace) == {"repo": ""}, "no commit yet"
    (git / "packed-refs").write_text(f"# pack-refs\n{'b' * 40} refs/heads/other\n{SHA} refs/heads/main\n")
    assert repositories.repository_heads(attempt.workspace) == {"repo": SHA}
    (git / "refs" / "heads" / "main").write_text("c" * 40 + "\n")
    assert repositories.repository_heads(attempt.workspace) == {"repo": "c" * 40}
    (git / "HEAD").write_text(SHA)
    assert repositories.repository_heads(attempt.workspace) == {"repo": SHA}, "a detached one"


@pytest.mark.parametrize("head", ["ref: ../../../secret", "ref: refs/heads/../../../secret", "nonsense", ""])
def test_a_head_that_leads_elsewhere_is_none(attempt: Attempt, head: str) -> None:
    make(attempt.workspace, head)
    (attempt.workspace / "secret").write_text(SHA)
    assert repositories.repository_heads(attempt.workspace) == {"repo": ""}


def test_links_are_not_followed(attempt: Attempt, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    make(outside)
    (attempt.workspace / "link").symlink_to(outside / "repo")
    (attempt.workspace / "other").mkdir()
    (attempt.workspace / "other" / ".git").symlink_to(outside / "repo" / ".git")
    assert repositories.repository_heads(attempt.workspace) == {}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda git: (git / "HEAD").unlink(),
        lambda git: (git / "config").write_text("[broken"),
        lambda git: (git / "refs" / "heads" / "main").write_text(SHA),
    ],
)
async def test_a_broken_repository_takes_nothing_from_the_outcome(
    spec: Make, attempt: Attempt, spoil: Callable[[Path], Any]
) -> None:
    spoil(make(attempt.workspace))
    assert await repositories.station_changes(spec("pass"), {}) == {}


def test_what_is_told_is_json_that_can_be_stored() -> None:
    assert json.loads(json.dumps(git_changes.storable_text(b"\xff\x00x"))) == "\ufffd\\x00x"
