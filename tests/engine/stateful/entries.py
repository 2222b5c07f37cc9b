"""What an entry of the table is, and the groups of states that entries speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tests.engine.stateful.states import STATES

Verdict = Literal["moves", "refused", "impossible"]


@dataclass(frozen=True)
class Entry:
    verdict: Verdict
    answer: str = ""
    to: frozenset[str] = frozenset()
    why: str = ""


def moves(answer: str, *to: str) -> Entry:
    return Entry("moves", answer, frozenset(to))


def refused(answer: str, why: str = "") -> Entry:
    return Entry("refused", answer, why=why)


def impossible(why: str) -> Entry:
    return Entry("impossible", why=why)


Row = Mapping[str, Entry]
LEASED = ("running", "overdue", "overdue_last")
ASKED = ("evaluating_now", "evaluating_overdue", "evaluating_last")
DUE = ("review_more", "review_last", "review_worn")
REVIEW = (*DUE, "review_overtaken")
OVER = ("completed", "failed", "cancelled")
MISSING = ("held_missing", "held_handoff")
LOCKED = ("deadlock_late", "deadlock_circle")
AT_REST = ("held", "held_rejection", *MISSING, "held_contradiction", "paused")
HELD = (*AT_REST, "held_dependency", "held_by_pause")
# Held with a job that there is to do.
UNBEGUN = ("held_by_person", "held_by_pause", "held_dependency", "paused", *LOCKED)
# Where an outcome, or a person's word about one, may lead.
DECIDED = (
    "queued",
    "by_hand",
    "by_the_clock",
    "evaluating",
    *REVIEW,
    *HELD,
    "blocked_question",
    "blocked_evaluation",
    "stuck",
    "joining",
    "forked",
    "ended_branch",
    *OVER,
)
# What begins is held by an escalation that blocks its task, by a task that is not completed, and by a pause.
RUNS_AGAIN = ("queued", "by_hand", "by_the_clock", "paused", "held_dependency", "held_by_pause")


def row(default: Entry, special: Mapping[str | tuple[str, ...], Entry] | None = None) -> Row:
    """The default in every state, but for the special ones."""
    entries = dict.fromkeys(STATES, default)
    for states, entry in (special or {}).items():
        entries |= dict.fromkeys([states] if isinstance(states, str) else states, entry)
    return entries


NO_LEASE = impossible("no worker has a lease here")
NO_JOB = impossible("no job is open here")
NO_WAIT = impossible("it waits for no time here")
NOT_BY_HAND = impossible("no person has a job here")
NO_ESCALATION = impossible("no escalation holds it")
NO_DEADLOCK = impossible("no deadlock holds it")
NOT_DUE = impossible("no gate is due so here")
NO_REVIEW = impossible("nobody is asked for a review here")
CHANGED = refused(
    "Conflict", "it is not what the page showed, or not in a state in which this means anything"
)


def at_review(entry: Entry) -> Row:
    return row(NO_REVIEW, {REVIEW: entry})


def stays(answer: str) -> dict[str, Entry]:
    """It has its effect, and leaves this token as it is."""
    return {state: moves(answer, state) for state in STATES}
