"""Drawn lines: rules, gates, policies."""

from .draw_conditions import PATTERNS, Conditions
from .draw_data import SCALARS
from .values import Json

CHECK_OPS = (
    *("equals", "not_equals", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"),
    *("contains", "matches", "in", "exists"),
)
CHECK_FIELDS = (
    *("exit_code", "result", "verdict", "eval", "failure_type", "signal", "blockers", "run.attempt"),
    *("output.a", "output.a.b", "output.high", "output.nope", "context.a", "context.deep.x", "variables.v"),
    *(
        "task.priority",
        "task.owner.name",
        "input.mode",
        "gates.g1",
        "gates.g2",
        "usage.cost_usd",
        "cost.total_usd",
    ),
    *("git.commit_count", "model", "tokens.input", "timing.duration_sec", "git.ai_metadata.AI-Usage"),
    *("output", "meta.a"),
)
PRESETS = ("alp", "contenox", "vibe-factory", "flux", "aeef")


class Lines(Conditions):
    """A line document."""

    def make_rule(self, number: int) -> dict[str, Json]:
        """A rule of the station, faulty now and then."""
        rule: dict[str, Json] = {"id": f"r{number}", "to": self.make_target()}
        if self.chance(0.9):
            rule["when"] = self.make_when()
        if self.chance({"gates": 0.85, "data": 0.1}.get(self.mood, 0.35)):
            rule["gates"] = self.random.sample(self.gates, self.random.randint(1, min(3, len(self.gates))))
        often = 0.5 if self.mood == "budgets" else 0.2
        for key, probability, make in (
            ("max_retries", often, self.few),
            ("max_visits", often, lambda: self.random.randint(1, 4)),
            ("allow_revisit", 0.2, lambda: self.chance(0.6)),
            ("on_exhausted", 0.4, self.make_on_exhausted),
            ("feedback", 0.3, lambda: True),
            ("compose", 0.15, self.make_compose),
        ):
            if self.chance(probability):
                rule[key] = make()
        if self.chance(0.03):
            self.break_rule(rule)
        return rule

    def break_rule(self, rule: dict[str, Json]) -> None:
        """A fault in its condition, its target or its gates."""
        part = self.pick("when", "when", "to", "gates")
        rule[part] = {"when": self.break_when(), "to": "moon", "gates": ["no-such-gate"]}[part]

    def make_target(self) -> Json:
        """A station most often, its own among them."""
        kind = self.random.random()
        if kind < 0.45:
            return self.pick(*self.stations)
        if kind < 0.55:
            return self.here
        if kind < 0.7:
            return self.pick(*self.places)
        if kind < 0.8:
            return "@origin"
        if kind < 0.88:
            return "@blocked"
        return self.random.sample(self.stations, self.random.randint(2, len(self.stations)))

    def make_on_exhausted(self) -> Json:
        """Three words, or a station or an end."""
        return self.pick(
            "fail", "stuck", "escalate", {"to": self.pick(*self.places)}, {"to": self.pick(*self.places)}
        )

    def make_compose(self) -> list[Json]:
        """One or two variables."""
        return [
            {"var": f"v{n}", "path": self.pick("a", "b", "$.a", "$.high", "$.tags[*]", self.make_path())}
            for n in range(self.random.randint(1, 2))
        ]

    def make_check(self) -> dict[str, Json]:
        """One check, of a field that is often there."""
        check: dict[str, Json] = {"field": self.pick(*CHECK_FIELDS), "operator": self.pick(*CHECK_OPS)}
        operator = check["operator"]
        if operator == "in":
            check["value"] = [self.pick(*SCALARS) for _ in range(3)] + ["success", "pass", 7]
        elif operator == "matches":
            check["value"] = self.pick(*PATTERNS)
        elif "than" in operator:
            check["value"] = self.pick(0, 1, 2, 6.5)
        elif operator != "exists":
            check["value"] = self.pick(*SCALARS, "success", "failure", "approve", "rework", 7)
        if self.chance(0.3):
            check["severity"] = self.pick("warn", "required", "block")
        if self.chance(0.8):
            check["action"] = self.pick(
                "proceed", "hold", "hold", "rework", "rework", "abort", "notify", "escalate"
            )
        return check

    def make_group(self, depth: int = 2) -> dict[str, Json]:
        """A group of checks, nested now and then."""
        members: list[Json] = [
            self.make_group(depth - 1) if depth and self.chance(0.2) else self.make_check()
            for _ in range(self.random.randint(1, 3))
        ]
        return {self.pick("all", "any"): members}

    def make_gate(self, key: str) -> dict[str, Json]:
        """A gate; half of them ask a person."""
        gate: dict[str, Json] = {"key": key, "name": key}
        for name, probability, make in (
            ("mode", 0.6, lambda: self.pick("auto", "auto", "manual", "checks_then_manual", "skip")),
            ("requires_approval", 0.3, lambda: self.chance(0.4)),
            ("checks", 0.5, self.make_group),
            ("on_reject", 0.3, self.make_on_reject),
            ("approval", 0.3, lambda: {"max_rounds": self.random.randint(1, 3)}),
        ):
            if self.chance(probability):
                gate[name] = make()
        gate["offers"] = ["approve", "send_back", "reject", "rework", "abort"]
        return gate

    def make_on_reject(self) -> str:
        """The knob, or its own."""
        return str(self.pick("fail", "rework", "reviewer_chooses", f"route:{self.pick(*self.stations)}"))

    def make_policy(self) -> dict[str, Json]:
        """Some knobs."""
        policy: dict[str, Json] = {}
        for name, probability, make in (
            ("no_rules", 0.3, lambda: self.pick("advance", "end", "refuse")),
            ("no_match", 0.4, lambda: self.pick("default", "fail", "stuck", "fallback", "escalate")),
            ("on_failure", 0.5, self.make_on_failure),
            ("failure_rules", 0.08, lambda: self.pick("yes", "no", "no")),
            ("revisit", 0.5, lambda: self.pick("allow", "forbid", "limit:1", "limit:2")),
            ("self_loop_limit", 0.3, lambda: self.pick(1, 2, 3, "none")),
            ("on_reject", 0.3, self.make_on_reject),
            ("on_exhausted", 0.4, lambda: self.pick("fail", "stuck", "escalate")),
            ("condition_scope", 0.3, lambda: self.pick("merged", "merged", "current")),
            ("visit_cap", 0.2, lambda: self.random.randint(1, 5)),
            ("standard_budgets", 0.1, lambda: self.pick("yes", "no")),
            ("preconditions", 0.2, lambda: self.pick("yes", "no", "no")),
        ):
            if self.chance(probability):
                policy[name] = make()
        return policy

    def make_on_failure(self) -> str:
        """The knob."""
        return str(self.pick("halt", "stuck", "escalate", "fallback", f"station:{self.pick(*self.stations)}"))

    def make_station(self, key: str) -> dict[str, Json]:
        """A station; rules only where the task is."""
        station: dict[str, Json] = {"key": key, "name": key, "work": {"kind": "noop"}}
        limits = {}
        if self.chance(0.5 if self.mood == "budgets" else 0.12):
            limits["max_visits"] = self.random.randint(1, 4)
        if self.chance(0.15):
            limits["max_retries"] = self.few()
        if limits:
            station["limits"] = limits
        if self.chance(0.2):
            station["stage"] = self.pick(*self.stations)
        if self.chance(0.3):
            station["agent"] = self.pick("ann", "bob")
            if len(key) % 2:
                station["second_agent"] = "ann" if station["agent"] == "bob" else "bob"
        if self.chance(0.12):
            names = ["station_gate", "handoff", "agent", "metadata:high", "metadata:AI-Usage"]
            station["requires"] = self.random.sample(names, self.few(3))
        if key != self.here:
            return station
        if self.chance(0.25):
            station["result_document"] = self.pick("required", "optional", "none")
        if self.chance({"gates": 0.4, "budgets": 0.1, "data": 0.1}.get(self.mood, 0.3)):
            station["gate"] = self.pick(*self.gates)
        count = 0 if self.chance(0.1) else self.random.randint(1, 8)
        station["rules"] = [self.make_rule(number) for number in range(1, count + 1)]
        return station

    def make_budgets(self) -> list[Json]:
        """One to four named ones, of every kind."""
        some = lambda: self.random.sample(self.stations, self.random.randint(1, 2))  # noqa: E731
        makers = {
            "rules": lambda: {"rules": [f"r{self.random.randint(1, 2)}"]},
            "edges": lambda: {"edges": [f"{self.here}->{self.pick(*self.places)}" for _ in range(2)]},
            "station": lambda: {"stations": some()},
            "failure_type": lambda: {
                "failure_types": ["license", "code"],
                **({"stations": some()} if self.chance(0.4) else {}),
            },
            "same_stage": lambda: {"stations": some()} if self.chance(0.3) else {},
            "cross_stage": dict,
            "restart": lambda: {"stations": some()} if self.chance(0.3) else {},
            "loop": lambda: {"stations": self.random.sample(self.stations, 2)},
        }
        budgets: list[Json] = []
        for number in range(self.random.randint(1, 4)):
            kind = self.pick(*makers)
            budget = {"key": f"b{number}", "kind": kind, "most": self.few(), **makers[kind]()}
            if self.chance(0.6):
                budget["on_exhausted"] = self.make_on_exhausted()
            if self.chance(0.4):
                budget["role"] = self.pick("lead", "cto")
            budgets.append(budget)
        return budgets

    def make_document(self) -> dict[str, Json]:
        """The line."""
        document: dict[str, Json] = {
            "gateline": 1,
            "key": "made",
            "name": "Made",
            "flags": {"agentic_conditions": True},
            "stations": [self.make_station(key) for key in self.stations],
            "gates": [self.make_gate(key) for key in self.gates],
            "ends": [{"key": key, "kind": kind, "label": key.upper()} for key, kind in self.ends],
            "preset": self.pick(*PRESETS),
            "forbidden_parallel": [[self.pick(*self.stations), self.pick(*self.stations)]]
            if self.chance(0.1)
            else [],
        }
        known = {rule["id"] for station in document["stations"] for rule in station.get("rules", ())}
        if known >= {"r1", "r2"} and self.chance(0.6 if self.mood == "budgets" else 0.15):
            document["budgets"] = self.make_budgets()
        if self.chance(0.2):
            document["handoff"] = self.pick({}, {"type": "object", "required": ["why"]})
        if self.chance(0.6):
            places = [*self.stations, *(key for key, _ in self.ends), "completed"]
            document["jumps"] = self.pick("all", "all", [], [self.pick(*places), self.pick(*places)])
        if self.chance(0.7):
            document["policy"] = self.make_policy()
        return document
