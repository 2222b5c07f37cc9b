"""A change that no gate asked about landed and is reverted: from the next task on that gate asks, and the
agent that worked on it falls back by one level (law §15)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Agent, AgentEvent, LineEvent, Task
from tests.factories import World, station
from tests.work.driving import Bench, command
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import GATE, origin, run, to

__all__ = ["origin"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TOGGLE = (
    "old = open('app.py').read(); open('app.py', 'w').write('y = 1\\n' if old != 'y = 1\\n' else 'y = 2\\n')"
)


def line(world: World) -> Any:
    """A look at one change in a million, and a review of what is merged."""
    return world.line(
        stations=[
            command("fix", TOGGLE, to("check", gates=["look"]), name="Fix", agent="coder"),
            command("check", "pass", to("merge", gates=["review"])),
            station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
        ],
        gates=[{"key": "look", "sample": {"one_in": 1_000_000}}, GATE],
        workspace={"git": {"repository": "app"}},
    )


def merged(world: World, bench: Bench, version: Any, number: int) -> Task:
    task = world.start(version, title=f"Change {number}")
    run(bench, task)
    assert world.visit(task).gate == "review", "a look that was not drawn passes"
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed"
    return task


def test_the_next_task_after_a_revert_is_asked_about(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    version = line(world)
    coder = Agent.objects.create(
        project=world.project, key="coder", owner=world.admin, trust={"fix": 1}, created_at=timezone.now()
    )
    # The files are those after the first one again, once the third has landed: it took back the second.
    _first, second, _third = (merged(world, bench, version, number) for number in range(3))
    event = LineEvent.objects.get(kind="asks_all")
    assert event.data == {"gate": "look", "name": "look", "cause": "reverted", "task": second.name}
    task = world.start(version, title="Change 3")
    run(bench, task)
    assert world.visit(task).gate == "look"
    coder.refresh_from_db()
    assert coder.trust == {"fix": 0}
    [lowered] = AgentEvent.objects.filter(agent=coder)
    assert lowered.data["reason"] == f"Level 1 to 0 at fix: the change of {second.name} was reverted."
