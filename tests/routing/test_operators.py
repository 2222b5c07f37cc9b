"""What is known of an operator, and what lint makes of one that nobody told it about."""

from __future__ import annotations

from typing import Any, cast

import pytest
import re2

from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.analysis.satisfiability import cells
from pipelines.routing.document.line import read_line
from pipelines.routing.document.operators import COMMON, OUTPUT, Operator, compile_pattern


def any_case(text: str) -> str:
    return f"(?i)^{re2.escape(text)}$"


def holds(value: Any, named: Any) -> bool:
    return type(value) is str and compile_pattern(any_case(named)).search(value) is not None


def dead(*tests: tuple[str, Any]) -> list[str]:
    rules = [
        {"id": op, "when": {"output": {"path": "k", "op": op, "value": value}}, "to": "completed"}
        for op, value in tests
    ]
    line = read_line({"key": "line", "stations": [{"key": "a", "rules": rules}]})
    return [str(found.rule) for found in lint_line(line) if found.check == "dead-rule"]


def test_lint_knows_every_operator() -> None:
    assert [op for op in OUTPUT if not cells.can_express_operator(op)] == []
    assert set(COMMON) < set(OUTPUT)


@pytest.mark.parametrize(("pattern", "found"), [(any_case, ["equals"]), (None, [])], ids=["known", "unknown"])
def test_lint_knows_a_new_operator_by_its_pattern_and_assumes_nothing_without(
    pattern: Any, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Operator(holds, "is, in any case,", "is, in any case,", "text", pattern=pattern)
    # Lint remembers what it has made of a condition: each case has its own name.
    op = "equals_any_case" if pattern else "equals_some_case"
    monkeypatch.setitem(cast(dict[str, Operator], OUTPUT), op, made)
    assert dead((op, "Ab"), ("equals", "aB")) == found
    assert dead((op, "Ab"), ("equals", "abc")) == []
