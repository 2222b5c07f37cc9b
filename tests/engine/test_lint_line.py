"""`manage.py lint_line`: the findings of routing, said by Django's command."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

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
