"""Short ways to write lines and situations, and the two verbs of these tests: `line` and `decided`."""

from __future__ import annotations

from typing import Any

from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import ParsedLine, read_line

OK = {"result": "success"}
FAILED = {"result": "failure"}
BLOCKED = {"result": "blocked"}
YES, NO = "move b by rule r1", "no"
"""What `goes` says of `ruled` lines whose rule is taken, and is not."""


def document(*stations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line document; stations without a key are a, b, c …"""
    keyed = [{"key": "abcdefgh"[i], **each} for i, each in enumerate(stations)]
    return {"gateline": 1, "key": "line", "stations": keyed, **more}


def line(*stations: dict[str, Any], **more: Any) -> ParsedLine:
    return read_line(document(*stations, **more), keep_faulty_rules=True)


def ruled(*rules: dict[str, Any], **more: Any) -> ParsedLine:
    """Stations a, b, c; a has these rules, with ids r1, r2 … and target b unless they say otherwise."""
    filled = [{"id": f"r{i}", "to": "b", **each} for i, each in enumerate(rules, 1)]
    station = more.pop("station", {})
    return line({"rules": filled, **station}, {}, {}, **more)


def decided(of: ParsedLine, outcome: dict[str, Any], station: str = "a", **facts: Any) -> dict[str, Any]:
    """The decision as the tool answers it, without its trace."""
    answer = traced(of, outcome, station, **facts)
    del answer["trace"]
    return answer


def traced(of: ParsedLine, outcome: dict[str, Any], station: str = "a", **facts: Any) -> dict[str, Any]:
    situation = {"station": station, "outcome": outcome, "facts": facts}
    return decide(of, read_situation(situation)).to_dict()


def short(answer: dict[str, Any]) -> str:
    """One line: what was decided, by what, and the rule: `move b by rule r1`."""
    kind, rule = answer["decision"], answer.get("rule")
    words = {
        "move": lambda: f"move {'+'.join(answer['to'])} by {answer['by']}",
        "finish": lambda: f"finish {answer['end']} by {answer['by']}" + _error(answer["error"]),
        "wait": lambda: f"wait {answer['status']}" + _waits(answer),
        "ask": lambda: "ask",
        "escalate": lambda: f"escalate {answer['trigger']}",
        "stuck": lambda: f"stuck {answer['error']}",
    }[kind]()
    return f"{words} {rule}" if rule else words


def _error(error: str | None) -> str:
    return f" with {error}" if error else ""


def _waits(answer: dict[str, Any]) -> str:
    parts = [
        f" at {'+'.join(answer['gates'])}" if answer["gates"] else "",
        f" for {'+'.join(answer['missing'])}" if answer["missing"] else "",
        f" then {'+'.join(answer['to'])}" if answer["to"] else "",
        " to be answered" if answer["evaluation"] else "",
    ]
    return "".join(parts)


def goes(of: ParsedLine, outcome: dict[str, Any], station: str = "a", **facts: Any) -> str:
    return short(decided(of, outcome, station, **facts))
