"""Documents of other systems on the command line: a table of what each becomes, and lines of those that are wanted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gateline.commands.import_ import find_documents
from pipelines.lines.publishing import create_line
from tests.cli.conftest import Gateline
from tests.factories import World

Cli = Callable[..., Gateline]
CHAIN = """{ // a chain
  "id": "chain", "tasks": [{"id": "ask", "handler": "noop", "transition": {"branches": []}}]}"""
BOOK = "name: book\nstages:\n  - {id: run, skill: work, onPass: nowhere}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    stations = made / "line" / ".agentics" / "stations" / "01-first"
    stations.mkdir(parents=True)
    (stations / "station.json").write_text('{"trigger": {"type": "dispatch_worker"}}')
    (stations / "prompt.md").write_text("For {{project.name}}")
    (stations.parent.parent / "init.json").write_text('{"schedule": {"weekday": "monday"}}')
    (stations.parent.parent / "assembly-line.json").write_text('{"id": "a-line", "name": "A line"}')
    (made / "chain.json").write_text(CHAIN)
    (made / "book.yaml").write_text(BOOK)
    (made / "readme.md").write_text("no document")
    return made


def test_a_folder_is_a_table_and_what_can_be_read_is_kept(cli: Cli, world: World, folder: Path) -> None:
    mine = cli(world.designer)
    shown = mine.run("import", str(folder), "--dry-run")
    assert shown.returncode == 1, "one cannot be read"
    assert "a-line" in shown.stdout and "contenox" in shown.stdout
    assert re.search(r"book.yaml:3:\d+ stages\[0\].onPass: error there is no stage", shown.stdout)
    of_a_line = "line/.agentics"
    assert re.search(rf"^{of_a_line} +ALP \(Agentics\) +a-line", shown.stdout, re.MULTILINE), "nothing is cut"
    assert f"{of_a_line}/init.json:1:2 schedule: loss no task" in shown.stdout
    assert f"{of_a_line}/stations/01-first/prompt.md: loss Gateline does not fill in" in shown.stdout
    assert not world.project.lines.exists()
    kept = mine.run("import", str(folder), "--yes", "--json")
    rows = {row["file"]: row for row in json.loads(kept.stdout)}
    assert rows["chain.json"]["saved"]["key"] == "chain"
    assert set(world.project.lines.values_list("key", flat=True)) == {"chain", "a-line"}
    unasked = mine.run("import", str(folder / "chain.json"))
    assert (unasked.returncode, "Add --yes" in unasked.stderr) == (2, True)
    assert "as chain-2" in mine.ok("import", str(folder / "chain.json"), "--yes")
    written = mine.run("export", "chain", "--version", "draft")
    assert json.loads(written.stdout)["tasks"][0]["id"] == "ask" and written.stderr == ""
    lost = mine.run("export", "chain", "--to", "alp", "-o", str(folder / "out.json"))
    assert "loss" in lost.stderr and json.loads((folder / "out.json").read_text())["id"] == "chain"


def test_only_files_of_a_folder_are_read(tmp_path: Path) -> None:
    """A link leads anywhere, and a pipe never ends."""
    (tmp_path / "line.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.json")
    assert find_documents(tmp_path) == [("line.json", {"line.json": "{}"})]


def test_a_document_does_not_steer_the_terminal_that_shows_it(cli: Cli, world: World) -> None:
    text = '{"key": "steers", "description": "\x9b31mred", "stations": [{"key": "a"}]}'
    create_line(world.project, "steers", "Steers", text, world.designer)
    mine = cli(world.designer)
    assert mine.ok("export", "steers", "--to", "gateline") == text
    terminal = mine.on_a_terminal("export", "steers", "--to", "gateline")
    assert terminal.code() == 0
    assert "\\u009b31mred" in terminal.shown and "\x9b" not in terminal.shown
