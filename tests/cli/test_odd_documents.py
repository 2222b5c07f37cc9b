"""What a document says passes the command line unchanged, however odd its numbers, keys and texts are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateline.main import app
from gateline.output import OutputState
from pipelines.formats import native
from pipelines.models import Line, Task
from pipelines.routing.basics.canonical import canonical_json
from pipelines.routing.document.line import read_line
from pipelines.routing.document.networks import document_to_publish
from tests.cli.conftest import Gateline
from tests.factories import World
from tests.odd import Drawing, sound, written

Cli = Callable[..., Gateline]


class OneProcess(Gateline):
    """The same commands in this process: a start takes longer than what it does."""

    def ok(self, *words: str, **more: Any) -> str:
        OutputState.json = False
        done = CliRunner().invoke(app, words, env=self.environment, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    def json(self, *words: str, **more: Any) -> Any:
        return json.loads(self.ok(*words, "--json"))


def passed(mine: Gateline, world: World, folder: Path, seeds: Iterable[int]) -> list[str]:
    """Import a folder of documents by one command, take each line through the others, return what became of them."""
    texts = {}
    for seed in seeds:
        drawing = Drawing(f"odd {seed}", f"odd-{seed}")
        text = written(drawing, sound(drawing))
        file = folder / f"odd-{seed}.{'json' if text.startswith('{') else 'yaml'}"
        file.write_text(text, "utf-8")
        texts[file] = text
    rows = {row["saved"]["key"]: row for row in mine.json("import", str(folder), "--yes")}
    assert rows.keys() == {file.stem for file in texts}
    return [
        f"{file.stem}: {door}"
        for file, text in texts.items()
        for door in changed_by(mine, world, file, text, rows[file.stem]["document"])
    ]


def changed_by(mine: Gateline, world: World, file: Path, text: str, imported: Any) -> Iterable[str]:
    """Yield the commands that gave something else than what the file says."""
    key, document = file.stem, native.loads(text)
    line = Line.objects.get(project=world.project, key=key)
    said = canonical_json(document)
    if not said == canonical_json(imported) == canonical_json(line.draft):
        yield "import"
    if line.draft_text != text:
        yield "import, text"
    if mine.ok("export", key, "--to", "gateline") != text:
        yield "export of the draft"
    of_file, of_line = mine.json("lint", str(file)), mine.json("lint", key, "--draft")
    if canonical_json(of_file["findings"]) != canonical_json(of_line["findings"]):
        yield "lint"
    mine.ok("publish", key, "--yes")
    whole = canonical_json(document_to_publish(read_line(document).to_document()))
    if canonical_json(line.versions.get().document) != whole:
        yield "publish"
    out = file.with_suffix(".out")
    mine.ok("export", key, "--to", "gateline", "-o", str(out))
    if canonical_json(native.loads(out.read_text("utf-8"))) != whole:
        yield "export of the version"
    (usual,) = [each["default"] for each in document["inputs"] if each["key"] == "who"]
    name = mine.ok("submit", key, f"who={usual}").strip()
    if Task.objects.get(project=world.project, number=int(name.rpartition("-")[2])).inputs["who"] != usual:
        yield "submit"
    again = file.with_suffix(".again.yaml")
    again.write_text(f"# again\n{native.dumps({**document, 'name': 'Again'})}", "utf-8")
    mine.ok("publish", str(again), "--yes", "--project", f"{line.project.owner.key}/{line.project.key}")
    line.refresh_from_db()
    if canonical_json(line.draft) != canonical_json({**document, "name": "Again"}):
        yield "publish of a file"
    if line.draft_text != again.read_text("utf-8"):
        yield "publish of a file, text"
    version = line.versions.get(number=2)
    drawn = mine.json("lines", key)["document"]
    parts = ("inputs", "gates", "ends")
    if any(canonical_json(drawn.get(each)) != canonical_json(version.document.get(each)) for each in parts):
        yield "lines"


@pytest.mark.wide
def test_odd_documents_pass_the_command_line_unchanged(cli: Cli, world: World, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    assert not passed(cli(world.admin), world, folder, (251,))


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 2_000, 50))
def test_two_thousand_odd_documents_pass_the_command_line_unchanged(
    cli: Cli, world: World, tmp_path: Path, first: int
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    mine = cli(world.admin)
    faults = passed(OneProcess(mine.config, mine.environment), world, folder, range(first, first + 50))
    assert not faults, "\n".join(faults)
