"""Drawn facts and conditions on them; drawn apart from everything else, so that a seed keeps its case."""

from random import Random
from typing import Any

from .values import Json

PATHS = (
    *("tests.failed", "tests.passed", "git.files_changed", "git.paths", "findings.high", "usage.cost_usd"),
    *("claims.contradicted", "agent.final_event", "tests", "tests.nothing", "weather", "git.paths.0"),
    *("stations.plan.tests.failed", "stations.build.git.files_changed", "stations.moon.tests"),
    *("$.stations.build.findings.high", "$.stations[*].tests.failed"),
    *("$.tests.failed", "$.git.paths[*]", "$.git.paths[0]", "$.findings.*", "$..failed", "$", "$.coverage"),
    *("$.git.paths[?@ == 'a.py']", "tests.source.station", "$.tests.source.visit", "coverage.lines"),
)
KINDS = (
    *("budget_exceeded", "provider_unavailable", "no_final_event", "denied"),
    *("nothing_done", "output_missing"),
)
OF_OUTPUT = ("refused", "unreadable_output", "empty_answer")
ARTIFACTS: tuple[Json, ...] = (
    "out/a.xml",
    {"name": "a.xml"},
    {"path": "b.md"},
    {"name": "c", "error": "gone"},
)
OPS = ("exists", "missing", "equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "not_contains")
WORDS = ("starts_with", "ends_with", "matches")


def with_facts(seed: int, document: dict[str, Any], situations: list[dict[str, Any]]) -> None:
    """Facts in every third case, and then rules and checks that read them."""
    random = Random(f"facts {seed}")
    if random.random() < 0.65:
        return
    _expecting(random, document)
    for situation in situations:
        situation["outcome"]["facts"] = drawn(random)
        if random.random() < 0.5:
            situation["facts"]["spent"] = random.choice([0, 0.5, 2.1])
        if random.random() < 0.4:
            situation["facts"]["observed"] = {key: drawn(random) for key in ("plan", "build")}
        if random.random() < 0.3:
            situation["outcome"]["artifacts"] = random.sample(ARTIFACTS, random.randint(0, 3))
        if random.random() < 0.1:
            situation["outcome"] |= {
                "result": "failure",
                "failure_type": random.choice(["no_space", "license", "budget_exceeded"]),
            }
    for station in document["stations"]:
        for rule in station.get("rules") or ():
            asks = any(form in repr(rule.get("when")) for form in ("agentic", "hook"))
            if random.random() < 0.35 and not asks:
                rule["when"] = _when(random, rule.get("when", {"always": True}))
    for gate in document["gates"]:
        if random.random() < 0.25:
            gate["checks"] = {random.choice(["all", "any"]): [_check(random) for _ in range(2)]}


def with_output(seed: int, document: dict[str, Any], situations: list[dict[str, Any]]) -> None:
    """What was observed of the output, in every fourth case, and somebody who reads it in most of these."""
    random = Random(f"output {seed}")
    if random.random() < 0.75:
        return
    for station in document["stations"]:
        _read_by_somebody(random, station)
    for situation in situations:
        _seen_of_output(random, situation["outcome"])


def _read_by_somebody(random: Random, station: dict[str, Any]) -> None:
    if random.random() < 0.4:
        station["output_keys"] = ["high"]
    if random.random() < 0.2:
        station["expects"] = "output"
    if random.random() < 0.2:
        station["work"] = {"kind": "route", "by": random.choice(["model", "person"]), "prompt": "Which?"}
    if random.random() < 0.3:
        words = ["success", "failure", "blocked", *(["review"] if station.get("gate") else [])]
        said = {kind: random.choice(words) for kind in random.sample(OF_OUTPUT, 2)}
        station["outcome_of"] = {**(station.get("outcome_of") or {}), **said}
    for rule in station.get("rules") or ():
        asks = any(form in repr(rule.get("when")) for form in ("agentic", "hook"))
        if random.random() < 0.3 and not asks:
            path = random.choice(["output.unreadable", "output.empty", "$.output", "agent.error"])
            fact = {"fact": {"path": path, "op": random.choice(["exists", "missing"])}}
            rule["when"] = random.choice([fact, {"failure_type": random.choice(OF_OUTPUT)}])


def _seen_of_output(random: Random, outcome: dict[str, Any]) -> None:
    likely = {"refused": "No.", "unreadable": "line 3", "empty": True, "signal": True}
    seen = {key: value for key, value in likely.items() if random.random() < 0.35}
    seen |= {key: False if value is True else "" for key, value in seen.items() if random.random() < 0.1}
    facts = {**(outcome.get("facts") or {}), "output": seen}
    if random.random() < 0.2:
        facts["agent"] = {**(facts.get("agent") or {}), "error": "quota"}
    outcome["facts"] = facts
    if random.random() < 0.6:
        outcome |= {"result": "success"}
        for name in ("verdict", "signals", "blockers"):
            outcome.pop(name, None)
    if random.random() < 0.5:
        outcome.pop("output", None)


def _expecting(random: Random, document: dict[str, Any]) -> None:
    """What the stations are expected to leave, and what they may cost."""
    if random.random() < 0.4:
        document["limits"] = {"cost_usd": random.choice([0.5, 2, 2.5])}
    for station in document["stations"]:
        if random.random() < 0.7:
            station["expects"] = random.choice(["change", "change", "output", "nothing"])
        if random.random() < 0.3:
            paths = random.sample(["out/a.xml", "b.md", "c"], random.randint(1, 2))
            station["artifacts"] = [
                {"path": path, **random.choice([{}, {}, {"required": False}])} for path in paths
            ]
        if random.random() < 0.3:
            station["limits"] = {**(station.get("limits") or {}), "cost_usd": random.choice([0, 0.4, 1])}
        if random.random() < 0.5:
            words = ["success", "failure", "blocked", *(["review"] * 3 if station.get("gate") else [])]
            station["outcome_of"] = {kind: random.choice(words) for kind in random.sample(KINDS, 3)}


def drawn(random: Random) -> dict[str, Json]:
    """Groups, each there as often as not."""
    few = lambda: random.randint(0, 3)  # noqa: E731
    source = {"station": random.choice(["plan", "build"]), "visit": 1 + few(), "tree": random.choice("pq")}
    source |= {"before": random.choice("pq")} if random.random() < 0.5 else {}
    groups: dict[str, dict[str, Json]] = {
        "git": {"files_changed": few(), "paths": random.sample(["a.py", "b.py", "tests/a.py"], few())},
        "commands": {"run": few(), "failed": few(), "denied": random.choice([0, 0, 1]), "last_exit_code": -1},
        "tests": {"passed": few(), "failed": few()},
        "findings": {"high": few(), "low": few(), "total": few()},
        "coverage": {"lines": random.choice([0, 70.5, 100])},
        "usage": {"cost_usd": random.choice([0, 0.4, 1.5, 3]), "price": "reported"},
        "agent": {
            "final_event": random.choice([True, True, True, False]),
            "provider": random.choice(["answered", "answered", "answered", "unavailable"]),
        },
        "claims": {"made": [{"kind": "tests"}], "contradicted": random.choice([[], ["tests"]])},
    }
    found: dict[str, Json] = {}
    for group, members in groups.items():
        if random.random() < 0.5:
            kept = {key: value for key, value in members.items() if random.random() < 0.8}
            found[group] = kept | ({"source": source} if random.random() < 0.5 else {})
    return found


def _when(random: Random, given: Json) -> dict[str, Json]:
    """The condition that was drawn, with one on a fact beside it, or only that."""
    own = drawn_operand(random)
    if random.random() < 0.1:
        return {"fact": {"path": "$.tests[", "op": "exists"}}
    form = random.choice(["all", "any", "not", "alone", "alone"])
    if form == "not":
        return {"not": own}
    if form == "alone":
        return own
    return {form: [own, given] if random.random() < 0.5 else [given, own]}


def drawn_operand(random: Random) -> dict[str, Json]:
    """A condition on a fact."""
    path, op = random.choice(PATHS), random.choice((*OPS, "in", "not_in", "type", *WORDS))
    operand: dict[str, Json] = {"path": path, "op": op}
    if path.startswith("$") and random.random() < 0.5:
        operand["of"] = random.choice(["some", "every", "count"])
    if op in ("in", "not_in"):
        operand["value"] = random.sample([0, 1, 2, "a.py", True], 2)
    elif op == "type":
        operand["value"] = random.choice(["number", "array", "object", "string", "boolean"])
    elif op in WORDS:
        operand["value"] = random.choice(["a", ".py", "p"])
    elif op not in ("exists", "missing"):
        operand["value"] = random.choice([0, 1, 2, 0.4, "a.py", True])
    return {"fact": operand}


def _check(random: Random) -> dict[str, Json]:
    check: dict[str, Json] = {"field": f"facts.{random.choice(PATHS[:15])}"}
    check["operator"] = random.choice(["equals", "not_equals", "less_than", "greater_than", "exists"])
    check["value"] = random.choice([0, 1, 2, True])
    check["action"] = random.choice(["proceed", "hold", "rework", "abort"])
    return check
