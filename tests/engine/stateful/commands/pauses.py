"""Pauses of a task, a station, a line and the project, and resuming them (law §17): each with all that its tasks are
told by due times of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pipelines import engine
from pipelines.engine import PauseScope
from pipelines.models import Due, Pause, Task
from tests.engine.stateful.commands.timed import On
from tests.engine.stateful.commands.tools import Act, Command, answered
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Subject

TOLD = ("pause", "unpause")
"""Kinds of the due times by which the tasks of a scope follow it."""
SCOPES = ("task", "station", "line", "project")
Reach = Callable[[Subject, Subject], bool]


def scope_of(subject: Subject, which: str) -> PauseScope:
    task = Task.objects.select_related("project", "line").get(pk=subject.task["id"])
    match which:
        case "task":
            return PauseScope(task.project, task=task)
        case "station":
            return PauseScope(task.project, task.line, subject.token["station"])
        case "line":
            return PauseScope(task.project, task.line)
    return PauseScope(task.project)


def _in_force(scope: PauseScope) -> bool:
    return Pause.objects.filter(project=scope.project, scope=scope.scope_key, ended_at=None).exists()


def _is_past(subject: Subject, which: str) -> bool:
    """Whether its task has ended, and what is paused is others."""
    return subject.over and which != "task"


def _followed() -> str:
    """Every task of the scope is told, as a worker would do at once."""
    for due_id in Due.objects.filter(kind__in=TOLD).order_by("pk").values_list("pk", flat=True):
        assert engine.fire_due_time_and_return_result(due_id) == "fired"
    return "done"


def pause(which: str, *, stops: bool = False, times: int = 1) -> On:
    def on(scene: Scene, subject: Subject) -> Act | None:
        scope = scope_of(subject, which)
        if _in_force(scope) or _is_past(subject, which):
            return None

        def once() -> str:
            engine.pause(scope, user=scene.cast.requester, reason="Wait.", stops=stops)
            return _followed()

        return lambda: ", ".join(answered(once) for _ in range(times))

    return on


def resume(which: str) -> On:
    def on(scene: Scene, subject: Subject) -> Act | None:
        scope = scope_of(subject, which)
        if not _in_force(scope) or _is_past(subject, which):
            return None

        def act() -> str:
            engine.resume(scope, user=scene.world.admin)
            return _followed()

        return act

    return on


def resume_unpaused(scene: Scene, subject: Subject) -> Act | None:
    scope = scope_of(subject, "task")
    if _in_force(scope):
        return None

    def act() -> str:
        engine.resume(scope, user=scene.cast.requester)
        return "done"

    return act


def _reaches(which: str, target: Subject, other: Subject) -> bool:
    """Whether what is done to this position is done to another one, too."""
    match which:
        case "task":
            return bool(other.task["id"] == target.task["id"])
        case "project":
            return True
    return other.task["line_id"] == target.task["line_id"] and (
        which == "line" or other.token["station"] == target.token["station"]
    )


NAMES = {"task": "its task", "station": "its station", "line": "its line", "project": "its project"}
PAUSES = (
    *(
        Command(
            f"pause_{which}",
            f"a person pauses {NAMES[which]}; running work ends by itself",
            pause(which),
            alone=False,
            reach=partial(_reaches, which),
        )
        for which in SCOPES
    ),
    *(
        Command(
            f"resume_{which}",
            f"a person resumes {NAMES[which]}",
            resume(which),
            alone=False,
            reach=partial(_reaches, which),
        )
        for which in SCOPES
    ),
    Command(
        "pause_stopping",
        "a person pauses its task; running work is taken back",
        pause("task", stops=True),
        alone=False,
        reach=partial(_reaches, "task"),
    ),
    Command(
        "pause_twice",
        "two people pause its line",
        pause("line", times=2),
        alone=False,
        reach=partial(_reaches, "line"),
    ),
    Command(
        "resume_unpaused", "a person resumes its task, which is not paused", resume_unpaused, alone=False
    ),
)
