"""`gateline events`: what happened, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pipelines.engine.commands.event_export import export_task
from tests.cli.conftest import Gateline
from tests.factories import World

Cli = Callable[..., Gateline]


def test_they_are_had_of_a_task_a_line_and_a_project(cli: Cli, world: World, tmp_path: Path) -> None:
    task = world.start(world.line(), title="Pay \u202eevil\x1b[31m")
    world.report(task)
    rows = [json.loads(json.dumps(row)) for row in export_task(task)]
    mine = cli(world.viewer)
    for words in ((task.name,), ("--line", "line"), ()):
        text = mine.ok("events", *words)
        assert [json.loads(row) for row in text.splitlines()] == rows
        assert not {"\u202e", "\x1b"} & set(text)
    file = tmp_path / "events.jsonl"
    assert mine.ok("events", "--transitions", "--output", str(file)) == ""
    assert 0 < len(file.read_text().splitlines()) < len(rows)
    assert mine.ok("events", "--since", "2999-01-01T00:00:00Z") == ""


def test_what_is_not_there_is_said(cli: Cli, world: World) -> None:
    mine = cli(world.viewer)
    for words, code in (
        (("WI-none-1",), 5),
        (("--line", "nothing"), 5),
        (("--project", "no/where"), 5),
        (("--since", "soon"), 7),
        (("--output", "/nowhere/events"), 2),
    ):
        done = mine.run("events", *words)
        assert done.returncode == code and done.stderr, words
