"""Errors of the law in a few words, within a sentence; whole sentences with a remedy: `waits`."""

from __future__ import annotations

from pipelines.routing.basics.translation import gettext as _


def error_words(error: str) -> str:
    """An error of a line's own, or of a job, stays as it is."""
    return ERRORS.get(error, lambda: error)()


ERRORS = {
    "NoValidTransition": lambda: _("no rule matches"),
    "CircularWorkflow": lambda: _("a station would be entered again that may be entered once"),
    "RetryLimitExceeded": lambda: _("the retries are used up"),
    "VisitLimitExceeded": lambda: _("the limit of runs is reached"),
    "InvalidTransitionSyntax": lambda: _("a rule is faulty"),
    "OutputDataParseError": lambda: _("the output is not JSON"),
    "TransitionEvaluationError": lambda: _("a condition cannot be evaluated"),
    "ForcedRouteLoop": lambda: _("a second forced route is demanded"),
    "NoOrigin": lambda: _("the task came from no station"),
    "ForbiddenParallel": lambda: _("two stations that exclude each other would run in parallel"),
    "StationGone": lambda: _("the next station is gone"),
    "compose_failed": lambda: _("a variable cannot be composed"),
}
