"""Quotas of a project and limits of its lines on the command line."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from pipelines.lines import line_operations
from pipelines.people import projects
from tests.cli.conftest import Gateline
from tests.factories import World, station

Cli = Callable[..., Gateline]


def test_what_is_used_is_shown_with_the_limits_of_lines(cli: Cli, world: World) -> None:
    version = world.line(key="build", stations=[station("work", kind="manual")])
    projects.change_quotas(world.project, {"day_tasks": 1, "day_cost_usd": Decimal(5)}, by=world.admin)
    line_operations.set_limit_of_open_tasks(version.line, 2, key="inputs.branch", by=world.designer)
    mine = cli(world.viewer)
    world.start(version)
    said = mine.ok("quotas")
    assert "Tasks a day" in said and "used up" in said and "$5.00" in said and "none" in said
    name = version.line.name
    assert f"{name}: at most 2 tasks with the same inputs.branch open at once; one more waits." in said
    [line] = mine.json("quotas")["lines"]
    assert line == {"line": "build", "tasks": 2, "key": "inputs.branch", "over": "queue"}
    refused = cli(world.operator).run("submit", "build", "--title", "Another")
    assert refused.returncode and "1 of 1 tasks started today" in refused.stderr
