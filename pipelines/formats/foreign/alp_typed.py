"""A typed condition of ALP (a proposal): questions, whose answers choose where a task goes. Here they are a station of
their own, which the task enters instead; nobody's answer takes the rule that the condition falls back on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pipelines.formats.foreign.carrier import Json, kept, objects, quoted, word, worked_by_a_person
from pipelines.formats.foreign.paths import path_of
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.reading.names import KEY

if TYPE_CHECKING:
    from pipelines.formats.foreign.alp import AssemblyLine

SUCCESS: Final = {"result": "success"}
OPERATORS: Final = {
    **{each: each for each in ("lt", "lte", "gt", "gte", "equals", "not_equals", "in", "not_in", "contains")},
    "eq": "equals",
    "ne": "not_equals",
}
ORDERED: Final = ("lt", "lte", "gt", "gte")
READ_OF_ROUTE: Final = ("if", "else", "to", "gateId", "gate")


def is_typed(condition: Any) -> bool:
    return isinstance(condition, Mapping) and condition.get("kind") == "typed"


def station_of(rule: Mapping[str, Any], at: str, source: str, line: AssemblyLine) -> Json | None:
    """None where it is refused. `source`: what the station is called behind which it stands."""
    condition, place, carrier = rule["condition"], f"{at}.condition", line.carrier
    questions = condition.get("questions")
    if not isinstance(questions, Mapping) or not questions:
        carrier.refuse(f"{place}.questions", _("is missing"))
        return None
    if not isinstance(condition.get("fallback"), Mapping):
        carrier.refuse(
            f"{place}.fallback", _("is missing"), _("say where a task goes when nobody answers the questions")
        )
        return None
    name = str(rule.get("label") or f"Questions about {source}")
    key = carrier.key(rule.get("id") or f"{source}-questions", "questions")
    rules = _routes(condition, place, key, line)
    carrier.lose(place, _("its questions are a station of their own here: %(name)s", name=name))
    asked = {f"{place}.questions.{each}": said for each, said in questions.items()}
    said = carrier.template(place, "\n".join(_asked(at, said) for at, said in asked.items()))
    work = worked_by_a_person(carrier, f"{place}.evaluator", name, condition.get("evaluator"), said)
    fields = [_field(str(each), said, rules) for each, said in questions.items() if KEY.match(str(each))]
    return {
        "key": key,
        "name": name,
        "work": {**work, **({"form": fields} if fields else {})},
        "output_keys": [str(each) for each in questions],
        "rules": rules,
        "extra": {
            "typed": {**{each: rule[each] for each in rule if each in line.PLACES}, "condition": condition}
        },
    }


def _asked(at: str, question: Any) -> str:
    said = question.get("instructions") if isinstance(question, Mapping) else question
    return f"{at.rpartition('.')[2]}: {said}" if isinstance(said, str) and said else at.rpartition(".")[2]


def _field(name: str, question: Any, rules: list[Json]) -> Json:
    """A number where answers are compared as numbers."""
    tests = [
        each["output"] for rule in rules for each in rule.get("when", {}).get("all", ()) if "output" in each
    ]
    numbers = any(test["path"] == path_of(name) and test["op"] in ORDERED for test in tests)
    said = question.get("instructions") if isinstance(question, Mapping) else None
    return {
        "key": name,
        **({"type": "number"} if numbers else {}),
        "label": name.replace("_", " ").capitalize(),
        **({"help": said} if isinstance(said, str) and said else {}),
    }


def _routes(condition: Mapping[str, Any], place: str, key: str, line: AssemblyLine) -> list[Json]:
    rules = []
    for at, route in objects(line.carrier, condition.get("route"), f"{place}.route"):
        when = (
            _answered(condition)
            if route.get("else") is True
            else _compared(route.get("if"), f"{at}.if", condition, line)
        )
        if when is not None and (made := _rule(route, at, key, line)) is not None:
            rules.append({**made, "when": when})
    if (last := _rule(condition["fallback"], f"{place}.fallback", key, line)) is not None:
        rules.append(last)
    return rules


def _rule(route: Mapping[str, Any], at: str, key: str, line: AssemblyLine) -> Json | None:
    to = line.target(route.get("to"), f"{at}.to")
    gates = line.asked(route, at)
    if to is None:
        return None
    return {
        "id": line.carrier.rule_id(f"{key}-to-{to.lstrip('@')}", "rule"),
        "to": to,
        **({"gates": gates} if gates else {}),
        **kept(route, READ_OF_ROUTE),
    }


def _answered(condition: Mapping[str, Any]) -> Json:
    """What goes on without a comparison needs answers all the same; without them it falls back."""
    there = [{"output": {"path": path_of(str(each)), "op": "exists"}} for each in condition["questions"]]
    return {"all": [SUCCESS, *there]}


def _compared(given: Any, at: str, condition: Mapping[str, Any], line: AssemblyLine) -> Json | None:
    if not isinstance(given, Mapping) or not given:
        line.carrier.refuse(at, _("has to compare answers, like {“risk”: {“lt”: 0.5}}"))
        return None
    tests: list[Json] = []
    for name, said in given.items():
        if name not in condition["questions"]:
            line.carrier.refuse(f"{at}.{name}", _("there is no question %(name)s", name=quoted(name)))
            return None
        for op, value in said.items() if isinstance(said, Mapping) else [("equals", said)]:
            if (known := OPERATORS.get(word(op) or "")) is None:
                line.carrier.refuse(f"{at}.{name}", _("%(op)s is no comparison", op=quoted(op)))
                return None
            tests.append({"output": {"path": path_of(str(name)), "op": known, "value": value}})
    return {"all": [SUCCESS, *tests]}
