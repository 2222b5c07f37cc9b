"""Trust of agents at stations: the record since they have their level, and whether it supports the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pipelines.models import Agent, AgentEvent, Project
from pipelines.models.agents import EVERYWHERE
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.routing.basics.plural import singular_or_plural
from reviews.insights.sheets import value_text_or_dash
from reviews.insights.statements import TRUST_RECORDS

RECENT_DAYS = 90
"""Days of which runs are counted, where the level is older."""
MAX_RECORDS = 100
OFFERED = "Yes, as its record shows."
BY_HAND = "No rule leads above level {}. An administrator can set it at the agent."


@dataclass(frozen=True, slots=True)
class PromotionRule:
    """Rule by which a level is left upwards. `needs_both`: weeks and runs, else either; `max_defects`: for each 50
    tasks. No reverted change is borne at any level."""

    weeks: int
    runs: int
    needs_both: bool
    first_pass: float
    max_defects: int | None = None


PROMOTION_RULES: Final[Mapping[int, PromotionRule]] = {
    0: PromotionRule(weeks=2, runs=20, needs_both=True, first_pass=0.9),
    1: PromotionRule(weeks=4, runs=50, needs_both=False, first_pass=0.95, max_defects=2),
}
"""By level, as AEEF states them; what leads above level 2 it does not say."""


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """Record of an agent at a station since `since`: `first` decisions in the first round of gates that opened after
    its runs, `approved` of them; `defects`: tasks that somebody refused, or with a claim that facts contradict."""

    agent: Agent
    station: str
    level: int
    since: datetime
    days: int
    runs: int
    tasks: int
    first: int
    approved: int
    defects: int
    reverted: int

    @property
    def first_pass(self) -> float | None:
        return self.approved / self.first if self.first else None

    @property
    def first_pass_text(self) -> str:
        return value_text_or_dash(self.first_pass, "share")

    @property
    def next_level(self) -> int | None:
        """The level that the record supports; None where there is none."""
        return None if any(self._missing()) or self.level not in PROMOTION_RULES else self.level + 1

    @property
    def answer(self) -> str:
        if self.level not in PROMOTION_RULES:
            return BY_HAND.format(self.level)
        missing = "; ".join(self._missing())
        return f"Not yet: {missing}." if missing else OFFERED

    @property
    def evidence(self) -> str:
        """The record in one sentence, as the audit keeps it."""
        return (
            f"{_count(self.runs, 'run', 'runs')} in {_count(self.days, 'day', 'days')}, {self.approved} of"
            f" {self.first} first decisions approved, {_count(self.defects, 'task', 'tasks')} with a defect,"
            f" {self.reverted} reverted"
        )

    def _missing(self) -> Iterator[str]:
        rule = PROMOTION_RULES.get(self.level)
        if rule is None:
            return
        is_long, is_often = self.days >= 7 * rule.weeks, self.runs >= rule.runs
        lasted, ran = f"{self.days} of {7 * rule.weeks} days", f"{self.runs} of {rule.runs} runs"
        if rule.needs_both:
            yield from (text for text, enough in ((lasted, is_long), (ran, is_often)) if not enough)
        elif not (is_long or is_often):
            yield f"{lasted} or {ran}"
        if self.first_pass is None:
            yield "no gate decided about its work"
        elif self.first_pass < rule.first_pass:
            yield f"{self.approved} of {self.first} first decisions approved, {rule.first_pass:.0%} needed"
        # In whole numbers, as the rule is said: so many of fifty tasks
        if rule.max_defects is not None and 50 * self.defects > rule.max_defects * self.tasks:
            yield f"{self.defects} of {self.tasks} tasks with a defect, at most {rule.max_defects} of 50"
        if self.reverted:
            yield f"{self.reverted} reverted"


def trust_records(project: Project, now: datetime) -> list[TrustRecord]:
    """Agents of the registry where they worked lately, three statements; one where there are none."""
    agents = {agent.key: agent for agent in Agent.objects.filter(project=project)}
    if not agents:
        return []
    begun = _beginnings_of_levels(project, agents)
    pairs = list(begun)
    rows = fetch(
        TRUST_RECORDS,
        {
            "project": project.pk,
            "agents": [agent for agent, _station in pairs],
            "stations": [station for _agent, station in pairs],
            "since": [begun[pair] for pair in pairs],
            "days": RECENT_DAYS,
            "most": MAX_RECORDS,
        },
    )
    return [
        _trust_record(agents[agent], station, first, counts, now) for agent, station, first, *counts in rows
    ]


def _trust_record(
    agent: Agent, station: str, since: datetime, counts: Sequence[int], now: datetime
) -> TrustRecord:
    days = max((now - since) // timedelta(days=1), 0)
    return TrustRecord(agent, station, agent.trust_level_at(station), since, days, *counts)


def _beginnings_of_levels(project: Project, agents: Mapping[str, Agent]) -> dict[tuple[str, str], datetime]:
    """Return since when each agent has its level at each station that its trust ever named, and at all others."""
    changes: dict[str, list[tuple[datetime, Mapping[str, int]]]] = {key: [] for key in agents}
    events = AgentEvent.objects.filter(agent__project=project, data__has_key="trust").order_by("pk")
    for key, at, trust in events.values_list("agent__key", "at", "data__trust"):
        changes[key].append((at, trust))
    begun = {}
    for key, agent in agents.items():
        for station in {EVERYWHERE, *agent.trust, *(name for _at, trust in changes[key] for name in trust)}:
            begun[key, station] = _beginning_of_level(agent, station, changes[key])
    return begun


def _beginning_of_level(
    agent: Agent, station: str, changes: Sequence[tuple[datetime, Mapping[str, int]]]
) -> datetime:
    beginning, level = agent.created_at, None
    for at, trust in changes:
        next_level = trust.get(station, trust.get(EVERYWHERE, 0))
        # What an agent that was added without an event had before is not known
        if next_level != level:
            beginning = at
        level = next_level
    return beginning


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular_or_plural(singular, plural, number)}"
