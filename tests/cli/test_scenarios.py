"""`gateline test`: the scenarios of a line, for a person and for a pipeline."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipelines.models import Line
from tests.api.test_scenarios import BAD, GOOD, LINE, put
from tests.cli.conftest import Gateline
from tests.factories import World

Cli = Callable[..., Gateline]


@pytest.fixture
def line(world: World) -> Line:
    return world.line(LINE).line


def test_all_hold_and_what_fails_is_told(cli: Cli, world: World, line: Line) -> None:
    mine = cli(world.viewer)
    none = mine.run("test", line.key)
    assert (none.returncode, "There are no scenarios." in none.stderr) == (7, True)
    put(world, line, GOOD)
    assert "1 of 1 scenario passed." in mine.ok("test", line.key)
    assert line.scenarios.get().runs["live"]["holds"] is True
    few = mine.run("test", line.key, "--min-coverage", "60")
    assert (few.returncode, "50.0% of the rules are taken, fewer than 60%" in few.stderr) == (1, True)
    assert mine.json("test", line.key, "--version", "1")["line"] == "line v1"
    report = mine.json("test", line.key, "--draft")
    assert report["line"] == "line draft 1" and any(
        step["decision"] for step in report["scenarios"][0]["steps"]
    )
    put(world, line, BAD)
    failed = mine.run("test", line.key)
    assert failed.returncode == 1
    assert "step 1: station 2: expected build, got ship" in failed.stdout
    assert mine.run("test", line.key, "--version", "9").returncode == 5
