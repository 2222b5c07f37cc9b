"""`manage.py lint_line`: the findings of routing, said by Django's command."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.factories import World
from tests.routing.lint.test_run import BAD


def test_the_command_says_the_same_as_json(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(BAD)
    out = StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("lint_line", str(path), "--json", stdout=out)
    assert refused.value.returncode == 1
    told = json.loads(out.getvalue())
    assert [(f["check"], f["line"], f["rules"]) for f in told["findings"] if f["severity"] == "error"] == [
        ("dead-rule", 6, ["x"])
    ]
    assert told["visits"] == {"a": 1}


def test_the_command_refuses_what_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text("- no line")
    with pytest.raises(CommandError) as refused:
        call_command("lint_line", str(path))
    assert refused.value.returncode == 2
    with pytest.raises(CommandError):
        call_command("lint_line", str(tmp_path / "none"))


def test_with_a_project_the_gates_are_judged_by_its_people(world: World, tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(
        "key: x\nstations:\n  - key: a\n    work: {kind: noop}\n    rules: [{id: r, to: completed, gates: [g]}]\n"
        "gates:\n  - {key: g, approval: {who: [{group: security}]}}\n"
    )
    call_command("lint_line", str(path), stdout=StringIO())
    name, out = f"{world.project.owner.key}/{world.project.key}", StringIO()
    call_command("lint_line", str(path), "--project", name, stdout=out)
    assert "it needs 1 in the group security, and the project has nobody" in out.getvalue()
    world.group("security", world.reviewer, world.admin)
    call_command("lint_line", str(path), "--project", name, stdout=(after := StringIO()))
    assert after.getvalue() == "Nothing found.\n"
    with pytest.raises(CommandError, match="There is no project"):
        call_command("lint_line", str(path), "--project", "no/where")


def test_what_is_no_line_is_told_as_json_too_and_a_device_does_not_hang(tmp_path: Path) -> None:
    path, out = tmp_path / "line.yaml", StringIO()
    path.write_text("key: x\nstationz: []\n")
    with pytest.raises(CommandError) as refused:
        call_command("lint_line", str(path), "--json", stdout=out)
    assert refused.value.returncode == 2
    told = json.loads(out.getvalue())
    assert (told["readable"], told["findings"][0]["line"]) == (False, 1)
    for bad in ("/dev/zero", str(tmp_path)):
        with pytest.raises(CommandError) as refused:
            call_command("lint_line", bad)
        assert refused.value.returncode == 2
