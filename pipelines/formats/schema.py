"""The JSON Schema (2020-12) of the line document: strict about unknown keys, except under `extra`.

What a schema cannot say (references, RFC 9535 paths, RE2 patterns, ranges) the readers of `routing.reading`
say. The schema accepts whatever they accept.
"""

from __future__ import annotations

from pipelines.formats.schema_work import work_schema
from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    COUNT,
    EXTRA,
    FLAG,
    KEY,
    SOME_TEXT,
    TEXT,
    Schema,
    form,
    listed,
    one_or_more,
    record,
    ref,
    words,
)
from pipelines.routing.basics.values import TYPES
from pipelines.routing.document import budgets, checks, gate_tools, operators
from pipelines.routing.document.compose_strategies import STRATEGIES
from pipelines.routing.document.escalations import ACTIONS
from pipelines.routing.document.evaluations import EVALUATORS
from pipelines.routing.document.inputs import INPUT
from pipelines.routing.document.model import BUILT_IN_ENDS, METADATA, RESOURCES, STANDARD_REQUIREMENTS, WORDS
from pipelines.routing.document.policy import PRESETS
from pipelines.routing.document.reading import escalations, gates, names, policy, rules, stations, tools
from pipelines.routing.document.reading.budgets import MAX_ROLE

HANDOFF: Schema = {"type": "object", "description": "A JSON Schema of what is handed over."}


def json_schema() -> Schema:
    """The published schema; a fresh object each time."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gateline line document",
        **_line(),
        "$defs": {
            "key": KEY,
            "duration": _duration(),
            **INPUT.definitions(),
            "station": _station(),
            "rule": _rule(),
            "budget": _budget(),
            "condition": _condition(),
            "gate": _gate(),
            "checks": _checks(),
            "check": _check(),
            "end": _end(),
            "policy": _policy(),
        },
    }


def _line() -> Schema:
    return record(
        ("key", "stations"),
        gateline={"const": 1, "description": "The number of the law that the line follows."},
        key=ref("key"),
        name=TEXT,
        description=TEXT,
        preset=words(PRESETS),
        policy=ref("policy"),
        flags=record(agentic_conditions=FLAG),
        start=TEXT,
        inputs=listed(ref("input")),
        stations=listed(ref("station"), minItems=1),
        gates=listed(ref("gate")),
        ends=listed(ref("end")),
        forbidden_parallel=listed(listed(TEXT, minItems=2, maxItems=2)),
        budgets=listed(ref("budget")),
        escalations=listed(_escalation()),
        handoff=HANDOFF,
        extra=EXTRA,
    )


def _escalation() -> Schema:
    actions = listed(words(ACTIONS), uniqueItems=True)
    name = {"type": "string", "minLength": 1, "maxLength": escalations.LONGEST}
    return record(
        ("trigger", "role"),
        trigger=name,
        role=name,
        sla=ref("duration"),
        on_breach=actions,
        notify=listed(SOME_TEXT),
        at_once=actions,
    )


def _duration() -> Schema:
    number = {"type": "number", "minimum": 0}
    text = {"type": "string", "pattern": r"^\s*[0-9]{1,9}(\.[0-9]{1,6})?\s*[smhd]\s*$"}
    return {"anyOf": [number, text], "description": "Seconds, or 90s, 5m, 2h, 1d."}


def _station() -> Schema:
    return record(
        ("key",),
        key=ref("key"),
        name=TEXT,
        work=work_schema(),
        output_keys=listed(SOME_TEXT),
        result_document=words(stations.RESULT_DOCUMENT),
        limits=record(
            idle_timeout=ref("duration"),
            max_timeout=ref("duration"),
            expected=ref("duration"),
            max_visits=COUNT,
            max_retries=COUNT,
        ),
        labels=listed(SOME_TEXT),
        resources=record(**{key: {"type": "integer", "minimum": 1} for key in RESOURCES}),
        gate=SOME_TEXT,
        stage=TEXT,
        agent={"type": "string", "maxLength": 64},
        requires=listed(_requires()),
        handoff=HANDOFF,
        join=record(
            ("wait_for",),
            wait_for=listed(SOME_TEXT, minItems=1, uniqueItems=True),
            aggregation=words(stations.AGGREGATIONS),
        ),
        rules=listed(ref("rule")),
        extra=EXTRA,
    )


def _rule() -> Schema:
    return record(
        ("id", "to"),
        id={"type": "string", "minLength": 1, "maxLength": names.MAX_ID},
        label=TEXT,
        when=ref("condition"),
        to={
            "anyOf": [SOME_TEXT, listed(SOME_TEXT, minItems=1, maxItems=rules.MAX_TARGETS, uniqueItems=True)]
        },
        gates=listed(SOME_TEXT),
        max_retries=COUNT,
        max_visits=COUNT,
        allow_revisit=FLAG,
        on_exhausted={"anyOf": [words(rules.EXHAUSTED), record(("to",), to=SOME_TEXT)]},
        feedback=FLAG,
        compose=listed(_compose()),
        extra=EXTRA,
    )


def _requires() -> Schema:
    return {
        "anyOf": [
            words(STANDARD_REQUIREMENTS),
            {"type": "string", "pattern": f"^{METADATA}.*\\S"},
        ]
    }


def _budget() -> Schema:
    """Each kind with the lists that it reads, and no others."""
    members = {
        "rules": listed(SOME_TEXT),
        "edges": listed({"type": "string", "pattern": "^.+->.+$"}),
        "stations": listed(SOME_TEXT),
        "failure_types": listed(SOME_TEXT),
    }
    kinds = []
    for kind, reads in budgets.KINDS.items():
        needs = reads[:1] if kind in budgets.NEEDS else ()
        own = {name: {**members[name], **({"minItems": 1} if name in needs else {})} for name in reads}
        kinds.append(
            record(
                ("key", "kind", "most", *needs),
                key=ref("key"),
                kind={"const": kind},
                most={"anyOf": [COUNT, {"const": "none"}]},
                **own,
                on_exhausted={"anyOf": [words(rules.EXHAUSTED), record(("to",), to=SOME_TEXT)]},
                role={"type": "string", "maxLength": MAX_ROLE},
                label=TEXT,
                extra=EXTRA,
            )
        )
    return {"oneOf": kinds}


def _compose() -> Schema:
    found = record(("var",), var=SOME_TEXT, path=SOME_TEXT, strategy=words(STRATEGIES))
    return {**found, "anyOf": [{"required": ["path"]}, {"required": ["strategy"]}]}


def _condition() -> Schema:
    return {
        "oneOf": [
            form("always", {"const": True}),
            form("result", one_or_more(words((*RESULTS, "any")))),
            form("verdict", one_or_more(words((*VERDICTS, "any")))),
            form("eval", record(("op", "value"), op=words((*operators.COMMON, "range")), value=ANYTHING)),
            form("output", _output()),
            form("failure_type", one_or_more(TEXT)),
            form(
                "edge",
                record(("from", "to", "at_least"), **{"from": SOME_TEXT, "to": SOME_TEXT, "at_least": COUNT}),
            ),
            form("all", listed(ref("condition"))),
            form("any", listed(ref("condition"))),
            form("not", ref("condition")),
            form(
                "agentic",
                record(("question",), question=SOME_TEXT, evaluator=words(EVALUATORS)),
                answer=words(("yes", "no")),
            ),
            form(
                "hook",
                record(("argv",), argv=listed(SOME_TEXT, minItems=1), timeout=ref("duration")),
                answer=words(("pass", "block")),
            ),
        ]
    }


def _output() -> Schema:
    members = {
        "path": SOME_TEXT,
        "op": words((*operators.OUTPUT, "exists", "missing")),
        "value": ANYTHING,
        "of": words(("some", "every", "count")),
    }
    values = {"matches": TEXT, "in": {"type": "array"}, "not_in": {"type": "array"}, "type": words(TYPES)}
    typed = [_where("op", op, value) for op, value in values.items()]
    free = {"properties": {"op": words(("exists", "missing"))}}
    return {
        **record(("path", "op"), **members),
        "allOf": [*typed, {"if": free, "else": {"required": ["value"]}}],
    }


def _gate() -> Schema:
    return record(
        ("key",),
        key=ref("key"),
        name=TEXT,
        description=TEXT,
        mode=words(gates.MODES),
        requires_approval=FLAG,
        checks=ref("checks"),
        tool=_tool(),
        approval=record(
            who=listed(_requirement(), minItems=1),
            requester_may=FLAG,
            producer_may=FLAG,
            reason_required=FLAG,
            max_rounds=COUNT,
        ),
        offers=listed(words(WORDS), minItems=1, uniqueItems=True),
        on_reject=_route(policy.ON_REJECT, "route"),
        due=record(("after",), after=ref("duration"), then=words(gates.DUE)),
        notify=listed(SOME_TEXT),
        extra=EXTRA,
    )


def _tool() -> Schema:
    code = {"type": "integer", "minimum": 0, "maximum": 255}
    conditions = {name: ref("condition") for name in tools.CONDITIONS}
    return record(
        ("argv",),
        argv=listed(SOME_TEXT, minItems=1),
        cwd=TEXT,
        env={"type": "object", "additionalProperties": TEXT},
        stdin={"type": ["string", "null"]},
        timeout=ref("duration"),
        retries=record(max={**COUNT, "maximum": gate_tools.MAX_RETRIES}, backoff=ref("duration")),
        outcome=record(parse=words(gate_tools.PARSES), success_on=listed(code, minItems=1), **conditions),
        action=words(gate_tools.ACTIONS),
        approve_warnings=FLAG,
        enabled=FLAG,
    )


def _requirement() -> Schema:
    count = {"type": "integer", "minimum": 1, "maximum": gates.MAX_VOTES}
    return {"oneOf": [record((kind,), **{kind: SOME_TEXT, "count": count}) for kind in gates.REQUIREMENTS]}


def _checks() -> Schema:
    """Nested up to three deep: the schema says so by name, the reader counts."""
    member = {"anyOf": [ref("check"), ref("checks")]}
    return {"oneOf": [form("all", listed(member)), form("any", listed(member))]}


def _check() -> Schema:
    return {
        **record(
            ("field", "operator"),
            field=SOME_TEXT,
            operator=words(checks.OPERATORS),
            value=ANYTHING,
            severity=words(checks.SEVERITIES),
            action=words(checks.ACTIONS),
            label=TEXT,
        ),
        "allOf": [_where("operator", "matches", TEXT), _where("operator", "in", {"type": "array"})],
        "if": {"properties": {"operator": {"const": "exists"}}},
        "else": {"required": ["value"]},
    }


def _where(key: str, operator: str, value: Schema) -> Schema:
    """With this operator the value is of this kind."""
    return {"if": {"properties": {key: {"const": operator}}}, "then": {"properties": {"value": value}}}


def _end() -> Schema:
    return record(("key", "kind"), key=ref("key"), kind=words(BUILT_IN_ENDS), label=TEXT, extra=EXTRA)


def _policy() -> Schema:
    return record(
        no_rules=words(policy.NO_RULES),
        no_match=words(policy.NO_MATCH),
        on_failure=_route(policy.ON_FAILURE, "station"),
        failure_rules=words(("yes", "no", True, False)),
        revisit={"type": "string", "pattern": "^(allow|forbid|limit:(0|[1-9][0-9]{0,8}))$"},
        self_loop_limit={"anyOf": [COUNT, {"const": "none"}]},
        on_reject=_route(policy.ON_REJECT, "route"),
        on_exhausted=words(policy.ON_EXHAUSTED),
        condition_scope=words(policy.SCOPES),
        contradiction=words(policy.CONTRADICTIONS),
        visit_cap={"type": "integer", "minimum": 1},
        standard_budgets=words(("yes", "no", True, False)),
        preconditions=words(("yes", "no", True, False)),
        deadlocks=words(("yes", "no", True, False)),
    )


def _route(known: tuple[str, ...], prefix: str) -> Schema:
    return {"anyOf": [words(known), {"type": "string", "pattern": f"^{prefix}:.+$"}]}
