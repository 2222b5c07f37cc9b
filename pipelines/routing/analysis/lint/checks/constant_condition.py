"""A condition that is never true, or never false, of anything that reaches the rules."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.sentences import references as named

ID = "constant-condition"
CAUSE = _("Condition that is always the same")


def check(subject: LintSubject) -> Iterator[Finding]:
    for station in subject.line.stations:
        analysis = subject.analysis(station)
        for index, rule in enumerate(analysis.readable):
            constant = None if is_unconditional(rule) else analysis.constant(rule)
            if constant is not None:
                words = {"rule": named.rule(subject.line, rule.id), "when": named.condition(rule.when)}
                yield Finding(
                    check=ID,
                    severity=WARNING if constant else ERROR,
                    path=f"{subject.path(station, index)}.when",
                    message=_("The condition of rule %(rule)s is never false: %(when)s", **words)
                    if constant
                    else _("The condition of rule %(rule)s is never true: %(when)s", **words),
                    hint=_("leave `when` out, if that is meant")
                    if constant
                    else _("correct it, or remove the rule"),
                    station=station.key,
                    rule=rule.id,
                )
