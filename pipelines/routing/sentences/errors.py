"""Errors of the law in a few words, within a sentence; whole sentences with a remedy: `waits`."""

from __future__ import annotations


def error_words(error: str) -> str:
    """An error of a line's own, or of a job, stays as it is."""
    return ERRORS.get(error, error)


ERRORS = {
    "NoValidTransition": "no rule matches",
    "CircularWorkflow": "a station would be entered again that may be entered once",
    "RetryLimitExceeded": "the retries are used up",
    "VisitLimitExceeded": "the limit of runs is reached",
    "InvalidTransitionSyntax": "a rule is faulty",
    "OutputDataParseError": "the output is not JSON",
    "TransitionEvaluationError": "a condition cannot be evaluated",
    "ForcedRouteLoop": "a second forced route is demanded",
    "NoOrigin": "the task came from no station",
    "ForbiddenParallel": "two stations that exclude each other would run in parallel",
    "StationGone": "the next station is gone",
    "compose_failed": "a variable cannot be composed",
}
