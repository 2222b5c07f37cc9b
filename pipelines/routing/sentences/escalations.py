"""Escalations in words: why somebody was asked, who answers, and what is done when they do not."""

from __future__ import annotations

from pipelines.routing.basics.durations import written
from pipelines.routing.basics.translation import gettext as _
from pipelines.routing.document.escalations import OUTSIDER
from pipelines.routing.document.line import Line


def trigger_words(trigger: str) -> str:
    """Why something was escalated; words of a line's own stand as they are."""
    return ESCALATED.get(trigger, lambda: trigger)()


ESCALATED = {
    "no_match": lambda: _("no rule took the outcome"),
    "on_failure": lambda: _("a station failed"),
    "compose_failed": lambda: _("a variable could not be composed"),
    "RetryLimitExceeded": lambda: _("the retries are used up"),
    "contradiction": lambda: _("branches contradict each other"),
    "contract_violation": lambda: _("an agent broke its contract"),
    "gate_overdue": lambda: _("a review was not decided in time"),
    "deadlock": lambda: _("a deadlock"),
    "architecture": lambda: _("a question of architecture"),
    "security": lambda: _("a question of security"),
    "review": lambda: _("a review was convened"),
}


def deadlock_words(kind: str) -> str:
    return {
        "circular_wait": lambda: _("tasks wait for each other in a circle"),
        "timeout": lambda: _("a station takes more than twice the time that is expected of it"),
    }.get(kind, lambda: kind)()


def role_words(role: str) -> str:
    """Who answers, in a sentence: a role of Gateline by its people, any other as the line calls it."""
    return ROLES.get(role.casefold(), lambda: role)()


ROLES = {
    OUTSIDER: lambda: _("the administrators of the project"),
    "reviewer": lambda: _("the reviewers"),
    "designer": lambda: _("the designers"),
    "operator": lambda: _("the operators"),
    "viewer": lambda: _("the viewers"),
}


def answered_by(line: Line, trigger: str, role: str) -> str:
    """Who answers an escalation, how soon, and what is done when they do not."""
    said = line.escalation(trigger)
    words = {"role": role_words(role), "time": written(said.sla or 0)}
    if said.sla is None:
        return _("It is for %(role)s, without a limit of time.") % words
    if not said.on_breach:
        return _("It is for %(role)s, within %(time)s.") % words
    late = ", ".join(str(BREACHED[action]()) for action in said.on_breach)
    return _("It is for %(role)s, within %(time)s; after that %(late)s.") % {**words, "late": late}


BREACHED = {
    "block": lambda: _("all work on the task is held"),
    "notify": lambda: _("others are told"),
    "create_incident": lambda: _("an incident is kept"),
    "suspend_agent": lambda: _("the agent is suspended"),
    "convene_review": lambda: _("a review is convened"),
}


def late_words(role: str, trigger: str) -> str:
    """That nobody of the role answered an escalation in time."""
    words = {"role": role_words(role), "what": trigger_words(trigger)}
    said = _("%(role)s did not answer in time: %(what)s") % words
    return said[:1].upper() + said[1:]


def action_words(action: str) -> str:
    """What was done when an escalation was not answered in time."""
    return {
        "block": lambda: _("all work on the task is held"),
        "notify": lambda: _("others were told"),
        "create_incident": lambda: _("an incident was opened"),
        "suspend_agent": lambda: _("the agent was suspended"),
        "convene_review": lambda: _("a review was convened"),
    }.get(action, lambda: action)()
