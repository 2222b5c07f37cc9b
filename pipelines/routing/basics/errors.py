"""Ways in which the evaluation of a condition ends without true or false. None of them leaves `decide`."""

from __future__ import annotations

from typing import Any


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
