"""Words at gates: by who may, who may not, about what is shown and about what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from pipelines import engine
from pipelines.models import GateVisit, User
from tests.engine.stateful.commands.tools import Act, Command
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Row, Subject

On = Callable[[Scene, Subject], Act | None]


def _vote(visit: Row, user: User, word: str, **more: Any) -> str:
    shown = {"token_version": visit["token_version"], "evidence_digest": visit["evidence_digest"]}
    said = {"reason": f"{word}, because.", "via": "page", **shown, **more}
    return engine.vote(GateVisit.objects.get(pk=UUID(visit["id"])), user=user, word=word, **said).state


def _open(subject: Subject) -> Row | None:
    return next(iter(subject.open_visits), None)


def _offers(subject: Subject, visit: Row) -> tuple[str, ...]:
    return subject.line_of(visit).gate(visit["gate"]).offers


def _route(scene: Scene, subject: Subject, visit: Row) -> str:
    line = subject.line_of(visit)
    knob = line.gate(visit["gate"]).on_reject or line.policy.on_reject
    return scene.choice("route", ["fail", "rework"]) if knob == "reviewer_chooses" else ""


def word(said: str) -> On:
    """The next person who may says it."""

    def on(scene: Scene, subject: Subject) -> Act | None:
        visit = _open(subject)
        if visit is None or said not in _offers(subject, visit):
            return None
        user = scene.cast.next_voter(subject, visit)

        def act() -> str:
            route = _route(scene, subject, visit) if said == "reject" else ""
            return _vote(visit, user, said, route=route)

        return act

    return on


def approve_by(who: Callable[[Scene, Subject, Row], User | None]) -> On:
    """Somebody else approves."""

    def on(scene: Scene, subject: Subject) -> Act | None:
        visit = _open(subject)
        user = who(scene, subject, visit) if visit else None
        return (lambda: _vote(visit, user, "approve")) if visit and user else None

    return on


def approve_of(shown: dict[str, Any]) -> On:
    """The next person approves something that is not what is shown."""

    def on(scene: Scene, subject: Subject) -> Act | None:
        visit = _open(subject)
        if visit is None:
            return None
        user, older = scene.cast.next_voter(subject, visit), {"token_version": visit["token_version"] - 1}
        return lambda: _vote(visit, user, "approve", **(shown or older))

    return on


def _voted(scene: Scene, subject: Subject, visit: Row) -> User | None:
    votes = subject.votes(visit)
    return scene.cast.by_id(votes[0]["user_id"]) if votes else None


def _producer(scene: Scene, subject: Subject, visit: Row) -> User | None:
    job = next(job for job in subject.jobs if job["id"] == visit["job_id"])
    return scene.cast.producer if job["reported_by"] == f"person:{scene.cast.producer.pk}" else None


def unoffered(scene: Scene, subject: Subject) -> Act | None:
    visit = _open(subject)
    return (lambda: _vote(visit, scene.cast.lead, "perhaps")) if visit else None


def mute(scene: Scene, subject: Subject) -> Act | None:
    visit = _open(subject)
    if visit is None or "reject" not in _offers(subject, visit):
        return None
    return lambda: _vote(visit, scene.cast.lead, "reject", reason=" \n")


def closed(scene: Scene, subject: Subject) -> Act | None:
    """On the gate visit of this token that was decided or closed last, about what was shown there."""
    over = [visit for visit in subject.visits if visit["state"] != "open"]
    return (lambda: _vote(over[-1], scene.cast.lead, "approve")) if over else None


REVIEWS = (
    Command("approve", "somebody who may approves what is shown", word("approve")),
    Command("send_back", "somebody who may sends it back", word("send_back")),
    Command("reject", "somebody who may rejects it", word("reject")),
    Command("rework", "somebody who may demands rework", word("rework")),
    Command("abort", "somebody who may aborts the task", word("abort")),
    Command("approve_old_version", "an approval of what the token was before", approve_of({})),
    Command(
        "approve_other_evidence", "an approval of other evidence", approve_of({"evidence_digest": "0" * 64})
    ),
    Command("approve_twice", "an approval by somebody who has approved already", approve_by(_voted)),
    Command(
        "approve_requester",
        "an approval by the requester",
        approve_by(lambda scene, *_: scene.cast.requester),
    ),
    Command("approve_producer", "an approval by who produced it", approve_by(_producer)),
    Command(
        "approve_unasked",
        "an approval by a member whom the gate does not ask",
        approve_by(lambda scene, *_: scene.cast.unasked),
    ),
    Command(
        "approve_stranger",
        "an approval by a member of another project",
        approve_by(lambda scene, *_: scene.cast.outsider),
    ),
    Command("unoffered", "a word that the gate does not offer", unoffered),
    Command("reject_mute", "a rejection without a reason", mute),
    Command("approve_closed", "an approval of a review that is over", closed),
)
