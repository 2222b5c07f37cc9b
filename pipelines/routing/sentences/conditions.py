"""A condition in words for people: "`$.high` > 0 and result is success".

Plain English; windows that translate use the classes of `algebra` themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.document.algebra import (
    All,
    Always,
    Answered,
    AnyOf,
    Condition,
    EdgeTaken,
    EvalTest,
    FailureTypeIs,
    Not,
    OutputTest,
    ResultIs,
    VerdictIs,
)
from pipelines.routing.document.operators import OUTPUT

MAX_VALUE = 60


def describe(condition: Condition) -> str:
    return _WORDS[type(condition)](condition)


def _value(value: Any) -> str:
    text = jsontext.dumps(value)
    return text if len(text) <= MAX_VALUE else text[:MAX_VALUE] + "…"


def _any_of(what: str, words: tuple[str, ...]) -> str:
    if not words:
        return "never"
    return f"{what} is {' or '.join(words)}"


def _eval(test: EvalTest) -> str:
    if test.op == "range":
        return f"eval is between {' and '.join(part.strip() for part in str(test.value).split(','))}"
    return f"eval {OUTPUT[test.op].sign} {_value(test.value)}"


def _output(test: OutputTest) -> str:
    name = f"`{test.path.text}`"
    if test.op == "missing" and test.of != "count":
        return f"{name} is missing"
    if test.op == "exists" and test.of != "count":
        return f"{name} is there"
    subject = {"some": name, "every": f"every {name}", "count": f"the number of {name}"}[test.of]
    if test.op in ("exists", "missing"):
        return f"{subject} is {'there' if test.op == 'exists' else 'missing'}"
    return f"{subject} {OUTPUT[test.op].sign} {_value(test.value)}"


def _joined(members: tuple[Condition, ...], word: str, empty: str) -> str:
    parts = [f"({describe(m)})" if isinstance(m, (All, AnyOf)) else describe(m) for m in members]
    return f" {word} ".join(parts) or empty


def _not(condition: Not) -> str:
    return f"not ({describe(condition.inner)})"


def _answered(condition: Answered) -> str:
    payload = condition.evaluation.payload
    if condition.evaluation.kind == "agentic":
        return f"the evaluator says {condition.answer} to “{payload['question']}”"
    return f"the hook `{' '.join(payload['argv'])}` says {condition.answer}"


_WORDS: dict[type, Callable[[Any], str]] = {
    Always: lambda condition: "always",
    ResultIs: lambda condition: _any_of("result", condition.words),
    VerdictIs: lambda condition: _any_of("verdict", condition.words),
    FailureTypeIs: lambda condition: _any_of("failure type", condition.types),
    EvalTest: _eval,
    OutputTest: _output,
    EdgeTaken: lambda edge: f"{edge.source} → {edge.target} was taken {edge.at_least} times or more",
    All: lambda condition: _joined(condition.members, "and", "always"),
    AnyOf: lambda condition: _joined(condition.members, "or", "never"),
    Not: _not,
    Answered: _answered,
}
