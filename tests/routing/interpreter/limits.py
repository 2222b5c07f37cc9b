"""§8: named budgets and the preconditions of a forward move."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .case import Case, Rule, rule_id, wait
from .values import Json

# E16: "max" of each failure type; E20: "same-stage rework 3", "cross-stage 5 total", "(Stage 1 restart) 2"
TYPES = {
    "test failure": 3,
    "test gap": 2,
    "acceptance mismatch": 1,
    "vulnerability": 3,
    "license": 2,
    "evidence gap": 2,
    "configuration error": 2,
    "environment mismatch": 2,
    "health check": 1,
}
MANAGER = "development-manager"
# dialects.md, E: "change_summary{what_changed,files_touched,rationale},evidence{…} required"
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["change_summary", "evidence"],
    "properties": {
        "change_summary": {"type": "object", "required": ["what_changed", "files_touched", "rationale"]},
        "evidence": {"type": "object", "required": ["prompt_reference", "contract_version"]},
    },
}


def standard(stations: Mapping[str, Any]) -> list[dict[str, Json]]:
    """What the preset `aeef` switches on."""
    to = {"on_exhausted": "escalate"}
    budgets: list[dict[str, Json]] = [
        {"key": "same-stage-rework", "kind": "same_stage", "most": 3, "role": "stage-owner", **to},
        {"key": "cross-stage-rework", "kind": "cross_stage", "most": 5, "role": MANAGER, **to},
        {"key": "restart", "kind": "restart", "most": 2, "role": "cto", **to},
    ]
    for name, most in TYPES.items():
        spelt = [name, name.replace(" ", "_"), name.replace(" ", "-")]
        key = f"failure-{name.replace(' ', '-')}"
        budgets.append(
            {"key": key, "kind": "failure_type", "failure_types": spelt, "most": most, "role": MANAGER, **to}
        )
    return budgets


def fits(value: Json, schema: Mapping[str, Any]) -> bool:
    """As much of JSON Schema as the drawn lines use."""
    if schema.get("type") == "object" and not isinstance(value, Mapping):
        return False
    if not isinstance(value, Mapping):
        return True
    if any(name not in value for name in schema.get("required", ())):
        return False
    inner = schema.get("properties", {})
    return all(fits(value[name], inner[name]) for name in inner if name in value)


class Limits(Case):
    """What the line limits, and what a forward move needs."""

    def named(self) -> list[Mapping[str, Any]]:
        """Those of the line, then the standard ones that it does not declare itself."""
        own = self.said.get("budgets") or []
        keys = {budget["key"] for budget in own}
        more = standard(self.stations) if self.knobs["standard_budgets"] in ("yes", True) else []
        found = [*own, *(budget for budget in more if budget["key"] not in keys)]
        return [budget for budget in found if budget["most"] != "none"]

    # Budgets

    def named_breaches(
        self, targets: Sequence[str], rule: Rule | None, over: Sequence[str]
    ) -> Iterator[tuple[str, Json, Mapping[str, Any]]]:
        """ "N are allowed, the N + 1st is refused": key, consequence, and the budget itself."""
        for budget in self.named():
            if budget["key"] in over:
                continue
            spending = [target for target in targets if self.spends(budget, self.here, target, rule, True)]
            if not spending:
                continue
            counts_once = budget["kind"] in ("rules", "failure_type")
            more = 1 if counts_once else len(spending)
            if self.spent(budget) + more > budget["most"]:
                consequence = budget.get("on_exhausted")
                yield (
                    budget["key"],
                    self.knobs["on_exhausted"] if consequence is None else consequence,
                    budget,
                )

    def spends(
        self, budget: Mapping[str, Any], source: str, target: str, rule: Rule | None, now: bool
    ) -> bool:
        """Whether going from one to the other costs one of it."""
        kind = budget["kind"]
        if kind == "rules":
            return rule is not None and rule["id"] in budget["rules"]
        if kind == "edges":
            return f"{source}->{target}" in budget["edges"]
        if target not in self.stations or source not in self.stations:
            return False
        if kind == "station":
            return target in budget["stations"]
        if kind == "failure_type":
            of_station = not budget.get("stations") or source in budget["stations"]
            return now and of_station and self.outcome.get("failure_type") in budget["failure_types"]
        if kind == "loop":
            return target == budget["stations"][0] and source in budget["stations"]
        earlier = self.order.index
        if kind == "restart":
            begins = budget.get("stations") or [self.said.get("start") or self.order[0]]
            return target in begins and source not in begins and earlier(target) < earlier(source)
        here, there = self.stage(source), self.stage(target)
        if kind == "cross_stage":
            return earlier(there) < earlier(here)
        stages = budget.get("stations")
        into_rework = source == target or there != target
        return here == there and into_rework and (not stages or here in stages)

    def stage(self, station: str) -> str:
        """The station of whose stage it is."""
        return self.stations[station].get("stage") or station

    def spent(self, budget: Mapping[str, Any]) -> int:
        """From what the facts count."""
        kind, facts = budget["kind"], self.moment
        if kind == "rules":
            return sum(self.taken.get(rule, 0) for rule in budget["rules"])
        if kind == "station":
            return sum(self.visits.get(station, 0) for station in budget["stations"])
        if kind == "failure_type":
            total = 0
            for name, count in (facts.get("failures") or {}).items():
                station, _, failure = name.partition(":")
                if failure in budget["failure_types"]:
                    total += count if not budget.get("stations") or station in budget["stations"] else 0
            return total
        total = 0
        for edge, count in (facts.get("edges") or {}).items():
            source, _, target = edge.partition("->")
            if self.spends(budget, source, target, None, False):
                same = kind != "same_stage" or self.stage(source) == self.stage(self.here)
                total += count if same else 0
        return total

    # Preconditions

    def check_preconditions(self, targets: Sequence[str], rule: Rule | None) -> None:
        """ "preconditions (§8) ⇒ `held`": of a forward move, "to a station that stands later in the order, or to
        a completed end"."""
        later = self.order[self.order.index(self.here) + 1 :]
        forward = [target for target in targets if target in later or self.ends.get(target) == "completed"]
        if not forward:
            return
        named = self.moment.get("preconditions") or {}
        missing: list[str] = []
        for name in self.required():
            if named.get(name) is None:
                missing += self.absent(name, [target for target in forward if target in later])
        # "preconditions, in the order given, then `no_open_escalation`"
        missing += [name for name, present in named.items() if present is False]
        if self.moment.get("open_escalations", 0) > 0:
            missing.append("no_open_escalation")
        if missing:
            raise wait("held", to=list(targets), rule=rule_id(rule), missing=list(dict.fromkeys(missing)))

    def required(self) -> Sequence[str]:
        """The station's own, else the four of E14 (the last is asked always) where the policy has them on."""
        own = self.station.get("requires")
        if own is not None:
            return list(own)
        on = self.knobs["preconditions"] in ("yes", True)
        return ["station_gate", "handoff", "agent"] if on else []

    def absent(self, name: str, stations: Sequence[str]) -> list[str]:
        """The names of what is not there."""
        if name == "station_gate":
            return [] if self.gate_passed or self.station.get("gate") is None else [name]
        if name == "handoff":
            schema = self.station.get("handoff", self.said.get("handoff", SCHEMA))
            handoff = self.outcome.get("handoff")
            there = handoff is not None and fits(handoff, schema)
            return [] if there or not stations else [name]
        if name == "agent":
            return self.absent_agents(stations)
        return [] if self.is_given(name.removeprefix("metadata:")) else [name]

    def absent_agents(self, stations: Sequence[str]) -> list[str]:
        """ "target agent available (capacity and contract)" """
        # "Each `wait_for` station delivers the token that left it for the join": nobody works for it yet.
        entered = [each for each in stations if not self.waits_at(each)]
        wanted = [agent for each in entered if (agent := self.stations[each].get("agent"))]
        # "Who answers for it besides has to be available, and takes no place."
        named = [self.stations[each].get(key) for each in entered for key in ("agent", "second_agent")]
        known = self.moment.get("agents") or {}
        found = []
        for agent in dict.fromkeys(filter(None, named)):
            fact = known.get(agent)
            free = None if fact is None else fact.get("free")
            available = fact is not None and fact.get("state", "available") == "available"
            if not available or (free is not None and free < wanted.count(agent)):
                found.append(f"agent:{agent}")
        return found

    def waits_at(self, station: str) -> bool:
        """Whether a token from here waits there for its siblings."""
        join = self.stations[station].get("join") or {}
        return station != self.here and self.here in join.get("wait_for", [])

    def is_given(self, name: str) -> bool:
        """Metadata: in the output, the handoff, the data, or among the labels."""
        output = self.outcome.get("output")
        places = [
            output,
            self.outcome.get("handoff"),
            self.outcome.get("git"),
            *(self.moment.get(part) for part in ("context", "variables", "inputs")),
        ]
        for place in places:
            if not isinstance(place, Mapping):
                continue
            inner = place.get("ai_metadata")
            inside = inner.get(name) if isinstance(inner, Mapping) else None
            if place.get(name) not in (None, "", [], {}) or inside not in (None, "", [], {}):
                return True
        labels = (self.moment.get("task") or {}).get("labels") or []
        return any(isinstance(label, str) and label.split(":")[0].strip() == name for label in labels)
