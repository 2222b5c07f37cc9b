"""An escalation about which nothing happens when nobody answers it."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.escalations import EscalationRule

ID = "unanswered-escalation"


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, rule in enumerate(subject.line.escalations):
        path = f"escalations[{index}]"
        if rule.sla is None:
            message = f"What is escalated with {rule.trigger} waits for {rule.role} as long as it takes"
            hint = "say how soon an answer is due (sla), and what is done when it is late (on_breach)"
            yield Finding(ID, INFO, path, message, hint)
        elif not rule.on_breach:
            message = f"Nothing happens when {rule.role} does not answer {rule.trigger} in time"
            yield Finding(ID, WARNING, f"{path}.sla", message, "say what is done then (on_breach)")
        yield from _idle(subject, path, rule)


def _idle(subject: LintSubject, path: str, rule: EscalationRule) -> Iterator[Finding]:
    """There is no agent that could be suspended."""
    if subject.line.agents:
        return
    for name in ("on_breach", "at_once"):
        if "suspend_agent" in getattr(rule, name):
            message = f"{rule.trigger} is to suspend the agent, and no station of the line names one"
            yield Finding(
                ID,
                WARNING,
                f"{path}.{name}",
                message,
                "name the agents of the stations, or do something else",
            )
