"""The kinds of work that call, choose, wait and raise: what is read, what is refused, what keeps them from being
published. The JSON Schema says the same."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from pipelines.formats.native import json_schema
from pipelines.routing.document.kinds import KINDS, secret_names, work_templates
from pipelines.routing.document.kinds.route import route_labels
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.document.publishable import publishing_problems

VALIDATOR = jsonschema_rs.validator_for(json_schema())
TOOL = {"name": "look", "argv": ["look", "{{argument.path}}"]}
CALL = {"name": "fetch", "http": {"url": "https://a.example/{{argument.id}}"}}


def document(work: dict[str, Any], *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    stations = [{"key": "a", "work": work, "rules": list(rules)}, *more.pop("others", [])]
    return {"key": "line", "stations": stations, **more}


def wrong(work: dict[str, Any], *rules: dict[str, Any], **more: Any) -> list[str]:
    """What keeps it from being published."""
    problems = publishing_problems(read_line(document(work, *rules, **more)))
    return [f"{problem.path}: {problem.message}" for problem in problems]


WHOLE: list[dict[str, Any]] = [
    {"kind": "chat", "system": "s", "prompt": "p", "model": "m", "temperature": 0.5, "max_tokens": 5},
    {"kind": "chat", "history": "talk", "stream": False},
    {"kind": "tools", "tools": [TOOL, CALL], "history": "talk"},
    {
        "kind": "tools",
        "tools": [
            {**TOOL, "description": "d", "parameters": {"type": "object"}, "timeout": "5s", "env": {"A": "b"}}
        ],
        "calls": [{"tool": "look", "arguments": {"path": "{{input.x}}"}}],
        "policy": {
            "default": "deny",
            "rules": [
                {
                    "tool": "look",
                    "when": [{"path": "path", "op": "starts_with", "value": "/"}],
                    "action": "allow",
                },
                {"tool": "*", "when": [{"path": "$.x", "op": "exists"}], "action": "approve"},
            ],
        },
    },
    {
        "kind": "http",
        "url": "https://a.example/{{input.x}}",
        "headers": {"X-A": "b", "X-B": {"secret": "S_1"}},
    },
    {"kind": "http", "method": "POST", "url": "{{input.x}}", "json": {"a": ["{{input.x}}"]}},
    {"kind": "http", "method": "PUT", "url": "http://a.example", "body": "text"},
    {"kind": "hook", "argv": ["./check"], "env": {"A": "b"}, "cwd": "sub"},
    {"kind": "wait", "for": "5m"},
    {"kind": "wait", "until": "{{input.x}}"},
    {"kind": "error", "message": "No.", "failure_type": "hopeless"},
]
INPUTS = [{"key": "x", "type": "text"}]


@pytest.mark.parametrize("work", WHOLE)
def test_each_kind_says_what_it_may(work: dict[str, Any]) -> None:
    whole = document(work, inputs=INPUTS)
    assert VALIDATOR.is_valid(whole)
    assert VALIDATOR.is_valid(read_line(whole).to_document())
    assert read_line(whole).stations[0].work == work
    assert wrong(work, inputs=INPUTS) == []


@pytest.mark.parametrize("kind", ["chat", "tools", "route", "http", "hook", "wait", "error"])
def test_a_kind_alone_can_be_drawn_but_not_published(kind: str) -> None:
    assert VALIDATOR.is_valid(document({"kind": kind}))
    assert wrong({"kind": kind})


FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"kind": "chat", "temperature": 3}, "temperature"),
    ({"kind": "chat", "temperature": True}, "temperature"),
    ({"kind": "chat", "max_tokens": 0}, "max_tokens"),
    ({"kind": "chat", "history": ""}, "history"),
    ({"kind": "chat", "stream": "yes"}, "stream"),
    ({"kind": "chat", "tool": "x"}, "tool"),
    ({"kind": "route", "by": "nobody"}, "by"),
    ({"kind": "route", "strict": 1}, "strict"),
    ({"kind": "tools", "tools": [{"name": "a"}]}, "tools[0].argv"),
    ({"kind": "tools", "tools": [{**TOOL, "http": CALL["http"]}]}, "tools[0].argv"),
    ({"kind": "tools", "tools": [{"name": "a b", "argv": ["x"]}]}, "tools[0].name"),
    ({"kind": "tools", "tools": [{"name": "a", "http": {}}]}, "tools[0].http.url"),
    ({"kind": "tools", "tools": [TOOL], "policy": {"rules": []}}, "policy.default"),
    ({"kind": "tools", "tools": [TOOL], "policy": {"default": "ask"}}, "policy.default"),
    (
        {"kind": "tools", "tools": [TOOL], "policy": {"default": "deny", "rules": [{"tool": "look"}]}},
        "policy.rules[0].action",
    ),
    ({"kind": "http", "method": "get"}, "method"),
    ({"kind": "http", "headers": {"X-A": "a\nb"}}, "headers.X-A"),
    ({"kind": "http", "headers": {"X A": "a"}}, 'headers["X A"]'),
    ({"kind": "http", "headers": {"X-A": {"secret": "lower"}}}, "headers.X-A.secret"),
    ({"kind": "http", "body": "a", "json": 1}, "json"),
    ({"kind": "hook", "argv": []}, "argv"),
    ({"kind": "hook", "prompt": "p"}, "prompt"),
    ({"kind": "wait", "for": "soon"}, "for"),
    ({"kind": "wait", "for": 1, "until": "x"}, "until"),
    ({"kind": "error", "text": "x"}, "text"),
]


@pytest.mark.parametrize(("work", "place"), FAULTY)
def test_what_is_wrong_is_told_with_its_place(work: dict[str, Any], place: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_line(document(work))
    assert f"stations[0].work.{place}" in str(caught.value)
    assert not VALIDATOR.is_valid(document(work))


@pytest.mark.parametrize(
    ("work", "place"),
    [
        ({"kind": "tools", "tools": [TOOL, TOOL]}, "tools[1]"),
        ({"kind": "tools", "tools": [TOOL], "calls": [{"tool": "other"}]}, "calls[0].tool"),
        (
            {
                "kind": "tools",
                "tools": [TOOL],
                "policy": {"default": "deny", "rules": [{"tool": "x", "action": "deny"}]},
            },
            "policy.rules[0].tool",
        ),
    ],
)
def test_what_only_readers_can_tell_is_told_too(work: dict[str, Any], place: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_line(document(work))
    assert f"stations[0].work.{place}" in str(caught.value)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (
            {"kind": "chat", "prompt": "p", "tools": "nobody"},
            "work.tools: “nobody” is no station that runs tools",
        ),
        ({"kind": "http", "url": "ftp://a.example"}, "work.url: is no address"),
        ({"kind": "http", "url": "https://{{input.x}}.example/a"}, "work.url: a host is written out"),
        (
            {"kind": "http", "url": "https://a.example/{{input.y}}"},
            "asks for an input that the line does not have",
        ),
        ({"kind": "route", "prompt": "p"}, "stations[0].rules: there is nothing to choose"),
        ({"kind": "tools", "tools": [{"name": "a", "argv": ["{{nonsense}}"]}]}, "is no look-up"),
        (
            {"kind": "tools", "tools": [{**TOOL, "parameters": {"properties": {"a": {"type": "texts"}}}}]},
            "work.tools[0].parameters.properties.a.type: ",
        ),
    ],
)
def test_what_could_not_run_is_not_published(work: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in wrong(work, inputs=INPUTS))


def test_B12_the_labels_of_a_route_are_what_its_rules_ask_for() -> None:
    def asks(value: str, op: str = "equals") -> dict[str, Any]:
        return {"eval": {"op": op, "value": value}}

    rules = [
        {"id": "1", "when": asks("bug"), "to": "completed"},
        {"id": "2", "when": {"all": [asks("idea"), {"result": "success"}]}, "to": "completed"},
        {"id": "3", "when": {"any": [asks("bug"), asks("question")]}, "to": "completed"},
        {"id": "4", "when": {"not": asks("spam")}, "to": "completed"},
        {"id": "5", "when": asks("x", "contains"), "to": "completed"},
    ]
    line = read_line(document({"kind": "route", "prompt": "p"}, *rules))
    assert route_labels(line.stations[0]) == ("bug", "idea", "question")
    assert publishing_problems(line) == ()


def test_B11_the_words_that_each_kind_says_are_known() -> None:
    assert KINDS["chat"].evals == ("stop", "tool-call", "length")
    assert (KINDS["tools"].evals, KINDS["hook"].evals) == (("ok", "error"), ("ok", "failed"))


def test_arguments_of_calls_are_no_templates_and_secrets_are_found() -> None:
    call = {
        "name": "c",
        "http": {"url": "https://a.example/{{argument.a}}", "headers": {"K": {"secret": "ONE"}}},
    }
    work = {"kind": "tools", "tools": [{**TOOL, "cwd": "{{input.x}}"}, call]}
    assert ("work.tools[0].argv[1]", "") in list(work_templates(work, "work"))
    assert ("work.tools[0].cwd", "{{input.x}}") in list(work_templates(work, "work"))
    assert secret_names(work) == ("ONE",)
    assert secret_names({"kind": "http", "headers": {"A": {"secret": "TWO"}, "B": "x"}}) == ("TWO",)
