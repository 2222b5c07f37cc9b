"""The door to what goes into a decision and what comes out of it."""

from __future__ import annotations

from pipelines.routing.answers import Answer, Evaluation
from pipelines.routing.decisions import (
    Ask,
    Decision,
    Entry,
    Escalate,
    Finish,
    Move,
    Stuck,
    Trace,
    Wait,
)
from pipelines.routing.problems import Malformed
from pipelines.routing.reported import Derived, Outcome, OutcomeError, derive, read_outcome
from pipelines.routing.situation import (
    JUMP,
    Facts,
    Situation,
    SituationError,
    Word,
    check_situation,
    read_facts,
    read_situation,
)
from pipelines.routing.values import MISSING

__all__ = [
    "JUMP",
    "MISSING",
    "Answer",
    "Ask",
    "Decision",
    "Derived",
    "Entry",
    "Escalate",
    "Evaluation",
    "Facts",
    "Finish",
    "Malformed",
    "Move",
    "Outcome",
    "OutcomeError",
    "Situation",
    "SituationError",
    "Stuck",
    "Trace",
    "Wait",
    "Word",
    "check_situation",
    "derive",
    "read_facts",
    "read_outcome",
    "read_situation",
]
