"""The states of a token that make a difference to what may be done: its status, and what of it matters."""

from __future__ import annotations

from pipelines.routing.decide.approval import CountedVote, tally_votes
from pipelines.routing.decide.effects import flatten_holds, is_hold_by_pause
from tests.engine.stateful.people import Cast
from tests.engine.stateful.sight import ENDED, Row, Subject

STATES = {
    "queued": "its job waits for a worker",
    "running": "a worker has its job, under a lease that is in force",
    "overdue": "the lease has run out and nobody has swept it yet",
    "overdue_last": "the same, at the last attempt that the job has",
    "by_hand": "a person has its job",
    "by_the_clock": "its job waits for a time, and no worker has it",
    "evaluating": "a condition is asked of a machine, and no worker has the question yet",
    "evaluating_now": "a worker has the question, under a lease that is in force",
    "evaluating_overdue": "the lease of the question has run out and nobody has swept it yet",
    "evaluating_last": "the same, at the last attempt that the question has",
    "review_more": "people are asked, and one approval alone does not settle it",
    "review_last": "people are asked, and the next approval settles it",
    "review_worn": "people are asked, and it was sent back as often as the gate allows",
    "review_overtaken": "people are asked, and a sibling has moved since, so that another rule would be true now",
    "held_by_person": "a person holds its queued job",
    "held_by_pause": "its task, station, line or project is paused, and its work has not begun",
    "held": "an escalation holds it",
    "held_rejection": "it is held because what was rejected comes again unchanged",
    "held_missing": "it is held for a precondition: its agent is missing, or something is escalated",
    "held_handoff": "it is held for the handoff document that its station has to give",
    "held_contradiction": "an escalation holds it at its join: its branches contradict each other",
    "held_dependency": "it waits for another task to be completed, and has not begun",
    "paused": "an escalation that nobody answered in time holds its work",
    "deadlock_late": "a deadlock holds its work: it took too long",
    "deadlock_circle": "a deadlock holds its work: its task and others wait for each other",
    "blocked_question": "a person is asked a question",
    "blocked_evaluation": "a person is asked for the answer to a condition",
    "stuck": "it could not be decided where it goes",
    "joining": "it waits at a join for its siblings",
    "forked": "it waits for its branches",
    "ended_branch": "it has ended, other branches of its task have not",
    "completed": "its task is over, it completed",
    "failed": "its task is over, it failed",
    "cancelled": "its task is over, it was cancelled",
}
MAX_ATTEMPTS = 3
OVERTAKES = "right->right-end"
"""The edge that the first rule of `left-desk` counts: had it been taken before, nobody would be asked there."""


def state_of(subject: Subject, cast: Cast) -> str:
    """Read off the rows, without a look at how it came about."""
    token, status = subject.token, subject.token["status"]
    if token["forked"]:
        return "forked"
    if status in ENDED:
        return status if subject.over else "ended_branch"
    if status == "queued" and "join" in token["wait"]:
        return "joining"
    if status == "running":
        return _running(subject)
    if status == "evaluating":
        return _evaluating(subject)
    if status == "awaiting_review":
        return _review(subject, cast)
    if status == "held":
        return _held(subject)
    if status == "blocked":
        return "blocked_evaluation" if "evaluation" in token["wait"] else "blocked_question"
    return str(status)


def _held(subject: Subject) -> str:
    """By what of its wait says so; what holds work that there is to do has its open job."""
    # What holds it besides a pause is what it waits for when that is over
    wait = next((hold for hold in flatten_holds(subject.token["wait"]) if not is_hold_by_pause(hold)), None)
    if wait is None:
        return "held_by_pause"
    if "deadlock" in wait:
        return "deadlock_late" if wait["deadlock"] == "timeout" else "deadlock_circle"
    for name, state in (
        ("paused_by", "paused"),
        ("depends_on", "held_dependency"),
        ("rejection", "held_rejection"),
        ("keys", "held_contradiction"),
    ):
        if name in wait:
            return state
    if "missing" in wait:
        return "held_handoff" if "handoff" in wait["missing"] else "held_missing"
    return "held_by_person" if subject.open_job else "held"


def _running(subject: Subject) -> str:
    job = subject.open_job
    assert job is not None
    if job["kind"] == "manual":
        return "by_hand"
    if job["kind"] == "wait":
        return "by_the_clock"
    if not job["expired"]:
        return "running"
    return "overdue_last" if job["attempt"] >= MAX_ATTEMPTS else "overdue"


def _evaluating(subject: Subject) -> str:
    job = subject.open_job
    assert job is not None
    if job["state"] == "queued":
        return "evaluating"
    if not job["expired"]:
        return "evaluating_now"
    return "evaluating_last" if job["attempt"] >= MAX_ATTEMPTS else "evaluating_overdue"


def _review(subject: Subject, cast: Cast) -> str:
    visit, *others = subject.open_visits
    policy = subject.line_of(visit).gate(visit["gate"]).approval
    if subject.task["rounds"].get(visit["gate"], 0) >= policy.max_rounds:
        return "review_worn"
    if subject.token["station"] == "left-desk" and subject.task["edges"].get(OVERTAKES):
        return "review_overtaken"
    return "review_more" if others or not settles(subject, visit, cast) else "review_last"


def settles(subject: Subject, visit: Row, cast: Cast) -> bool:
    """Whether the approval of the next person decides this gate visit."""
    voted = [cast.by_id(vote["user_id"]) for vote in subject.votes(visit)]
    words = [CountedVote(person.username, "approve") for person in [*voted, cast.next_voter(subject, visit)]]
    who = subject.line_of(visit).gate(visit["gate"]).approval.who
    return tally_votes(who, words, cast.voters).word is not None
