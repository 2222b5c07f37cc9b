"""Bounds of every evaluation, in time and size (law §3, last bullet).

- A pattern has at most MAX_PATTERN characters and runs in RE2: time linear in the text, memory capped.
- A path has at most MAX_PATH characters.
- One decision looks at no more than MAX_STEPS nodes and operands, whatever paths and data say; one more
  makes the task stuck with `TransitionEvaluationError`.
- Values nest at most 100 deep (`values.MAX_DEPTH`), documents are cut by the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MAX_PATTERN = 1_000
MAX_PATH = 1_000
MAX_STEPS = 250_000
"""About half a second of work on a slow core."""


Spend = Callable[[int], None]
_COUNTED: ContextVar[Spend | None] = ContextVar("counted", default=None)


@contextmanager
def counting_steps(spend: Spend) -> Iterator[None]:
    """Report the steps of every decision made within it to `spend`, too, which may raise: an analysis tries
    many decisions, and together they may cost no more than it is allowed."""
    token = _COUNTED.set(spend)
    try:
        yield
    finally:
        _COUNTED.reset(token)


class EvaluationBudget:
    """Remaining work budget of one decision."""

    __slots__ = ("_also", "left")

    def __init__(self, limit: int = MAX_STEPS, *, again: bool = False) -> None:
        """`again`: of what was decided before and is only looked at once more; nobody else counts it."""
        self.left = limit
        self._also = None if again else _COUNTED.get()

    def spend(self, count: int = 1) -> None:
        if self._also is not None:
            self._also(count)
        self.left -= count
        if self.left < 0:
            raise EvaluationFailed(f"the evaluation looks at more than {MAX_STEPS} nodes")


# Ways in which the evaluation of a condition ends without true or false. None of them leaves `decide`.


class EvaluationFailed(Exception):
    """The evaluation failed: the task is stuck with `name`."""

    name = "TransitionEvaluationError"

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class OutputUnreadable(EvaluationFailed):
    """An operand asks for an output that was there but is not JSON."""

    name = "OutputDataParseError"

    def __init__(self) -> None:
        super().__init__("The output of this station was there, but it is not JSON.")


class NotAnswered(Exception):
    """An evaluation was reached whose answer is not known; `unanswered`: nobody could answer it."""

    def __init__(self, evaluation: dict[str, Any], *, unanswered: bool) -> None:
        self.evaluation = evaluation
        self.unanswered = unanswered
        super().__init__("unanswered" if unanswered else "not asked yet")
