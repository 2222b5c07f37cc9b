"""Escalations in words: why somebody was asked, who answers, and what is done when they do not."""

from __future__ import annotations

from pipelines.routing.basics.durations import format_duration
from pipelines.routing.document.escalations import OUTSIDER, agents_owned_by_role
from pipelines.routing.document.line import ParsedLine


def trigger_words(trigger: str) -> str:
    """Return the reason of an escalation in words; a trigger of the line's own stays as it is."""
    return ESCALATED.get(trigger, trigger)


ESCALATED = {
    "no_match": "no rule took the outcome",
    "on_failure": "a station failed",
    "compose_failed": "a variable could not be composed",
    "RetryLimitExceeded": "the retries are used up",
    "contradiction": "branches contradict each other",
    "contract_violation": "an agent broke its contract",
    "gate_overdue": "a review was not decided in time",
    "deadlock": "a deadlock",
    "architecture": "a question of architecture",
    "security": "a question of security",
    "review": "a review was convened",
}


def deadlock_words(kind: str) -> str:
    return {
        "circular_wait": "tasks wait for each other in a circle",
        "timeout": "a station takes more than twice the time that is expected of it",
        "contradiction": ESCALATED["contradiction"],
    }.get(kind, kind)


def role_words(role: str) -> str:
    """Return who answers, for use in a sentence: a role of Gateline by its people, any other as the line
    calls it."""
    if agents := agents_owned_by_role(role):
        return f"whoever answers for {' or '.join(sorted(agents))}"
    return ROLES.get(role.casefold(), role)


ROLES = {
    OUTSIDER: "the administrators of the project",
    "reviewer": "the reviewers",
    "designer": "the designers",
    "operator": "the operators",
    "viewer": "the viewers",
}


def escalation_answer_terms(line: ParsedLine, trigger: str, role: str) -> str:
    """Return who answers an escalation, how soon, and what happens when they do not."""
    escalation = line.escalation_rule(trigger)
    words = {"role": role_words(role), "time": format_duration(escalation.sla or 0)}
    if escalation.sla is None:
        return "It is for {role}, without a limit of time.".format(**words)
    if not escalation.on_breach:
        return "It is for {role}, within {time}.".format(**words)
    late = ", ".join(BREACHED[action] for action in escalation.on_breach)
    return "It is for {role}, within {time}; after that {late}.".format(**words, late=late)


BREACHED = {
    "block": "all work on the task is held",
    "notify": "others are told",
    "create_incident": "an incident is kept",
    "suspend_agent": "the agent is suspended",
    "convene_review": "a review is convened",
}


def unanswered_escalation_sentence(role: str, trigger: str) -> str:
    """Return the sentence that nobody of the role answered an escalation in time."""
    words = {"role": role_words(role), "what": trigger_words(trigger)}
    sentence = "{role} did not answer in time: {what}".format(**words)
    return sentence[:1].upper() + sentence[1:]


def breach_action_words(action: str) -> str:
    """Return what was done when an escalation was not answered in time."""
    return {
        "block": "all work on the task is held",
        "notify": "others were told",
        "create_incident": "an incident was opened",
        "suspend_agent": "the agent was suspended",
        "convene_review": "a review was convened",
    }.get(action, action)
