"""A decision as it is stored: what it read, decided again, and how the answer is written down (house §3 I9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import DecisionAnswer
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.model import ParsedLine


def decide_again(line: ParsedLine, situation: Mapping[str, Any]) -> DecisionAnswer:
    """Decide a stored situation again. Raises Malformed where it is no situation, or does not fit the line."""
    return decide(line, read_situation(situation))


def answer_without_trace(decision: DecisionAnswer) -> dict[str, Any]:
    """Return the decision in its stored form: without its trace."""
    return decision.to_stored_dict()
