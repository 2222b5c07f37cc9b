"""`gateline migrate`: running tasks of a line on another of its versions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipelines.models import Migration
from tests.cli.conftest import Gateline
from tests.factories import World

Cli = Callable[..., Gateline]


def test_it_shows_the_impact_asks_migrates_and_undoes(cli: Cli, world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    new = str(world.line(stations=["make", "ship"]).number)
    mine = cli(world.designer)
    assert "--map build=…" in mine.ok("migrate", "line", "--to", new, "--dry-run")
    impact = mine.json("migrate", "line")
    assert (impact["to"], impact["needs_mapping"]) == ("draft", {"build": 1})
    unasked = mine.run("migrate", "line", "--to", new, "--map", "build=make", "--reason", "Better.")
    assert (unasked.returncode, "Add --yes." in unasked.stderr) == (2, True)
    words = ("migrate", "line", "--to", new, "--reason", "Better.", "--yes")
    unmapped = mine.run(*words)
    assert (unmapped.returncode, "mapping.build" in unmapped.stderr) == (7, True)
    assert not Migration.objects.exists() and world.at(task) == ["build"]
    assert "1 migrated" in mine.ok(*words, "--map", "build=make", "--task", task.name)
    assert world.at(task) == ["make"]
    made = str(Migration.objects.get().pk)
    assert "1 migrated" in mine.ok("migrate", "line", "--continue", made)
    assert "1 restored" in mine.ok("migrate", "line", "--undo", made, "--reason", "Back.")
    assert world.at(task) == ["build"]
    nobody = cli(world.viewer).run(*words, "--map", "build=make")
    assert nobody.returncode == 4


@pytest.mark.wide
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("line", "--to", "9"), 5, "has no such version"),
        (("line", "--to", "soon"), 7, "must be the number of a version"),
        (("line", "--to", "1", "--map", "build"), 2, "Write key=value"),
        (("line", "--to", "1", "--task", "42"), 7, "tasks[0]"),
        (("line", "--undo", "0b6f"), 7, "migration"),
    ],
)
def test_what_it_cannot_do_it_says(
    cli: Cli, world: World, words: tuple[str, ...], code: int, says: str
) -> None:
    world.line()
    done = cli(world.designer).run("migrate", *words)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
