"""Rules of a line in numbers: how often each was tested and matched, what never matched, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines import access
from pipelines.models import Line, LineVersion
from pipelines.queries import analytics, versions
from pipelines.queries.analytics import LineInsights, RuleNumbers, StationNumbers, UnusedRule
from pipelines.queries.dates import DateRange
from pipelines.routing.basics import wording
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.decisions import policy_words
from pipelines.routing.sentences.names import target_name
from pipelines.routing.sentences.values import shortened_unquoted_json


@dataclass(frozen=True, slots=True)
class RuleInsightsRow:
    rule: RuleNumbers
    targets: str
    percent: float
    never: str
    example: str
    tone: str


@dataclass(frozen=True, slots=True)
class StationCard:
    station: StationNumbers
    rules: list[RuleInsightsRow]
    policy: list[tuple[str, int, float]]

    @property
    def has_tested(self) -> bool:
        return any(row.rule.tested for row in self.rules)

    @property
    def has_taken(self) -> bool:
        return any(row.rule.last_taken for row in self.rules)


def rules_context(line: Line, version_number: str, dates: DateRange) -> dict[str, Any]:
    """Return the context of the part: of one version, or without a number of all."""
    version = access.version_of_permitted_line(line, version_number) if version_number else None
    active_version, number = version or line.live, version.number if version else None
    return {
        "version": version,
        "choices": [("", "All versions"), *((str(n), f"v{n}") for n in _latest_version_numbers(line.pk))],
        **_numbers_context(analytics.line_insights_or_none(line, number, dates), active_version),
    }


def _latest_version_numbers(line_id: int) -> list[int]:
    rows = LineVersion.objects.filter(line_id=line_id).order_by("-number")
    return list(rows.values_list("number", flat=True)[:200])


def _numbers_context(numbers: LineInsights | None, active_version: LineVersion | None) -> dict[str, Any]:
    if numbers is None or active_version is None:
        return {"numbers": None, "stations": []}
    parsed = versions.parsed_version(active_version)
    return {"numbers": numbers, "stations": [_station_card(parsed, station) for station in numbers.stations]}


def _station_card(line: ParsedLine, station: StationNumbers) -> StationCard:
    policy = [
        (
            sentence_of_policy_outcome(line, row.knob),
            row.outcomes,
            _percent_or_zero(row.outcomes, station.outcomes),
        )
        for row in station.policy
    ]
    return StationCard(station, [_rule_row(line, station, rule) for rule in station.rules], policy)


def _rule_row(line: ParsedLine, station: StationNumbers, rule: RuleNumbers) -> RuleInsightsRow:
    targets = ", ".join(target_name(line, key) for key in rule.to)
    words, example, tone = explain_unused_rule(line, station.key, rule.never) if rule.never else ("", "", "")
    return RuleInsightsRow(
        rule, targets, _percent_or_zero(rule.taken, station.outcomes), words, example, tone
    )


def _percent_or_zero(count: int, total: int) -> float:
    return 100 * count / total if total else 0.0


class UnusedRuleReason(NamedTuple):
    """Reason why a rule was never taken, an outcome that would take it ("" without one), and the tone ("" for none)."""

    reason: str
    example: str
    tone: str


def explain_unused_rule(line: ParsedLine, station: str, never: UnusedRule) -> UnusedRuleReason:
    """Explain why a rule was never taken."""
    tasks = singular_or_plural("Not used in %(n)s task", "Not used in %(n)s tasks", never.tasks) % {
        "n": never.tasks
    }
    if never.can:
        outcome = (never.witness or {}).get("outcome", {})
        return UnusedRuleReason(f"{tasks}, but matched by", shortened_unquoted_json(outcome), "")
    if never.can is None:
        return UnusedRuleReason(
            f"{tasks}; whether it can be is not known: {wording.people_text(never.why)}",
            "",
            "attention",
        )
    if not never.killers:
        return UnusedRuleReason("Never matches: nothing satisfies its condition", "", "danger")
    ids = [rule.id for rule in line.station(station).rules]
    numbers = [str(ids.index(killer) + 1) for killer in never.killers]
    words = singular_or_plural(
        "Never matches: rule %(rules)s already takes everything",
        "Never matches: rules %(rules)s already take everything",
        len(numbers),
    )
    return UnusedRuleReason(
        words % {"rules": " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))},
        "",
        "danger",
    )


def sentence_of_policy_outcome(line: ParsedLine, knob: str) -> str:
    """A knob and its value, as what happened."""
    # `no_match: fail`, or a word alone, such as `blocked`
    name, _colon, value = knob.partition(": ")
    if name == "blocked":
        return "Blocked, and no rule takes it"
    if name == "failure_rules":
        return "Failed outcomes skip the rules"
    labels = {
        "no_rules": "No rules",
        "no_match": "No rule matched",
        "on_failure": "Failed, and no rule takes it",
    }
    return f"{labels.get(name, name)}: {policy_words(line, value)}"
