"""What a task may wait for besides: other tasks, what is missing, agents, the answer of a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.utils import timezone

from pipelines import engine
from pipelines.models import Agent, Due, Task
from pipelines.queries import versions
from pipelines.routing.document.evaluations import ANSWERS
from tests.engine.stateful.commands.hands import by_version
from tests.engine.stateful.commands.timed import On, fire, missing
from tests.engine.stateful.commands.tools import Act, Command, doing
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Row, Subject
from tests.routing.test_preconditions import HANDOFF

TICKET = {"Ticket": "T-1"}

# Other tasks


def depend(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        other = scene.companion()
        _depends(scene, subject, other.name)
        return "done"

    return act


def _depend_itself(scene: Scene, subject: Subject) -> None:
    _depends(scene, subject, f"WI-{scene.world.project.key}-{subject.task['number']}")


def _depend_unknown(scene: Scene, subject: Subject) -> None:
    _depends(scene, subject, "WI-app-0")


def _depends(scene: Scene, subject: Subject, name: str) -> None:
    engine.wait_for_tasks(subject.task["id"], [name], actor=engine.Actor.person(scene.cast.requester))


def depend_in_a_circle(scene: Scene, subject: Subject) -> Act | None:
    """An agent that is party to a deadlock would get no work in other tasks either."""
    if _has_agent(subject):
        return None

    def act() -> str:
        me = Task.objects.select_related("project").get(pk=subject.task["id"])
        other = scene.companion(depends_on=[me.name])
        _depends(scene, subject, other.name)
        return "done"

    return act


def _has_agent(subject: Subject) -> bool:
    line = versions.parsed_line_by_version_id(subject.task["pinned_id"])
    places = [token["station"] for token in subject.sight.rows["tokens"]]
    known = (line.stations_by_key.get(place) for place in places)
    return any(station.agent for station in known if station)


def dependency(do: Callable[[Scene, Task], None]) -> On:
    """What becomes of the one task that it waits for, and its time."""

    def on(scene: Scene, subject: Subject) -> Act | None:
        rows = [row for row in subject.sight.rows["depends"] if row["task_id"] == subject.task["id"]]
        names = subject.token["wait"].get("depends_on", ())
        if len(rows) != 1 or len(names) != 1 or rows[0]["on_id"] not in scene.companions:
            return None
        other = Task.objects.get(pk=rows[0]["on_id"])
        if other.status != "queued":
            return None

        def act() -> str:
            do(scene, other)
            due = Due.objects.get(task=subject.task["id"], kind="dependency", key=str(other.pk))
            return fire(scene, due.pk)

        return act

    return on


def _complete(scene: Scene, other: Task) -> None:
    assert scene.world.report(other).status == "accepted"


def _cancel(scene: Scene, other: Task) -> None:
    engine.cancel(other.pk, actor=engine.ENGINE)


def follow_up(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        scene.companion(follows=Task.objects.get(pk=subject.task["id"]))
        return "done"

    return act


def retry_ended(scene: Scene, subject: Subject) -> Act | None:
    if Task.objects.filter(follows=subject.task["id"], retry_of__isnull=False, ended_at=None).exists():
        return None  # one retry of a station at a time

    def act() -> str:
        own = (job for job in subject.sight.rows["jobs"] if job["task_id"] == subject.task["id"])
        station = next(own)["station"]
        actor = engine.Actor.person(scene.cast.requester)
        made = engine.start_retry_task(subject.task["id"], station=station, actor=actor, reason="Once more.")
        scene.companions.append(made.pk)
        return "done"

    return act


def fork(scene: Scene, subject: Subject) -> Act | None:
    """From where it stands now, or ended; of a task that has ended, only of a position that became no other one."""
    children = [row for row in subject.sight.rows["tokens"] if row["parent_id"] == subject.id]
    if subject.over and (children or subject.token["joined_id"]):
        return None

    def act() -> str:
        line = versions.parsed_line_by_version_id(subject.task["pinned_id"])
        here = subject.token["station"] in line.stations_by_key
        made = engine.fork(
            subject.task["id"],
            user=scene.cast.requester,
            position=subject.id,
            station="" if here else line.start,
            reason="Another way.",
        )
        scene.companions.append(made.pk)
        return "done"

    return act


def _fork_from_nowhere(scene: Scene, subject: Subject) -> None:
    engine.fork(subject.task["id"], user=scene.cast.requester, at=subject.task["seq"] + 1)


# What is missing


def _hand_over(document: Any) -> Callable[[Scene, Subject, int], Any]:
    def do(scene: Scene, subject: Subject, version: int) -> None:
        engine.store_handoff_and_decide_again(
            subject.id, user=scene.cast.requester, token_version=version, document=document
        )

    return do


def _supply(given: dict[str, str]) -> Callable[[Scene, Subject, int], Any]:
    def do(scene: Scene, subject: Subject, version: int) -> None:
        engine.supply_metadata_and_decide_again(
            subject.id, user=scene.cast.requester, token_version=version, values=given
        )

    return do


def supply(scene: Scene, subject: Subject) -> Act | None:
    """Where something is missing, only if it is that."""
    if missing(subject) and "metadata:Ticket" not in missing(subject):
        return None
    return by_version(_supply(TICKET), 0)(scene, subject)


def reconsider(scene: Scene, subject: Subject) -> Act | None:
    if any(due["kind"] == "facts" and due["task_id"] == subject.task["id"] for due in subject.dues):
        return None
    return lambda: "done" if engine.decide_held_tokens_again(subject.task["id"]) else "nothing"


def agent_returns(scene: Scene, subject: Subject) -> Act | None:
    """Its contract is in force again, for a moment."""
    if missing(subject) != ["agent:gone"]:
        return None

    def act() -> str:
        gone = Agent.objects.get(project=scene.world.project, key="gone")
        engine.change_agent(gone.pk, {"valid_until": None}, actor=engine.ENGINE)
        due = Due.objects.get(task=subject.task["id"], kind="facts", key=str(subject.id))
        said = fire(scene, due.pk)
        over = timezone.now() - timedelta(days=1)
        engine.change_agent(gone.pk, {"valid_until": over}, actor=engine.ENGINE)
        return said

    return act


@contextmanager
def suspended(scene: Scene) -> Iterator[None]:
    robot = Agent.objects.get(project=scene.world.project, key="robot")
    engine.suspend_agent(robot.pk, actor=engine.ENGINE, reason="Because.")
    yield
    engine.restore_agent(robot.pk, actor=engine.ENGINE)


def suspend(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        with suspended(scene):
            return "done"

    return act


def start_suspended(scene: Scene, subject: Subject) -> Act | None:
    job: Row | None = subject.open_job
    if job is None or job["agent"] != "robot" or subject.token["status"] != "queued":
        return None

    def act() -> str:
        with suspended(scene):
            return "started" if engine.start_claimed_job_or_none(job["id"], scene.claim) else "nothing to do"

    return act


def answer_machine(scene: Scene, subject: Subject) -> Act | None:
    """An agentic question that a machine is asked."""
    asked = subject.token["wait"].get("evaluation", {})
    if subject.token["status"] != "evaluating" or "agentic" not in asked:
        return None

    def act() -> str:
        fact, version = scene.choice("fact", list(ANSWERS["agentic"])), subject.token["version"]
        engine.answer_blocked_token(
            subject.id, user=scene.cast.requester, token_version=version, text="So.", fact=fact
        )
        return "done"

    return act


WAITS = (
    Command("hand_over", "a person gives the handoff document", by_version(_hand_over(HANDOFF), 0)),
    Command(
        "hand_over_faulty", "the same, with a document that is none", by_version(_hand_over({"a": 1}), 0)
    ),
    Command("hand_over_stale", "the same, of what a page showed before", by_version(_hand_over(HANDOFF), 1)),
    Command("supply", "a person gives the metadata that is missing", supply),
    Command("supply_nothing", "the same, with nothing filled in", by_version(_supply({}), 0)),
    Command("supply_stale", "the same, of what a page showed before", by_version(_supply(TICKET), 1)),
    Command("reconsider", "what is missing is looked for, and nothing has changed", reconsider),
    Command("answer_machine", "a person answers what a machine is asked", answer_machine),
    Command("depend", "its task is to wait for another one", depend, whole=True, alone=False),
    Command("depend_itself", "its task is to wait for itself", doing(_depend_itself), alone=False),
    Command(
        "depend_unknown", "its task is to wait for one that there is not", doing(_depend_unknown), alone=False
    ),
    Command(
        "depend_in_a_circle",
        "its task is to wait for one that waits for it",
        depend_in_a_circle,
        whole=True,
        alone=False,
    ),
    Command(
        "dependency_met",
        "the task for which it waits is completed",
        dependency(_complete),
        whole=True,
        alone=False,
    ),
    Command(
        "dependency_lost",
        "the task for which it waits is cancelled",
        dependency(_cancel),
        whole=True,
        alone=False,
    ),
    Command("follow_up", "new work follows its task", follow_up, alone=False),
    Command("retry_ended", "its task is retried as a new one", retry_ended, alone=False),
    Command("fork", "a person forks its task from where it stands", fork, alone=False),
    Command(
        "fork_from_nowhere",
        "the same, from a moment that has not come",
        doing(_fork_from_nowhere),
        alone=False,
    ),
    Command("agent_returns", "the agent for which it waits is there again", agent_returns, alone=False),
    Command("suspend", "an agent is suspended, and restored", suspend, alone=False),
    Command(
        "start_suspended",
        "a worker tries to take it while its agent is suspended",
        start_suspended,
        alone=False,
    ),
)
