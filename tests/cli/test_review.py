"""Reviews on the command line: a person decides what was shown, and nothing else; a machine never does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.conftest import Gateline
from tests.factories import World
from tests.reviews.conftest import gated

Cli = Callable[..., Gateline]


def test_a_person_decides_what_was_shown_and_a_machine_never(cli: Cli, world: World) -> None:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task, {"result": "success", "summary": "Built it"})
    mine = cli(world.reviewer)
    assert f"{task.name}  Add login" in mine.ok("review")
    shown = mine.json("review", task.name)
    assert (shown["name"], shown["may"], shown["summary"]) == ("Release review", True, "Built it")
    assert shown["evidence"] == world.visit(task).evidence_digest

    machine = cli(world.reviewer, token=world.machine()[1])
    digest = ("--evidence", shown["evidence"], "--yes")
    refused = machine.run("review", task.name, "--approve", *digest)
    assert (refused.returncode, "machine token can never" in refused.stderr) == (4, True)
    assert mine.run("review", task.name, "--approve", "--yes").returncode == 2

    # It is sent back and built anew: what was noted before is no longer under review.
    world.vote(task, "send_back", reason="Once more, please")
    world.report(task, {"result": "success", "summary": "Built it better"})
    late = mine.run("review", task.name, "--approve", *digest)
    assert (late.returncode, "no longer what is under review" in late.stderr) == (6, True)
    assert world.visit(task).state == "open"
    again = mine.json("review", task.name)
    said = mine.ok("review", task.name, "--approve", "--evidence", again["evidence"], "--yes")
    assert said == f"Approve: recorded. {task.name} is queued.\n"
    assert mine.ok("review") == "Nothing needs you.\n"


@pytest.mark.wide
def test_what_an_approval_fills_in_is_given_or_asked_for(cli: Cli, world: World) -> None:
    fields = [
        {"key": "plan", "type": "yes_no", "label": "Plan read", "required": True},
        {"key": "ring", "type": "choice", "label": "Ring", "choices": ["canary", "all"], "required": True},
        {"key": "hours", "type": "number", "label": "Hours"},
    ]
    first, second = (world.start(world.line(**gated(fields=fields) | {"key": key})) for key in ("one", "two"))
    for task in (first, second):
        world.report(task, {"result": "success", "summary": "Built it"})
    mine = cli(world.reviewer)
    digest = ("--evidence", world.visit(first).evidence_digest, "--yes")
    refused = mine.run("review", first.name, "--approve", *digest, "--field", "plan=yes")
    assert (refused.returncode, "fields.ring" in refused.stderr) == (7, True)
    given = [word for each in ("plan=yes", "ring=canary", "hours=2") for word in ("--field", each)]
    assert mine.run("review", first.name, "--reject", "--reason", "No", *digest, *given).returncode == 2
    mine.ok("review", first.name, "--approve", *digest, *given)
    assert first.gate_visits.get().votes.get().fields == {"plan": True, "ring": "canary", "hours": 2}

    asked = mine.on_a_terminal("review", second.name, "--approve", "--field", "plan=yes")
    assert "--field ring=…  Ring: canary, all" in asked.until("Ring (canary, all):")
    asked.type("all\n")
    asked.until("Hours:")
    asked.type("\n")
    asked.until("[y/N]")
    asked.type("y\n")
    assert asked.code() == 0
    assert second.gate_visits.get().votes.get().fields == {"plan": True, "ring": "all"}


@pytest.mark.wide
def test_what_changes_while_somebody_is_asked_is_not_decided(cli: Cli, world: World) -> None:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task, {"result": "success", "summary": "Built it"})
    asked = cli(world.reviewer).on_a_terminal("review", task.name, "--reject", "--reason", "Not yet")
    assert "The task fails." in asked.until("[y/N]")
    world.vote(task, "send_back", reason="Once more, please")
    world.report(task, {"result": "success", "summary": "Built it better"})
    asked.type("y\n")
    said = asked.until("Look again")
    assert "You saw round 1; round 2 is open" in said
    assert asked.code() == 6
    assert world.visit(task).state == "open"
    asked = cli(world.reviewer).on_a_terminal("review", task.name, "--approve")
    asked.until("[y/N]")
    asked.type("y\n")
    assert asked.code() == 0
    assert world.at(task) == ["ship"]
