"""An escalation about which nothing happens when nobody answers it."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import INFO, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.escalations import EscalationRule
from pipelines.routing.sentences import part_names as named

ID = "unanswered-escalation"
CAUSE = "Escalation without a consequence"
SAY_WHEN = Wording.of(
    "say how soon an answer is due (sla), and what is done when it is late (on_breach)",
    "set a time to answer, and what happens when it has passed",
)
SAY_WHAT = Wording.of("say what is done then (on_breach)", "set what happens when the time has passed")


def check(subject: LintSubject) -> Iterator[Finding]:
    for index, rule in enumerate(subject.line.escalations):
        path = f"escalations[{index}]"
        words = {"trigger": named.trigger_part_name(rule.trigger), "role": named.role_part_name(rule.role)}
        if rule.sla is None:
            message = _("What is escalated with %(trigger)s waits for %(role)s as long as it takes", **words)
            yield Finding(ID, INFO, path, message, SAY_WHEN)
        elif not rule.on_breach:
            message = _("Nothing happens when %(role)s does not answer %(trigger)s in time", **words)
            yield Finding(ID, WARNING, f"{path}.sla", message, SAY_WHAT)
        yield from _idle_suspension_findings(subject, path, rule)


def _idle_suspension_findings(subject: LintSubject, path: str, rule: EscalationRule) -> Iterator[Finding]:
    """There is no agent that could be suspended."""
    if subject.line.agents:
        return
    for name in ("on_breach", "at_once"):
        if "suspend_agent" in getattr(rule, name):
            message = _(
                "%(trigger)s is to suspend the agent, and no station of the line names one",
                trigger=named.trigger_part_name(rule.trigger),
            )
            yield Finding(
                ID,
                WARNING,
                f"{path}.{name}",
                message,
                "name the agents of the stations, or do something else",
            )
