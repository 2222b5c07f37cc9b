"""`manage.py backtest`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from pipelines.formats import native
from pipelines.models import Task
from tests.backtest.test_run import line
from tests.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(world: World) -> Task:
    task = world.start(world.line(line()))
    world.report(task)
    return task


def ran(task: Task, *words: str, name: str = "") -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    path = name or f"{task.project.owner.key}/{task.project.key}/{task.line.key}"
    call_command("backtest", path, *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_tries_the_draft_and_shows_its_progress_elsewhere(task: Task) -> None:
    out, err = ran(task)
    assert "Tried on the draft: 1 decisions of 1 tasks." in out
    assert "1 of 1 decisions" in err


def test_it_tries_a_version_by_its_number(task: Task) -> None:
    assert "Tried on version 1" in ran(task, "--version", "1")[0]
    assert "Tried on version 1" in ran(task, "--version", "live")[0]


def test_it_tries_a_file_and_names_a_task_to_look_at(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(native.dumps(line("other")))
    out, _ = ran(task, "--file", str(file), "--each-task")
    assert f"{task.name}  different  first at build" in out
    assert "different, 1 at build: check by on → other by on" in out
    assert f"for example {task.name}" in out


@pytest.mark.wide
def test_as_json_the_result_is_the_last_line(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(native.dumps(line("other")))
    said: list[dict[str, Any]] = [
        json.loads(each) for each in ran(task, "--file", str(file), "--json", "--each-task")[0].splitlines()
    ]
    assert [each["type"] for each in said] == ["task", "result"]
    assert said[-1]["decisions"]["different"] == 1


def test_an_empty_selection_says_so(task: Task) -> None:
    assert "No recorded decisions" in ran(task, "--since", "2999-01-01")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--version", "9"], "has no version 9"),
        (["--file", "/nowhere/at/all"], "No such file"),
        (["--since", "soon"], "since"),
        (["--tasks", "some"], "tasks"),
    ],
)
def test_what_it_cannot_do_it_says_with_exit_code_2(task: Task, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        ran(task, *words)
    assert refused.value.returncode == 2


def test_a_line_that_is_not_there_is_named(task: Task) -> None:
    for name in ("acme/app", "acme/nowhere/line"):
        with pytest.raises(CommandError, match=name):
            ran(task, name=name)


def test_a_draft_that_is_no_line_is_refused_with_its_problems(task: Task) -> None:
    task.line.draft = {**line(), "stations": []}
    task.line.save()
    with pytest.raises(CommandError, match="stations"):
        ran(task)
