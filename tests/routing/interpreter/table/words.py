"""The words in which the cases are written.

The line of every case: stations plan, work, review, ship in this order; the task is at `work`, whose rules
each case names.
"""

from typing import Any

from ..values import Json

Rule = dict[str, Json]
GATES: list[dict[str, Json]] = [
    {"key": "human"},
    {"key": "second"},
    {"key": "twice", "approval": {"max_rounds": 1}},
    {
        "key": "sure",
        "mode": "auto",
        "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]},
    },
    {"key": "skipped", "mode": "skip"},
    {"key": "silent", "requires_approval": False},
]


def check(action: str, **more: Json) -> dict[str, Json]:
    """A check that fails unless the exit code is 0."""
    return {"field": "exit_code", "operator": "equals", "value": 0, "action": action} | more


def gate(key: str, *checks: dict[str, Json], **more: Json) -> dict[str, Json]:
    """An automatic gate."""
    return {"key": key, "mode": "auto", "checks": {"all": list(checks)}} | more


def line(*rules: Rule, **more: Any) -> dict[str, Json]:
    """A document. `at` = further keys of `work`; `gates` = further gates; the rest = top-level keys."""
    at, gates, review = more.pop("at", {}), more.pop("gates", []), more.pop("review", {})
    stations = [
        {"key": key, "name": key, "work": {"kind": "noop"}} for key in ("plan", "work", "review", "ship")
    ]
    stations[1] |= {"rules": [{"id": f"r{n}"} | rule for n, rule in enumerate(rules, 1)]} | at
    stations[2] |= review
    return {
        "gateline": 1,
        "key": "l",
        "name": "L",
        "stations": stations,
        "gates": [{"name": gate["key"]} | gate for gate in GATES + gates],
    } | more


def at_work(outcome: dict[str, Json], **facts: Json) -> dict[str, Json]:
    """A situation at `work`."""
    return {"station": "work", "outcome": outcome, "facts": facts}


def move(to: str | list[str], rule: str | None = None, by: str = "rule", **more: Json) -> dict[str, Json]:
    """A move; nothing fed back, no variables unless said."""
    defaults: dict[str, Json] = {"feedback": None, "variables": {}}
    targets = [to] if isinstance(to, str) else to
    return {"decision": "move", "to": targets, "rule": rule, "by": by} | defaults | more


def finish(end: str, rule: str | None, by: str, error: str | None = None, kind: str = "") -> dict[str, Json]:
    """An end."""
    return {"decision": "finish", "end": end, "kind": kind or end, "rule": rule, "by": by, "error": error}


def wait(status: str, **more: Json) -> dict[str, Json]:
    """A wait."""
    nothing: dict[str, Json] = {"gates": [], "to": [], "rule": None, "question": None, "missing": []}
    return {"decision": "wait", "status": status, "evaluation": None} | nothing | more


def stuck(error: str, rule: str | None = None) -> dict[str, Json]:
    """Stuck."""
    return {"decision": "stuck", "error": error, "rule": rule}


def escalate(trigger: str, rule: str | None = None) -> dict[str, Json]:
    """An escalation."""
    return {"decision": "escalate", "trigger": trigger, "rule": rule}


def word(decision: str, gate: str = "human", **more: Json) -> dict[str, Json]:
    """The fact of a person's word."""
    return {"gates": {gate: {"decision": decision} | more}}


OK: dict[str, Json] = {"result": "success"}
BAD: dict[str, Json] = {"result": "failure"}
SIGNAL: dict[str, Json] = {"result": "success", "signals": [{"verdict": "proceed"}]}
QUESTION: dict[str, Json] = {"agentic": {"question": "Good?"}}
HOOK: dict[str, Json] = {"hook": {"argv": ["./gate"]}}


def signal(verdict: str, reason: str | None = None, **meta: Json) -> dict[str, Json]:
    """An outcome with one signal."""
    return {"result": "success", "signals": [{"verdict": verdict, "reason": reason, "meta": meta}]}


def output(path: str, op: str, value: Json = None, **more: Json) -> dict[str, Json]:
    """A condition on the output."""
    body = {"path": path, "op": op} | more
    return {"output": body if op in ("exists", "missing") else body | {"value": value}}


def only(when: dict[str, Json]) -> dict[str, Json]:
    """A line that goes to plan where `when` is true and stops where it is not."""
    return line({"when": when, "to": "plan"}, preset="vibe-factory", policy={"revisit": "allow"})


TAKEN = move("plan", "r1")
LEFT = stuck("NoValidTransition")
Case = tuple[str, dict[str, Json], dict[str, Json], dict[str, Json]]
