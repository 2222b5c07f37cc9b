"""A rule without a condition that is not the last: nothing below it is ever tried at first."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, is_unconditional
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named

ID = "default-not-last"
CAUSE = "Rule that leaves nothing to those below"


def check(subject: LintSubject) -> Iterator[Finding]:
    for station in subject.line.stations:
        for index, rule in enumerate(station.rules[:-1]):
            if is_unconditional(rule):
                yield Finding(
                    check=ID,
                    severity=WARNING,
                    path=subject.path_of_station_or_rule(station, index),
                    message=_message(subject.line, rule.id, len(station.rules) - index - 1),
                    hint="move it to the end, or give it a condition",
                    station=station.key,
                    rule=rule.id,
                    rules=tuple(below.id for below in station.rules[index + 1 :]),
                )
                # Another such rule further down is one of those below this one.
                break


def _message(line: ParsedLine, rule: str, below: int) -> str:
    words = {"rule": named.rule_phrase(line, rule), "count": below}
    people = (
        _("Rule %(rule)s takes everything, but 1 rule stands below it", **words)
        if below == 1
        else _("Rule %(rule)s takes everything, but %(count)s rules stand below it", **words)
    )
    return Wording.of(f"Rule {rule} takes everything, but {below} stand below it", people)
