"""What keeps a readable line from being published; and conditions in words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.conditions import describe
from pipelines.routing.publishable import publishing_problems
from tests.routing.support import line, ruled

HOOK = {"hook": {"argv": ["x"]}, "answer": "pass"}


def paths(of: Any) -> list[str]:
    return [problem.path for problem in publishing_problems(of)]


def test_a_line_without_problems_has_none() -> None:
    assert (
        paths(ruled({"when": {"result": "success"}}, station={"work": {"kind": "command", "argv": ["x"]}}))
        == []
    )


@pytest.mark.parametrize("when", [HOOK, {"not": HOOK}, {"all": [{"always": True}, {"any": [HOOK]}]}])
def test_agentic_and_hook_need_their_flag(when: Any) -> None:
    assert paths(ruled({"when": when})) == ["stations[0].rules[0].when"]
    assert paths(ruled({"when": when}, flags={"agentic_conditions": True})) == []


def test_faulty_rules_are_not_published() -> None:
    assert paths(ruled({"to": "z"})) == ["stations[0].rules[0].to"]


def test_no_rules_refuse_wants_rules_at_every_station() -> None:
    assert paths(ruled({}, policy={"no_rules": "refuse"})) == ["stations[1].rules", "stations[2].rules"]


def test_a_command_needs_a_program() -> None:
    assert paths(line({"work": {"kind": "command"}})) == ["stations[0].work.argv"]


def test_templates_of_the_work_have_to_be_templates() -> None:
    work = {
        "kind": "command",
        "argv": ["x", "{{task.title}}", "{{oops}}"],
        "prompt": "{{.}}",
        "env": {"A": "{{}}"},
    }
    assert paths(line({"work": work})) == [
        "stations[0].work.prompt",
        "stations[0].work.argv[2]",
        "stations[0].work.env.A",
    ]


def test_numbers_that_stores_would_round_are_not_published() -> None:
    when = {"output": {"path": "k", "op": "gt", "value": Decimal("1e400")}}
    assert paths(ruled({"when": when})) == ["stations[0].rules[0].when.output.value"]


WORDS = [
    ({"always": True}, "always"),
    ({"result": ["failure", "cancelled"]}, "result is failure or cancelled"),
    ({"verdict": "pass"}, "verdict is pass"),
    ({"failure_type": "gap"}, "failure type is gap"),
    ({"result": []}, "never"),
    ({"eval": {"op": "range", "value": "200, 299"}}, "eval is between 200 and 299"),
    ({"eval": {"op": "equals", "value": "ok"}}, 'eval is "ok"'),
    ({"output": {"path": "$.high", "op": "gt", "value": 0}}, "`$.high` > 0"),
    ({"output": {"path": "k", "op": "missing"}}, "`k` is missing"),
    (
        {"output": {"path": "$.a[*]", "op": "equals", "value": 0, "of": "count"}},
        "the number of `$.a[*]` is 0",
    ),
    ({"output": {"path": "$.a[*]", "op": "lt", "value": 5, "of": "every"}}, "every `$.a[*]` < 5"),
    ({"edge": {"from": "a", "to": "b", "at_least": 2}}, "a → b was taken 2 times or more"),
    (
        {"all": [{"result": "success"}, {"any": [{"verdict": "pass"}, {"verdict": "fail"}]}]},
        "result is success and (verdict is pass or verdict is fail)",
    ),
    ({"not": {"result": "success"}}, "not (result is success)"),
    ({"agentic": {"question": "Good?"}, "answer": "no"}, "the evaluator says no to “Good?”"),
    ({"hook": {"argv": ["check", "-a"]}, "answer": "block"}, "the hook `check -a` says block"),
]


@pytest.mark.parametrize(("when", "words"), WORDS)
def test_a_condition_says_itself_in_words(when: Any, words: str) -> None:
    assert describe(ruled({"when": when}).station("a").rules[0].when) == words
