"""What is done to all at once: clocks, renewals, the sweep; and to a line."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.models import Line
from pipelines.ports import leases
from pipelines.work.scheduler import timers
from tests.engine.stateful.commands.tools import Act, Command
from tests.engine.stateful.scene import LEASE, Scene
from tests.engine.stateful.sight import Subject


def _all(do: Callable[[Scene], object]) -> Callable[[Scene, Subject], Act]:
    def on(scene: Scene, subject: Subject) -> Act:
        def act() -> str:
            do(scene)
            return "done"

        return act

    return on


def _sweep(scene: Scene) -> None:
    assert timers.expire_due_leases()["failed"] == 0


def _renew(scene: Scene) -> None:
    leases.renew_leases_by_job(scene.world.worker.pk, LEASE)


def publish(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        scene.publish(Line.objects.values_list("key", flat=True).get(pk=subject.task["line_id"]))
        return "done"

    return act


WORLD = (
    Command("renew", "the worker renews its leases", _all(_renew), wide=True, alone=False),
    Command("sweep", "leases that have run out are swept", _all(_sweep), wide=True, alone=False),
    Command("jump", "the clock jumps forward by an hour or more", _all(Scene.jump), wide=True, alone=False),
    Command(
        "jump_back",
        "the clock jumps back behind where it ever was",
        _all(Scene.jump_back),
        wide=True,
        alone=False,
    ),
    Command("publish", "another version of its line is published", publish, alone=False),
)
