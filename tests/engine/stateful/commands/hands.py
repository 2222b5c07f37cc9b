"""What people do besides reviews: jobs by hand, answers, retries, holds, and cancelling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines import engine
from pipelines.queries import versions
from pipelines.routing.document.evaluations import ANSWERS
from tests.engine.stateful.commands.tools import OUTCOMES, Act, Command
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Row, Subject


def _complete(scene: Scene, job: Row, version: int, outcome: dict[str, Any]) -> str:
    said = engine.complete_manual_job(
        job["id"], user=scene.cast.producer, token_version=version, outcome=outcome
    )
    return said.status


def _form(job: Row) -> Any:
    return versions.parsed_line_by_version_id(job["pinned_id"]).station(job["station"]).work.get("form")


def _filled(job: Row, outcome: dict[str, Any]) -> dict[str, Any]:
    return {**outcome, "output": {"note": "Done."}} if _form(job) else outcome


def _by_hand(subject: Subject) -> Row | None:
    job = subject.open_job
    return job if job and job["kind"] == "manual" and job["state"] == "running" else None


def complete(scene: Scene, subject: Subject) -> Act | None:
    job = _by_hand(subject)
    if job is None:
        return None

    def act() -> str:
        outcome = _filled(job, scene.choice("outcome", OUTCOMES))
        return _complete(scene, job, subject.token["version"], outcome)

    return act


def complete_stale(scene: Scene, subject: Subject) -> Act | None:
    job = _by_hand(subject)
    if job is None:
        return None
    return lambda: _complete(scene, job, subject.token["version"] - 1, _filled(job, OUTCOMES[0]))


def complete_unfilled(scene: Scene, subject: Subject) -> Act | None:
    job = _by_hand(subject)
    if job is None or not _form(job):
        return None
    return lambda: _complete(scene, job, subject.token["version"], {"result": "success", "output": {}})


def complete_repeat(scene: Scene, subject: Subject) -> Act | None:
    job = subject.last_done(by_hand=True)
    if job is None or not job["report_digest"]:
        return None
    return lambda: _complete(scene, job, subject.token["version"], job["outcome"])


def complete_other(scene: Scene, subject: Subject) -> Act | None:
    job = subject.last_done(by_hand=True)
    if job is None:
        return None
    another = {"result": "failure", "summary": "Something else."}
    return lambda: _complete(scene, job, subject.token["version"], another)


def complete_anothers(scene: Scene, subject: Subject) -> Act | None:
    """A person reports on a job that is a worker's."""
    job = next((job for job in reversed(subject.jobs) if job["kind"] != "manual"), None)
    return (lambda: _complete(scene, job, subject.token["version"], OUTCOMES[0])) if job else None


def _answered(scene: Scene, subject: Subject, version: int, text: str, fact: str) -> str:
    engine.answer_blocked_token(
        subject.id, user=scene.cast.requester, token_version=version, text=text, fact=fact
    )
    return "done"


def _machine_is_asked(subject: Subject) -> bool:
    """What a person may answer as well, see `answer_machine`."""
    asked = subject.token["wait"].get("evaluation", {})
    return subject.token["status"] == "evaluating" and "agentic" in asked


def answer(scene: Scene, subject: Subject) -> Act | None:
    asked = subject.token["wait"].get("evaluation")
    if _machine_is_asked(subject):
        return None

    def act() -> str:
        fact = scene.choice("fact", list(ANSWERS[next(iter(asked))])) if asked else ""
        return _answered(scene, subject, subject.token["version"], "Go on.", fact)

    return act


def answer_wrong(scene: Scene, subject: Subject) -> Act | None:
    if _machine_is_asked(subject):
        return None
    return lambda: _answered(scene, subject, subject.token["version"], " \n", "perhaps")


def by_version(do: Callable[[Scene, Subject, int], Any], older: int) -> Callable[[Scene, Subject], Act]:
    def on(scene: Scene, subject: Subject) -> Act:
        def act() -> str:
            do(scene, subject, subject.token["version"] - older)
            return "done"

        return act

    return on


def _retry(scene: Scene, subject: Subject, version: int) -> None:
    engine.move_or_retry_by_hand(
        subject.id, user=scene.cast.requester, token_version=version, reason="Once more."
    )


def _move(scene: Scene, subject: Subject, version: int) -> None:
    line = versions.parsed_line_by_version_id(subject.task["pinned_id"])
    others = [station.key for station in line.stations if station.key != subject.token["station"]]
    to = scene.choice("station", others or [subject.token["station"]])
    engine.move_or_retry_by_hand(
        subject.id, user=scene.world.admin, token_version=version, to=to, reason="There."
    )


def _skip(scene: Scene, subject: Subject, version: int) -> None:
    to = engine.SUCCESS
    engine.plan_move(subject.id, user=scene.cast.requester, token_version=version, to=to)
    engine.move_or_retry_by_hand(subject.id, user=scene.cast.requester, token_version=version, to=to)


def _hold(scene: Scene, subject: Subject, version: int) -> None:
    engine.hold(subject.id, user=scene.cast.requester, token_version=version, reason="Wait.")


def _release(scene: Scene, subject: Subject, version: int) -> None:
    engine.release(subject.id, user=scene.cast.requester, token_version=version)


def _answer_stale(scene: Scene, subject: Subject, version: int) -> None:
    _answered(scene, subject, version, "Go on.", "yes")


def cancel(scene: Scene, subject: Subject) -> Act:
    def act() -> str:
        engine.cancel(subject.token["task_id"], actor=engine.Actor.person(scene.cast.requester), reason="No.")
        return "done"

    return act


HANDS = (
    Command("complete", "a person reports on the job", complete),
    Command("complete_stale", "a person reports on what the job was before", complete_stale),
    Command("complete_unfilled", "a person reports without what the form asks for", complete_unfilled),
    Command("complete_repeat", "a person sends the last report again", complete_repeat),
    Command("complete_other", "a person reports something else on a job that is done", complete_other),
    Command("complete_anothers", "a person reports on the job of a worker", complete_anothers),
    Command("answer", "a person answers", answer),
    Command(
        "answer_wrong", "a person answers with nothing, or with no answer to what is asked", answer_wrong
    ),
    Command("answer_stale", "a person answers what was asked before", by_version(_answer_stale, 1)),
    Command("retry", "a person lets the station run again", by_version(_retry, 0)),
    Command("retry_stale", "the same, of what a page showed before", by_version(_retry, 1)),
    Command("move", "a person moves it to another station", by_version(_move, 0)),
    Command("move_stale", "the same, of what a page showed before", by_version(_move, 1)),
    # Its plan is a transaction of its own
    Command("skip", "a person moves it to where success leads", by_version(_skip, 0), alone=False),
    Command("skip_stale", "the same, of what a page showed before", by_version(_skip, 1)),
    Command("hold", "a person holds it", by_version(_hold, 0)),
    Command("hold_stale", "the same, of what a page showed before", by_version(_hold, 1)),
    Command("release", "a person lets go of it", by_version(_release, 0)),
    Command("release_stale", "the same, of what a page showed before", by_version(_release, 1)),
    Command("cancel", "a person cancels the task", cancel),
)
