"""A typed condition of ALP (a proposal): questions, whose answers choose where a task goes. Here they are a station of
their own, which the task enters instead; nobody's answer takes the rule that the condition falls back on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.alp.assembly_line import TO, AssemblyLine
from pipelines.formats.foreign.import_notes import (
    Json,
    manual_work,
    objects_in_list,
    shortened_json,
    text_or_none,
    unread_parts,
)
from pipelines.formats.foreign.paths import path_for_key
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.names import KEY

SUCCESS: Final = {"result": "success"}
OPERATORS: Final = {
    **{
        operator: operator
        for operator in ("lt", "lte", "gt", "gte", "equals", "not_equals", "in", "not_in", "contains")
    },
    "eq": "equals",
    "ne": "not_equals",
}
ORDERED: Final = ("lt", "lte", "gt", "gte")
MOST: Final = 100
"""Questions or routes of one condition."""
MOST_TESTS: Final = 10_000
"""Of all conditions of a line: each route asks about each question."""
READ_OF_ROUTE: Final = ("if", "else", "to", "gateId", "gate")


def is_typed(condition: Any) -> bool:
    return isinstance(condition, Mapping) and condition.get("kind") == "typed"


def question_station_or_none(
    rule: Mapping[str, Any], at: str, source: str, line: AssemblyLine
) -> Json | None:
    """Return the station that asks the questions of a typed condition; None where the condition is refused.
    `source`: name of the station in front of it."""
    condition, place, import_notes = rule["condition"], f"{at}.condition", line.import_notes
    questions = condition.get("questions")
    if not isinstance(questions, Mapping) or not questions:
        import_notes.note_fault(f"{place}.questions", "is missing")
        return None
    if not isinstance(condition.get("fallback"), Mapping):
        import_notes.note_fault(
            f"{place}.fallback", "is missing", "say where a task goes when nobody answers the questions"
        )
        return None
    if not _is_within_bounds(condition, place, line):
        return None
    name = str(rule.get("label") or f"Questions about {source}")
    key = import_notes.claim_key(rule.get("id") or f"{source}-questions", "questions")
    rules = _route_rules(condition, place, key, line)
    import_notes.note_loss(place, _("its questions are a station of their own here: %(name)s", name=name))
    questions_by_path = {
        f"{place}.questions.{question_id}": question for question_id, question in questions.items()
    }
    said = import_notes.escaped_template(
        place, "\n".join(_question_text(at, said) for at, said in questions_by_path.items())
    )
    work = manual_work(import_notes, f"{place}.evaluator", name, condition.get("evaluator"), said)
    numbers = _numeric_paths(rules)
    fields = [
        _question_field(str(question_id), question, numbers)
        for question_id, question in questions.items()
        # Only a name that may be a key can be a field of a form.
        if KEY.match(str(question_id))
    ]
    return {
        "key": key,
        "name": name,
        "work": {**work, **({"form": fields} if fields else {})},
        "output_keys": [str(question_id) for question_id in questions],
        "rules": rules,
        "extra": {"typed": {**{field: rule[field] for field in rule if field in TO}, "condition": condition}},
    }


def _question_text(at: str, question: Any) -> str:
    instructions = question.get("instructions") if isinstance(question, Mapping) else question
    return (
        f"{at.rpartition('.')[2]}: {instructions}"
        if isinstance(instructions, str) and instructions
        else at.rpartition(".")[2]
    )


def _is_within_bounds(condition: Mapping[str, Any], place: str, line: AssemblyLine) -> bool:
    routes = condition.get("route")
    counts = {
        "questions": len(condition["questions"]),
        "route": len(routes) if isinstance(routes, list) else 0,
    }
    line.typed_tests += counts["questions"] * counts["route"]
    over = [part for part, count in counts.items() if count > MOST]
    for part in over:
        line.import_notes.note_fault(f"{place}.{part}", _("has more than %(most)s members", most=MOST))
    if not over and line.typed_tests > MOST_TESTS:
        over = ["route"]
        line.import_notes.note_fault(
            f"{place}.route",
            _("the typed conditions of this line make more than %(most)s comparisons", most=MOST_TESTS),
        )
    return not over


def _numeric_paths(rules: list[Json]) -> set[str]:
    """The paths of answers that are compared as numbers."""
    parts = [part for rule in rules for part in rule.get("when", {}).get("all", ())]
    return {part["output"]["path"] for part in parts if part.get("output", {}).get("op") in ORDERED}


def _question_field(name: str, question: Any, numbers: set[str]) -> Json:
    instructions = question.get("instructions") if isinstance(question, Mapping) else None
    return {
        "key": name,
        **({"type": "number"} if path_for_key(name) in numbers else {}),
        "label": name.replace("_", " ").capitalize(),
        **({"help": instructions} if isinstance(instructions, str) and instructions else {}),
    }


def _route_rules(condition: Mapping[str, Any], place: str, key: str, line: AssemblyLine) -> list[Json]:
    rules = []
    # One iterator for both loops: the second goes on behind “else”.
    routes = iter(objects_in_list(line.import_notes, condition.get("route"), f"{place}.route"))
    for at, route in routes:
        bare = route.get("else") is True
        tests = [] if bare else _comparison_tests_or_none(route.get("if"), f"{at}.if", condition, line)
        if tests is not None and (made := _route_rule_or_none(route, at, key, line)) is not None:
            rules.append({**made, "when": {"all": [*tests_that_every_route_needs(condition), *tests]}})
        if bare:
            break
    for at, _route in routes:
        line.import_notes.note_loss(at, "it stands behind “else” and is never taken, so it is left out")
    if (last := _route_rule_or_none(condition["fallback"], f"{place}.fallback", key, line)) is not None:
        rules.append(last)
    return rules


def _route_rule_or_none(route: Mapping[str, Any], at: str, key: str, line: AssemblyLine) -> Json | None:
    to = line.target_key_or_fault(route.get("to"), f"{at}.to")
    gates = line.required_gates(route, at)
    if to is None:
        return None
    return {
        "id": line.import_notes.claim_rule_id(f"{key}-to-{to.lstrip('@')}", "rule"),
        "to": to,
        **({"gates": gates} if gates else {}),
        **unread_parts(route, READ_OF_ROUTE),
    }


def tests_that_every_route_needs(condition: Mapping[str, Any]) -> list[Json]:
    """Return the tests that every route needs: a success, and an answer to each question, whether the route
    compares it or not. Without one the fallback is taken."""
    there = [
        {"output": {"path": path_for_key(str(question_id)), "op": "exists"}}
        for question_id in condition["questions"]
    ]
    return [SUCCESS, *there]


def _comparison_tests_or_none(
    comparisons: Any, at: str, condition: Mapping[str, Any], line: AssemblyLine
) -> list[Json] | None:
    # An empty comparison tests nothing, and so would take every answer.
    if not isinstance(comparisons, Mapping) or not comparisons or {} in comparisons.values():
        line.import_notes.note_fault(at, "has to compare answers, like {“risk”: {“lt”: 0.5}}")
        return None
    tests: list[Json] = []
    for name, comparison in comparisons.items():
        if name not in condition["questions"]:
            line.import_notes.note_fault(
                f"{at}.{name}", _("there is no question %(name)s", name=shortened_json(name))
            )
            return None
        for op, value in comparison.items() if isinstance(comparison, Mapping) else [("equals", comparison)]:
            if (known := OPERATORS.get(text_or_none(op) or "")) is None:
                line.import_notes.note_fault(
                    f"{at}.{name}", _("%(op)s is no comparison", op=shortened_json(op))
                )
                return None
            tests.append({"output": {"path": path_for_key(str(name)), "op": known, "value": value}})
    return tests
