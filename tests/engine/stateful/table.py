"""State × command: what is said to happen, for every pair. Rendered for readers as docs/commands.md.

moves       it has the effect that it asks for; `to`: the states in which the token may be then
refused     nothing moves; `answer` says what whoever asked is told
impossible  there is nothing to ask it of; `why`"""

from __future__ import annotations

from collections.abc import Iterable

from tests.engine.stateful.entries import (
    ASKED,
    AT_REST,
    CHANGED,
    DECIDED,
    LEASED,
    LOCKED,
    MISSING,
    NO_JOB,
    NO_LEASE,
    NO_REVIEW,
    NO_WAIT,
    NOT_BY_HAND,
    OVER,
    REVIEW,
    RUNS_AGAIN,
    UNBEGUN,
    Entry,
    Row,
    at_review,
    impossible,
    moves,
    refused,
    row,
    stays,
)
from tests.engine.stateful.states import STATES
from tests.engine.stateful.table_of_pauses import PAUSES
from tests.engine.stateful.table_of_waiting import TOGETHER, WAITS

WORKERS: dict[str, Row] = {
    "start": row(
        refused("nothing to do"),
        {"queued": moves("started", "running"), "evaluating": moves("started", "evaluating_now")},
    ),
    "start_unfit": row(refused("nothing to do")),
    "report": row(NO_LEASE, {(*LEASED, *ASKED): moves("accepted", *DECIDED)}),
    "report_and_go_on": row(
        NO_LEASE, {(*LEASED, *ASKED): moves("accepted", *DECIDED, "running", "evaluating_now")}
    ),
    "report_batch": row(NO_LEASE, {(*LEASED, *ASKED): moves("accepted, repeated, conflict", *DECIDED)}),
    "report_repeat": row(refused("repeated", "the first answer again")),
    "report_other": row(refused("conflict", "kept as evidence")),
    "report_late": row(refused("ignored", "kept as evidence")),
    "report_wrong_lease": row(refused("ignored", "kept as evidence")),
    "report_unleased": row(
        NO_JOB,
        {
            (*LEASED, *ASKED, "evaluating", "queued", "by_hand", "by_the_clock", *UNBEGUN): refused(
                "ignored", "kept as evidence"
            )
        },
    ),
    "report_unreadable": row(refused("invalid", "with the place that is wrong")),
    "report_nowhere": row(refused("not_found")),
    "lose_early": row(
        NO_LEASE,
        {
            ("running", "evaluating_now"): refused("kept", "the lease is in force"),
            (*LEASED[1:], *ASKED[1:]): impossible("the lease has run out: see sweep"),
        },
    ),
    "lose_late": row(refused("kept", "it was lost once already")),
    "requeue": row(
        NO_LEASE,
        {LEASED: moves("requeued", "queued", "held_by_pause"), ASKED: moves("requeued", "evaluating")},
    ),
    "requeue_late": row(refused("kept", "it was taken away already")),
    "come": row(NO_WAIT, {"by_the_clock": moves("fired", *DECIDED)}),
}

TO_RESOLVE = refused("Conflict", "what holds it has to be resolved")
HANDS: dict[str, Row] = {
    "complete": row(NOT_BY_HAND, {"by_hand": moves("accepted", *DECIDED)}),
    "complete_stale": row(NOT_BY_HAND, {"by_hand": refused("Conflict", "it is not what the page showed")}),
    "complete_unfilled": row(NOT_BY_HAND, {"by_hand": refused("Invalid", "with the field that is missing")}),
    "complete_repeat": row(refused("repeated", "the first answer again")),
    "complete_other": row(refused("Conflict", "kept as evidence")),
    "complete_anothers": row(refused("NotFound", "no job for people")),
    "answer": row(
        CHANGED,
        {
            "blocked_question": moves("done", *RUNS_AGAIN),
            "blocked_evaluation": moves("done", *DECIDED),
        },
    ),
    "answer_wrong": row(
        CHANGED, {("blocked_question", "blocked_evaluation"): refused("Invalid", "says what is asked")}
    ),
    "answer_stale": row(CHANGED),
    "retry": row(
        moves("done", *RUNS_AGAIN),
        {
            ("queued", "held_by_person", "held_by_pause", "held_dependency"): refused(
                "Conflict", "its work has not begun"
            ),
            ("paused", *LOCKED): TO_RESOLVE,
            "joining": refused("Conflict", "it waits for its siblings"),
            ("forked", "ended_branch", *OVER): CHANGED,
        },
    ),
    "retry_stale": row(CHANGED),
    "move": row(
        moves("done", *RUNS_AGAIN),
        {
            ("held", "held_contradiction", "paused", *LOCKED): TO_RESOLVE,
            "joining": refused("Conflict", "it waits for its siblings"),
            ("forked", "ended_branch", *OVER): CHANGED,
        },
    ),
    "move_stale": row(CHANGED),
    "skip": row(
        moves("done", *DECIDED),
        {
            ("held", "held_contradiction", "paused", *LOCKED): TO_RESOLVE,
            REVIEW: refused("Conflict", "people are asked, and their decision leads on"),
            "joining": refused("Conflict", "it waits for its siblings"),
            ("forked", "ended_branch", *OVER): CHANGED,
        },
    ),
    "skip_stale": row(CHANGED),
    "hold": row(CHANGED, {"queued": moves("done", "held_by_person")}),
    "hold_stale": row(CHANGED),
    "release": row(
        CHANGED,
        {
            "held_by_person": moves("done", "queued", "paused", "held_dependency", "held_by_pause"),
            "held_dependency": moves("done", *RUNS_AGAIN),
            (*AT_REST, *LOCKED): refused("Conflict", "no person holds it"),
            "held_by_pause": refused("Conflict", "who resumes what is paused lets it go"),
        },
    ),
    "release_stale": row(CHANGED),
    "cancel": row(
        moves("done", "cancelled"),
        {
            "ended_branch": moves("done", *OVER),
            OVER: refused("Conflict", "it has ended"),
        },
    ),
}

FORBIDDEN, STALE = refused("Forbidden"), refused("Conflict", "it is not what is under review")
REVIEWS: dict[str, Row] = {
    "approve": row(
        NO_REVIEW,
        {
            "review_more": moves("open | decided", *REVIEW),
            "review_last": moves("decided", *DECIDED),
            "review_worn": moves("open | decided", *DECIDED),
            "review_overtaken": moves("decided", *RUNS_AGAIN, "stuck", *MISSING),
        },
    ),
    "send_back": row(
        NO_REVIEW,
        {
            ("review_more", "review_last", "review_overtaken"): moves(
                "decided", *RUNS_AGAIN, "stuck", "held", *MISSING, "ended_branch", *OVER
            ),
            "review_worn": refused("Conflict", "no round is left"),
        },
    ),
    "reject": {
        **at_review(moves("decided", *DECIDED)),
        "review_overtaken": moves("decided", "ended_branch", *OVER),
    },
    "rework": {**at_review(moves("decided", *DECIDED)), "review_overtaken": moves("decided", "held")},
    "abort": at_review(moves("decided", "failed")),
    "approve_old_version": at_review(STALE),
    "approve_other_evidence": at_review(STALE),
    "approve_twice": {
        **at_review(refused("Conflict", "one vote each")),
        "review_overtaken": impossible("one vote settles it"),
    },
    "approve_requester": at_review(FORBIDDEN),
    "approve_producer": at_review(FORBIDDEN),
    "approve_unasked": at_review(FORBIDDEN),
    "approve_stranger": at_review(refused("NotFound")),
    "unoffered": at_review(refused("Invalid", "with the words that are offered")),
    "reject_mute": at_review(refused("Invalid", "a reason is needed")),
    "approve_closed": row(refused("Conflict", "with the name of who was first")),
}

NOTHING_DUE = refused("done", "nothing of it is due")
WORLD: dict[str, Row] = {
    "renew": row(
        refused("done", "it has no lease"),
        {LEASED: moves("done", "running"), ASKED: moves("done", "evaluating_now")},
    ),
    "sweep": row(
        NOTHING_DUE,
        {
            "overdue": moves("done", "queued", "held_by_pause"),
            "evaluating_overdue": moves("done", "evaluating"),
            "overdue_last": moves("done", *DECIDED),
            "evaluating_last": moves("done", "blocked_evaluation"),
        },
    ),
    "jump": row(
        NOTHING_DUE,
        {
            "running": moves("done", "overdue", "overdue_last"),
            "evaluating_now": moves("done", "evaluating_overdue", "evaluating_last"),
        },
    ),
    "jump_back": row(
        NOTHING_DUE,
        {LEASED[1:]: moves("done", "running"), ASKED[1:]: moves("done", "evaluating_now")},
    ),
    "publish": stays("done"),
}

# Where another version leaves a token: one that works or that a person said no about stays until its next move, a
# question is asked again, and where it was stuck is decided again.
MIGRATED: dict[str, tuple[str, ...]] = {
    "queued": RUNS_AGAIN,
    **{
        state: (state,)
        for state in (
            *LEASED,
            *ASKED,
            "evaluating",
            "by_hand",
            "by_the_clock",
            "held_rejection",
            "held_contradiction",
            *UNBEGUN,
        )
    },
    **dict.fromkeys((*REVIEW, "held", *MISSING, "blocked_question", "blocked_evaluation", "stuck"), DECIDED),
    "joining": DECIDED,
    "forked": ("forked", *DECIDED),
    "ended_branch": ("ended_branch", *OVER),
}
TOO_LATE = refused("Invalid", "its task is not running")


def migrated(answer: str) -> Row:
    """With the whole task: an abort ends every branch."""
    return row(TOO_LATE, {state: moves(answer, *to, *OVER) for state, to in MIGRATED.items()})


MIGRATIONS: dict[str, Row] = {
    "migrate": migrated("migrated"),
    "migrate_unseen": row(refused("Conflict", "the running tasks changed since"), {OVER: TOO_LATE}),
    "migrate_cut": migrated("migrated"),
    "migrate_and_undo": {
        **migrated("restored | refused"),
        **{state: moves("restored | refused", *DECIDED) for state in REVIEW},
    },
    "undo_late": row(refused("refused | Conflict", "it has moved since, or was undone before")),
}

BARE: dict[str, Row] = {**WORKERS, **HANDS, **REVIEWS, **WAITS, **WORLD, **MIGRATIONS, **TOGETHER, **PAUSES}
# One transaction each, about one token.
ALONE = {**WORKERS, **HANDS, **REVIEWS, **WAITS}


def movers(state: str, among: Iterable[str] = ALONE) -> list[str]:
    """The commands that move a token out of this state, in the order of the table."""
    return [key for key in among if key in ALONE and ALONE[key][state].verdict == "moves"]


def cut_short() -> Row:
    """A death before the commit: as if nobody had asked."""
    return row(refused("cut", "nothing of it is to be seen"))


def cut_after() -> Row:
    """A death after the commit: what was asked is done, and whoever asked does not know it."""
    to = {state: frozenset().union(*(BARE[key][state].to for key in movers(state))) for state in STATES}
    nothing = impossible("nothing moves here any more")
    return {
        **{state: Entry("moves", "cut", to[state]) for state in STATES},
        **dict.fromkeys(OVER, nothing),
    }


TABLE: dict[str, Row] = {**BARE, "cut_before_commit": cut_short(), "cut_after_commit": cut_after()}
PAIRS = [(state, command) for command, entries in TABLE.items() for state in entries]
POSSIBLE = [pair for pair in PAIRS if TABLE[pair[1]][pair[0]].verdict != "impossible"]
