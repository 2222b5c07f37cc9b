"""Times that come, without anybody's doing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from pipelines import engine
from tests.engine.stateful.commands.tools import Act, Command
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Subject

On = Callable[[Scene, Subject], Act | None]


def fire(scene: Scene, due_id: int) -> str:
    """While every time has come that anybody set."""
    with scene.later(timedelta(hours=3)):
        return engine.fire_due_time_and_return_result(due_id)


def due_of(subject: Subject, kind: str, key: str) -> int | None:
    return next(
        (
            due["id"]
            for due in subject.dues
            if (due["kind"], due["key"]) == (kind, key)
            and due["task_id"] == subject.task["id"]
            # Under a pause its clock stands still
            and due["paused_at"] is None
        ),
        None,
    )


def late(scene: Scene, subject: Subject) -> Act | None:
    due = due_of(subject, "deadlock", str(subject.id))
    if due is None or subject.token["wait"].get("deadlock") == "timeout":
        return None
    return partial(fire, scene, due)


def gate_due(then: str) -> On:
    def on(scene: Scene, subject: Subject) -> Act | None:
        for visit in subject.open_visits:
            due, gate = (
                due_of(subject, "gate", str(visit["id"])),
                subject.line_of(visit).gate(visit["gate"]),
            )
            if due is not None and gate.due is not None and gate.due.then == then:
                return partial(fire, scene, due)
        return None

    return on


def missing(subject: Subject) -> list[str]:
    found: list[str] = subject.token["wait"].get("missing", []) if subject.token["status"] == "held" else []
    return found


def facts(scene: Scene, subject: Subject) -> Act | None:
    due, names = due_of(subject, "facts", str(subject.id)), missing(subject)
    return partial(fire, scene, due) if due is not None and names and "handoff" not in names else None


def fire_gone(scene: Scene, subject: Subject) -> Act:
    return lambda: engine.fire_due_time_and_return_result(2**40)


TIMED = (
    Command("late", "its work takes more than twice what is expected", late, alone=False),
    Command("gate_reminds", "nobody decides in time, and the gate reminds", gate_due("remind"), alone=False),
    Command(
        "gate_escalates", "nobody decides in time, and the gate escalates", gate_due("escalate"), alone=False
    ),
    Command("gate_rejects", "nobody decides in time, and the gate rejects", gate_due("reject"), alone=False),
    Command("facts", "the time comes to look again for what was missing", facts, alone=False),
    Command("fire_gone", "a time comes that came already", fire_gone),
)
