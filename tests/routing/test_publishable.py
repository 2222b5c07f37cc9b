"""What keeps a readable line from being published; and conditions in words."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.basics.problems import member_path
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.document.publishable import publishing_problems
from pipelines.routing.sentences.conditions import condition_words
from tests.pages.editor_documents import EVERYTHING
from tests.routing.support import line, ruled

HOOK = {"hook": {"argv": ["x"]}, "answer": "pass"}


def paths(of: Any) -> list[str]:
    return [problem.path for problem in publishing_problems(of)]


def told(of: Any) -> list[str]:
    return [str(problem) for problem in publishing_problems(of)]


def test_a_line_without_problems_has_none() -> None:
    assert (
        paths(ruled({"when": {"result": "success"}}, station={"work": {"kind": "command", "argv": ["x"]}}))
        == []
    )


@pytest.mark.parametrize("when", [HOOK, {"not": HOOK}, {"all": [{"always": True}, {"any": [HOOK]}]}])
def test_agentic_and_hook_need_their_flag(when: Any) -> None:
    assert told(ruled({"when": when})) == [
        "stations[0].rules[0].when: agentic and hook conditions are switched off in this line "
        "(set flags: {agentic_conditions: true})"
    ]
    assert told(ruled({"when": when}, flags={"agentic_conditions": True})) == []


def test_faulty_rules_are_not_published() -> None:
    assert paths(ruled({"to": "z"})) == ["stations[0].rules[0].to"]


def test_no_rules_refuse_wants_rules_at_every_station() -> None:
    assert told(ruled({}, policy={"no_rules": "refuse"})) == [
        f"stations[{index}].rules: {key} has no rules, and the policy no_rules: refuse wants some "
        "(add a rule, or choose another policy)"
        for index, key in ((1, "b"), (2, "c"))
    ]


def test_a_command_needs_a_program() -> None:
    assert told(line({"work": {"kind": "command"}})) == [
        "stations[0].work.argv: is missing (a command needs a program, like ruff)"
    ]


LACKING: list[tuple[dict[str, Any], str]] = [
    ({"kind": "hook"}, "argv: is missing (a hook needs a program, like ruff)"),
    ({"kind": "chat", "prompt": " "}, "prompt: is missing (say what the model is asked)"),
    (
        {"kind": "chat", "prompt": "p", "tools": "b"},
        "tools: “b” is no station that runs tools (name one of kind tools)",
    ),
    ({"kind": "tools"}, "tools: is missing (declare the tools that may be called)"),
    ({"kind": "http"}, "url: is missing (say which address is called)"),
    ({"kind": "http", "url": "ftp://x"}, "url: is no address (write it with http:// or https://)"),
    (
        {"kind": "http", "url": "https://{{.x}}/"},
        "url: a host is written out, or the whole address is one placeholder "
        "(like https://api.example.com/{{input.path}}, or {{input.url}})",
    ),
    ({"kind": "wait"}, "until: is missing (say for how long, or until when)"),
    ({"kind": "error"}, "message: is missing (say what went wrong)"),
]


@pytest.mark.parametrize(("work", "lacks"), LACKING)
def test_what_a_kind_of_work_lacks_is_named_with_what_to_do(work: dict[str, Any], lacks: str) -> None:
    assert told(line({"work": work}, {})) == [f"stations[0].work.{lacks}"]


PLACES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "http", "url": "{{x}}"}, "url"),
    ({"kind": "http", "url": "http://a", "json": {"k": ["{{x}}"]}}, "json.k[0]"),
    ({"kind": "http", "url": "http://a", "body": "{{x}}"}, "body"),
    ({"kind": "http", "url": "http://a", "headers": {"K": "{{x}}"}}, "headers.K"),
    ({"kind": "command", "argv": ["x", "{{x}}"]}, "argv[1]"),
    ({"kind": "command", "argv": ["x"], "env": {"K": "{{x}}"}}, "env.K"),
    ({"kind": "tools", "tools": [{"name": "a", "argv": ["x"], "cwd": "{{x}}"}]}, "tools[0].cwd"),
    ({"kind": "tools", "tools": [{"name": "a", "http": {"url": "{{x}}"}}]}, "tools[0].http.url"),
    (
        {
            "kind": "tools",
            "tools": [{"name": "a", "argv": ["x"]}],
            "calls": [{"tool": "a", "arguments": {"k": "{{x}}"}}],
        },
        "calls[0].arguments.k",
    ),
]


@pytest.mark.parametrize(("work", "place"), PLACES)
def test_a_template_that_is_none_is_told_with_its_place(work: dict[str, Any], place: str) -> None:
    assert paths(line({"work": work})) == [f"stations[0].work.{place}"]


def test_a_chat_may_name_a_station_that_runs_tools() -> None:
    tools = {"kind": "tools", "tools": [{"name": "look", "argv": ["look"]}]}
    assert told(line({"work": {"kind": "chat", "prompt": "p", "tools": "b"}}, {"work": tools})) == []


def test_a_kind_of_work_that_nobody_does_is_not_published() -> None:
    (told_of_it,) = told(line({"work": {"kind": "comand", "argv": ["x"]}}))
    assert told_of_it == "stations[0].work.kind: “comand” is not run here (did you mean command?)"


def test_templates_of_the_work_have_to_be_templates() -> None:
    work = {
        "kind": "command",
        "argv": ["x", "{{task.title}}", "{{oops}}"],
        "prompt": "{{.}}",
        "env": {"A": "{{}}"},
    }
    known = "there are {{task.…}}, {{input.…}}, {{context.…}}, {{variables.…}} and {{.…}}"
    assert told(line({"work": work})) == [
        f"stations[0].work.argv[2]: line 1: {{{{oops}}}} is no look-up; {known}",
        f"stations[0].work.env.A: line 1: {{{{}}}} is no look-up; {known}",
        f"stations[0].work.prompt: line 1: {{{{.}}}} is no look-up; {known}",
    ]
    assert paths(line({"work": {**work, "argv": ["x"], "prompt": "", "env": {}, "cwd": "{{oops}}"}})) == [
        "stations[0].work.cwd"
    ]
    assert paths(line({}, {"work": {"kind": "manual", "instructions": "{{oops}}"}})) == [
        "stations[1].work.instructions"
    ]


def test_numbers_that_stores_would_round_are_not_published() -> None:
    when = {"output": {"path": "k", "op": "gt", "value": Decimal("1e400")}}
    assert told(ruled({"when": when})) == [
        "stations[0].rules[0].when.output.value: more digits than a number keeps here "
        "(write it as a text, in quotes)"
    ]
    assert paths(line({}, extra={"odd key": [1, 0.5, {"x": Decimal("1e400")}]})) == ['extra["odd key"][2].x']


WORDS = [
    ({"always": True}, "always"),
    ({"result": ["failure", "cancelled"]}, "result is failure or cancelled"),
    ({"verdict": "pass"}, "verdict is pass"),
    ({"failure_type": "gap"}, "it failed: gap"),
    ({"failure_type": ["gap", "nothing_done"]}, "it failed: gap or it changed nothing"),
    ({"eval": {"op": "equals", "value": "base_moved"}}, "it failed: the base branch moved"),
    ({"result": []}, "never"),
    ({"eval": {"op": "range", "value": "200, 299"}}, "eval is between 200 and 299"),
    ({"eval": {"op": "equals", "value": "ok"}}, 'eval is "ok"'),
    ({"output": {"path": "$.high", "op": "gt", "value": 0}}, "high is greater than 0"),
    ({"output": {"path": "k", "op": "missing"}}, "k is missing"),
    (
        {"output": {"path": "$.a[*]", "op": "equals", "value": 0, "of": "count"}},
        "the number of a[*] is 0",
    ),
    ({"output": {"path": "$.a[*]", "op": "lt", "value": 5, "of": "every"}}, "every a[*] is less than 5"),
    (
        {"output": {"path": "$.a[*]", "op": "exists", "of": "count"}},
        "the number of a[*] is there",
    ),
    (
        {"output": {"path": "$.a[*]", "op": "missing", "of": "count"}},
        "the number of a[*] is missing",
    ),
    ({"output": {"path": "$.a[*]", "op": "missing", "of": "every"}}, "a[*] is missing"),
    ({"output": {"path": "$.a[*]", "op": "exists", "of": "every"}}, "a[*] is there"),
    ({"output": {"path": "k", "op": "not_in", "value": ["a", None]}}, 'k is none of ["a", null]'),
    ({"output": {"path": "k", "op": "equals", "value": "x" * 58}}, 'k is "' + "x" * 58 + '"'),
    ({"output": {"path": "k", "op": "equals", "value": "x" * 59}}, 'k is "' + "x" * 59 + "…"),
    ({"all": []}, "always"),
    ({"any": []}, "never"),
    ({"edge": {"from": "a", "to": "b", "at_least": 2}}, "a → b was taken 2 times or more"),
    (
        {"all": [{"result": "success"}, {"any": [{"verdict": "pass"}, {"verdict": "fail"}]}]},
        "result is success and (verdict is pass or verdict is fail)",
    ),
    ({"not": {"result": "success"}}, "not result is success"),
    ({"agentic": {"question": "Good?"}, "answer": "no"}, "the evaluator says no to “Good?”"),
    ({"hook": {"argv": ["check", "-a"]}, "answer": "block"}, "the hook “check -a” says block"),
]


@pytest.mark.parametrize(("when", "words"), WORDS)
def test_a_condition_says_itself_in_words(when: Any, words: str) -> None:
    assert condition_words(ruled({"when": when}).station("a").rules[0].when) == words


def test_a_number_that_would_be_rounded_is_named_by_its_whole_place() -> None:
    of = ruled({}, extra={"a": [1, {"b": Decimal("0.12345678901234567890123")}]})
    assert paths(of) == ["extra.a[1].b"]


@pytest.mark.parametrize(
    ("op", "value", "words"),
    [
        ("gt", 0, "high > 0"),
        ("gte", 0, "high ≥ 0"),
        ("lt", 5, "high < 5"),
        ("lte", 5, "high ≤ 5"),
        ("equals", "a", 'high is "a"'),
        ("matches", "^a", 'high matches "^a"'),
    ],
)
def test_a_label_says_a_comparison_by_its_sign(op: str, value: Any, words: str) -> None:
    when = {"all": [{"not": {"output": {"path": "$.high", "op": op, "value": value}}}, {"result": "success"}]}
    condition = ruled({"when": when}).station("a").rules[0].when
    assert condition_words(condition, short=True) == f"not {words} and result is success"


EXACT = Decimal("0.12345678901234567890123")


def test_a_number_of_more_digits_is_told_wherever_a_line_can_hold_one() -> None:
    told = 0
    for place in leaves_of(EVERYTHING):
        document = with_leaf(EVERYTHING, place, EXACT)
        try:
            whole = read_line(document)
        except DocumentError:
            continue
        wanted = [path for path, leaf in written(whole.to_document()) if type(leaf) is Decimal]
        problems = [each.path for each in publishing_problems(whole) if "more digits" in each.message]
        assert problems == wanted, place
        told += bool(wanted)
    assert told > 10


def leaves_of(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from leaves_of(member, (*place, key))
    if not isinstance(value, dict | list):
        yield place


def with_leaf(value: Any, place: tuple[Any, ...], leaf: Any) -> Any:
    if not place:
        return leaf
    changed = value.copy()
    changed[place[0]] = with_leaf(value[place[0]], place[1:], leaf)
    return changed


def written(document: Any) -> Iterator[tuple[str, Any]]:
    for place in leaves_of(document):
        path, leaf = "", document
        for step in place:
            path, leaf = member_path(path, step), leaf[step]
        yield path, leaf
