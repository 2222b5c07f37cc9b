"""Questions of agents at work with a runner, about their own tasks: so many a minute, since each is decided."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

from pipelines.models import Worker
from pipelines.work.agents.call_budget import CallBudget
from pipelines.work.transport.local.agent_answers import answer_agent

MOST_JOBS: Final = 4096
"""Jobs of which a web process remembers what they asked."""


class TooManyQuestions(Exception):
    """An agent asked too much within a minute; the message says so."""


_budgets: dict[tuple[int, uuid.UUID], CallBudget] = {}


def answer_question(
    runner: Worker, job: int, lease: uuid.UUID, question: str, outcome: Mapping[str, Any] | None
) -> dict[str, Any]:
    """:raises TooManyQuestions, LeaseLost, QuestionRefused"""
    if not _call_budget_of_job(job, lease).try_to_take_call(time.monotonic()):
        raise TooManyQuestions("The agent of this job asked too much within a minute.")
    return answer_agent(job, lease, question, outcome, f"worker:{runner.pk}")


def _call_budget_of_job(job: int, lease: uuid.UUID) -> CallBudget:
    # The oldest go first: a dict keeps the order in which keys came
    while len(_budgets) >= MOST_JOBS:
        _budgets.pop(next(iter(_budgets)), None)
    return _budgets.setdefault((job, lease), CallBudget())
