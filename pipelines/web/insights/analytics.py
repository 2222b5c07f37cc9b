"""A line in numbers: what its rules took, how long stations and gates took, what was never taken and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from pipelines import access
from pipelines.models import Line, LineVersion
from pipelines.queries import analytics, usage, versions
from pipelines.queries.analytics import LineInsights, Never, RuleNumbers, StationNumbers
from pipelines.queries.usage import Spending
from pipelines.routing.basics import wording
from pipelines.routing.basics.plural import plural
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.decisions import policy_words
from pipelines.routing.sentences.names import target_name
from pipelines.routing.sentences.values import brief_json
from pipelines.web.shell.page import SignedIn, on_line, show_line
from pipelines.web.shell.scope import dates_of


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
    spending: Spending

    @property
    def has_tested(self) -> bool:
        return any(row.rule.tested for row in self.rules)

    @property
    def has_taken(self) -> bool:
        return any(row.rule.last_taken for row in self.rules)


@on_line("view")
@require_safe
def numbers(request: SignedIn, line: Line) -> HttpResponse:
    """`?version=` narrows to one; without it all versions count. `?since=`, `?until=`: the days that count."""
    version_number = request.GET.get("version", "")
    version = access.version_in(line, version_number) if version_number else None
    active_version, dates = version or line.live, dates_of(request)
    number = version.number if version else None
    return show_line(
        request,
        "insights/numbers.html",
        line,
        version=version,
        dates=dates,
        choices=[("", "All versions"), *((str(n), f"v{n}") for n in _published(line.pk))],
        **_context(
            analytics.of_line(line, number, dates), active_version, usage.of_line(line.pk, number, dates)
        ),
    )


def _published(line_id: int) -> list[int]:
    rows = LineVersion.objects.filter(line_id=line_id).order_by("-number")
    return list(rows.values_list("number", flat=True)[:200])


def _context(
    insights: LineInsights | None, active_version: LineVersion | None, spent: Mapping[str, Spending]
) -> dict[str, Any]:
    if insights is None or active_version is None:
        return {"numbers": None, "stations": []}
    parsed = versions.parsed(active_version)
    words = {"approve": "approved", "reject": "rejected", "send_back": "sent back"}
    gates = [
        (gate, ", ".join(f"{count} {words.get(word, word)}" for word, count in gate.words.items()))
        for gate in insights.gates
    ]
    cards = [_card(parsed, station, spent.get(station.key, usage.NOTHING)) for station in insights.stations]
    return {
        "numbers": insights,
        "stations": cards,
        "spending": usage.total(spent),
        "gates": gates,
        "gates_opened": any(gate.visits for gate in insights.gates),
        "gates_decided": any(gate.deciding for gate in insights.gates),
    }


def _card(line: ParsedLine, station: StationNumbers, spending: Spending) -> StationCard:
    policy = [
        (knob_words(line, knob), count, _percent(count, station.outcomes)) for knob, count in station.policy
    ]
    return StationCard(station, [_row(line, station, rule) for rule in station.rules], policy, spending)


def _row(line: ParsedLine, station: StationNumbers, rule: RuleNumbers) -> RuleInsightsRow:
    targets = ", ".join(target_name(line, key) for key in rule.to)
    words, example, tone = never_words(line, station.key, rule.never) if rule.never else ("", "", "")
    return RuleInsightsRow(rule, targets, _percent(rule.taken, station.outcomes), words, example, tone)


def _percent(count: int, total: int) -> float:
    return 100 * count / total if total else 0.0


def never_words(line: ParsedLine, station: str, never: Never) -> tuple[str, str, str]:
    """Return why a rule was never taken, an example that would take it, and the tone."""
    tasks = plural("Not used in %(n)s task", "Not used in %(n)s tasks", never.tasks) % {"n": never.tasks}
    if never.can:
        outcome = (never.witness or {}).get("outcome", {})
        return f"{tasks}, but matched by", brief_json(outcome), ""
    if never.can is None:
        return (
            f"{tasks}; whether it can be is not known: {wording.people_text(never.why)}",
            "",
            "attention",
        )
    if not never.killers:
        return "Never matches: nothing satisfies its condition", "", "danger"
    ids = [rule.id for rule in line.station(station).rules]
    numbers = [str(ids.index(killer) + 1) for killer in never.killers]
    words = plural(
        "Never matches: rule %(rules)s already takes everything",
        "Never matches: rules %(rules)s already take everything",
        len(numbers),
    )
    return (
        words % {"rules": " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))},
        "",
        "danger",
    )


def knob_words(line: ParsedLine, knob: str) -> str:
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
