"""What is escalated, and deadlocks: what holds a task until somebody of the role resolves it."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from pipelines import engine
from pipelines.models import Due, Escalation, User
from pipelines.queries import versions
from pipelines.routing.decide.escalation_targets import escalation_targets
from tests.engine.stateful.commands.timed import On, fire
from tests.engine.stateful.commands.tools import Act, Command, answered, doing
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Subject

NOW = "Because."


def _raise(
    scene: Scene, subject: Subject, trigger: str = "architecture", reason: str = "Too big."
) -> Escalation:
    task_id, user = subject.task["id"], scene.cast.requester
    return engine.escalate(task_id, user=user, trigger=trigger, reason=reason)


def _go_on(scene: Scene, found: Escalation) -> str:
    def act() -> str:
        engine.resolve_escalation(found.pk, user=scene.world.admin, word="go_on", reason=NOW)
        return "done"

    return answered(act)


def escalate_and_resolve(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        raised = _raise(scene, subject)
        return f"{_go_on(scene, raised)}, {_go_on(scene, raised)}"

    return act


def _breach(scene: Scene, subject: Subject) -> Act | None:
    line = versions.parsed_line_by_version_id(subject.task["pinned_id"])
    if line.escalation_rule("help").sla is None:
        return None  # it may be answered at any time
    if scene.is_paused():
        return None  # its clock stands still

    def act() -> str:
        raised = _raise(scene, subject, "help")
        assert fire(scene, Due.objects.get(kind="escalation", key=str(raised.pk)).pk) == "fired"
        return "done"

    return act


def _escalation(subject: Subject) -> str:
    """The id of that which holds it."""
    wait = subject.token["wait"]
    return str(wait.get("escalation") or ("" if "deadlock" in wait else wait.get("paused_by", "")))


def _who(scene: Scene, who: str) -> User:
    people: dict[str, User] = {
        "admin": scene.world.admin,
        "unasked": scene.cast.requester,
        "stranger": scene.cast.outsider,
    }
    return people[who]


def resolve(word: str, who: str = "admin", reason: str = NOW, times: int = 1) -> On:
    def on(scene: Scene, subject: Subject) -> Act | None:
        found = _escalation(subject)
        route = _route(subject, word) if found else ""
        if not found or route is None:
            return None

        def once() -> str:
            engine.resolve_escalation(
                UUID(found), user=_who(scene, who), word=word, reason=reason, route=route
            )
            return "done"

        return lambda: ", ".join(answered(once) for _ in range(times))

    return on


def _route(subject: Subject, word: str) -> str | None:
    """None where there is no way."""
    token = subject.token
    if word == "choose":
        return next(iter(token["wait"].get("values", {})), "left-end")
    if word != "route":
        return ""
    return next(
        iter(
            escalation_targets(
                versions.parsed_line_by_version_id(subject.task["pinned_id"]), token["station"]
            )
        ),
        None,
    )


def deadlock(word: str, who: str = "admin", reason: str = NOW, times: int = 1) -> On:
    def on(scene: Scene, subject: Subject) -> Act | None:
        wait = subject.token["wait"]
        if "deadlock" not in wait:
            return None
        output = {"n": 1} if word == "output" else None

        def once() -> str:
            found, user = UUID(wait["paused_by"]), _who(scene, who)
            engine.resolve_deadlock(found, user=user, word=word, reason=reason, output=output)
            return "done"

        return lambda: ", ".join(answered(once) for _ in range(times))

    return on


HOLDING = (
    Command("escalate", "a person escalates its task", doing(_raise)),
    Command("escalate_mute", "the same, without a reason", doing(partial(_raise, reason=" "))),
    Command(
        "resolve", "who is of its role resolves what holds it: run again", resolve("retry"), lets_go=True
    ),
    Command("resolve_go_on", "the same: let it go on", resolve("go_on"), lets_go=True),
    Command("resolve_choose", "the same: what one branch wrote counts", resolve("choose"), lets_go=True),
    Command("resolve_route", "the same: send it to a station", resolve("route"), lets_go=True),
    Command("resolve_cancel", "the same: cancel the task", resolve("cancel"), lets_go=True),
    Command("resolve_mute", "the same, without a reason", resolve("retry", reason=" ")),
    Command("resolve_unasked", "a member who is not of its role resolves it", resolve("retry", "unasked")),
    Command("resolve_stranger", "a member of another project resolves it", resolve("retry", "stranger")),
    Command(
        "deadlock_output",
        "who is of its role resolves the deadlock: an output",
        deadlock("output"),
        lets_go=True,
    ),
    Command("deadlock_context", "the same: more context", deadlock("context"), lets_go=True),
    Command("deadlock_escalate", "the same: escalate it", deadlock("escalate"), lets_go=True),
    Command("deadlock_cancel", "the same: cancel the task", deadlock("cancel"), lets_go=True),
    Command("deadlock_mute", "the same, without a reason", deadlock("context", reason=" ")),
    Command(
        "deadlock_unasked", "a member who is not of its role resolves it", deadlock("context", "unasked")
    ),
    Command("deadlock_stranger", "a member of another project resolves it", deadlock("context", "stranger")),
    Command(
        "escalate_and_resolve",
        "a person escalates its task, and two resolve that",
        escalate_and_resolve,
        whole=True,
        alone=False,
    ),
    Command("breach", "nobody answers in time what blocks its task then", _breach, whole=True, alone=False),
    Command(
        "resolve_twice",
        "two people resolve what holds it: run again",
        resolve("retry", times=2),
        alone=False,
        lets_go=True,
    ),
    Command(
        "deadlock_twice",
        "two people resolve the deadlock: more context",
        deadlock("context", times=2),
        alone=False,
        lets_go=True,
    ),
)
