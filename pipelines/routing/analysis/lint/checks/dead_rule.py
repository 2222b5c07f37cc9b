"""A rule that can never be taken, because earlier rules take everything that it would; the situation shows one."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.liveness import DEAD
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named

ID = "dead-rule"
CAUSE = "Rule that never matches"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station, index, liveness in subject.liveness_of_all_rules():
        if liveness.status == DEAD and not liveness.never:
            killers, rule = liveness.killers, named.rule_phrase(subject.line, liveness.rule.id)
            yield Finding(
                check=ID,
                severity=ERROR,
                path=subject.path_of_station_or_rule(station, index),
                message=_message(subject.line, liveness.rule.id, killers),
                short=_("rule %(rule)s never matches", rule=rule),
                why=_killers_text(subject.line, killers),
                hint="move it up, narrow the rules above, or remove it",
                station=station.key,
                rule=liveness.rule.id,
                rules=killers,
                witness=liveness.instead,
            )


def _message(line: ParsedLine, rule: str, killers: tuple[str, ...]) -> str:
    take = "together take" if len(killers) > 1 else "takes"
    words = {"rule": named.rule_phrase(line, rule), "taken": _killers_text(line, killers)}
    people = _("Rule %(rule)s never matches: %(taken)s", **words)
    return Wording.of(f"Rule {rule} can never be taken: {', '.join(killers)} {take} all of it", people)


def _killers_text(line: ParsedLine, killers: tuple[str, ...]) -> str:
    earlier = named.rules_phrase(line, killers)
    if len(killers) > 1:
        return _("%(earlier)s already take everything", earlier=earlier)
    return _("%(earlier)s already takes everything", earlier=earlier)
