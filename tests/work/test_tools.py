"""The handler `tools`: declared programs and calls, under a policy."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from pipelines.work.handlers import tools
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.handler_io import Attempt, Outcome, Spec
from pipelines.work.spec.offered_tools import (
    Argument,
    BadCall,
    OfferedTool,
    RequestTemplate,
    policy_action,
    tool_argv,
    tool_call_request,
)
from tests.outgoing.servers import say, serving
from tests.work.conftest import Collected

PYTHON = sys.executable
HISTORY = "talk"


def program(name: str, code: str, *more: Any) -> OfferedTool:
    return OfferedTool(name, argv=tuple((each,) for each in (PYTHON, "-I", "-c", code)) + more)


ECHO = program("echo", "import sys; print(sys.argv[1])", (Argument("word"),))
BROKEN = program("broken", "import sys; print('half'); print('why', file=sys.stderr); sys.exit(3)")


def calls(*named: tuple[str, Any]) -> dict[str, Any]:
    """A conversation in which a model asks for these calls."""
    made = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(named)
    ]
    said = {"role": "assistant", "content": "", "tool_calls": made}
    return {"context": {HISTORY: {"messages": [{"role": "user", "content": "Go."}, said]}}}


@pytest.fixture
def make(attempt: Attempt) -> Any:
    def spec(*named: tuple[str, Any], **more: Any) -> Spec:
        work = {"history": HISTORY, **more.pop("work", {})}
        given: dict[str, Any] = {"tools": (ECHO, BROKEN), "data": calls(*named), "work": work}
        return Spec("tools", attempt, **(given | more))

    return spec


def statuses(outcome: Outcome) -> list[str]:
    return [result["status"] for result in outcome["output"]["results"]]


async def test_B11_it_says_ok_or_error_and_answers_every_call(make: Any, sink: Collected) -> None:
    good = await tools.run(make(("echo", '{"word": "hello"}')), sink)
    assert (good["result"], good["eval"], statuses(good)) == ("success", "ok", ["ok"])
    bad = await tools.run(make(("broken", "{}"), ("echo", '{"word": "hi"}'), ("nothing", "{}")), sink)
    assert (bad["result"], bad["eval"], statuses(bad)) == ("success", "error", ["error", "ok", "error"])
    told = bad["output"][HISTORY]["messages"][2:]
    assert [each["tool_call_id"] for each in told] == ["c0", "c1", "c2"]
    assert told[0]["content"] == "[error 3] half\n\nwhy\n"
    assert told[1]["content"] == "hi\n"
    assert b"half" in sink.out and b"why" in sink.err


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "{}", '{"word": "--option"}'])
async def test_a_call_that_cannot_be_made_is_an_error_for_the_model(
    arguments: str, make: Any, sink: Collected
) -> None:
    outcome = await tools.run(make(("echo", arguments)), sink)
    assert (outcome["result"], outcome["eval"]) == ("success", "error")
    assert sink.out == b""


NUMBERED = replace(
    ECHO,
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 3}, "n": {"type": "integer"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ('{"word": 1}', "arguments.word: "),
        ('{"word": "a", "n": "1"}', "arguments.n: "),
        ('{"n": 1}', "arguments.word: "),
        ('{"word": "a", "x": 1}', "arguments: "),
    ],
)
async def test_arguments_that_do_not_fit_the_parameters_are_an_error_with_their_place(
    arguments: str, place: str, make: Any, sink: Collected
) -> None:
    """Before the tool runs, and before a person is asked whether it may."""
    given = {"tools": (NUMBERED,), "work": {"policy": {"default": "approve"}}}
    outcome = await tools.run(make(("echo", arguments), **given), sink)
    assert (outcome["result"], outcome["eval"], sink.out) == ("success", "error", b"")
    assert outcome["output"]["results"][0]["output"].startswith(place)


async def test_arguments_that_fit_are_asked_about_and_run(make: Any, sink: Collected) -> None:
    good = ("echo", '{"word": "abc", "n": 1}')
    assert (await tools.run(make(good, tools=(NUMBERED,)), sink))["eval"] == "ok"
    asked = {"tools": (NUMBERED,), "work": {"policy": {"default": "approve"}}}
    assert (await tools.run(make(good, **asked), sink))["result"] == "blocked"


async def test_parameters_that_are_no_schema_let_nothing_run(make: Any, sink: Collected) -> None:
    broken = replace(ECHO, parameters={"properties": {"word": {"type": "texts"}}})
    outcome = await tools.run(make(("echo", '{"word": "a"}'), tools=(broken,)), sink)
    assert (outcome["eval"], sink.out) == ("error", b"")
    assert "properties.word.type" in outcome["output"]["results"][0]["output"]


async def test_arguments_come_on_standard_input_too(make: Any, sink: Collected) -> None:
    reads = program("reads", "import json, sys; print(json.load(sys.stdin)['a'])")
    outcome = await tools.run(make(("reads", '{"a": [1, 2]}'), tools=(reads,)), sink)
    assert outcome["output"]["results"][0]["output"] == "[1, 2]\n"


async def test_what_a_tool_shows_is_no_signal(make: Any, sink: Collected) -> None:
    line = json.dumps({"flux:signal": {"verdict": "abort"}})
    shows = program("shows", f"print({line!r}); print('still here')")
    outcome = await tools.run(make(("shows", "{}"), tools=(shows,)), sink)
    assert "signals" not in outcome
    assert "still here" in outcome["output"]["results"][0]["output"]


async def test_a_fixed_list_needs_no_model(make: Any, sink: Collected) -> None:
    work = {
        "history": "",
        "calls": [{"tool": "echo", "arguments": {"word": "a"}}, {"tool": "echo", "arguments": {"word": "b"}}],
    }
    outcome = await tools.run(make(work=work, data={}), sink)
    assert [each["output"] for each in outcome["output"]["results"]] == ["a\n", "b\n"]


async def test_without_a_conversation_the_calls_of_the_last_output_count_once(
    make: Any, sink: Collected
) -> None:
    told = {"context": {"tool_calls": [{"id": "x", "name": "echo", "arguments": {"word": "a"}}]}}
    outcome = await tools.run(make(work={"history": ""}, data=told), sink)
    assert (outcome["output"]["results"][0]["id"], outcome["output"]["tool_calls"]) == ("x", [])
    again = await tools.run(make(work={"history": ""}, data={"context": outcome["output"]}), sink)
    assert (again["eval"], again["output"]["results"]) == ("ok", [])


async def test_a_call_of_a_tool_over_http(make: Any, sink: Collected) -> None:
    with serving(lambda to, asked: say(to, 404 if "bad" in asked.path else 200, b"an answer")) as server:
        request = RequestTemplate(
            "POST", (f"{server.url}/items/", Argument("id")), {"X-Key": ("v",)}, json={"n": (Argument("n"),)}
        )
        fetch = OfferedTool("fetch", http=request)
        outgoing = Outgoing(Guard(("127.0.0.1",)))
        named = (("fetch", '{"id": "a/../b?c", "n": 3}'), ("fetch", '{"id": "bad", "n": 0}'))
        outcome = await tools.run(make(*named, tools=(fetch,), outgoing=outgoing), sink)
        refused = await tools.run(make(("fetch", '{"id": 1, "n": 1}'), tools=(fetch,)), sink)
    first = server.asked[0]
    assert (first.path, first.headers["x-key"], json.loads(first.body)) == (
        "/items/a%2F..%2Fb%3Fc",
        "v",
        {"n": 3},
    )
    assert (statuses(outcome), statuses(refused)) == (["ok", "error"], ["error"])
    assert "private address" in refused["output"]["results"][0]["output"]
    assert len(server.asked) == 2


# The policy

POLICY = {
    "default": "deny",
    "rules": [
        {"tool": "echo", "when": [{"path": "word", "op": "starts_with", "value": "rm"}], "action": "approve"},
        {"tool": "echo", "action": "allow"},
        {"tool": "*", "when": [{"path": "safe", "op": "equals", "value": True}], "action": "allow"},
    ],
}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("echo", {"word": "rm -rf"}, "approve"),
        ("echo", {"word": "ls"}, "allow"),
        ("echo", {}, "allow"),
        ("broken", {}, "deny"),
        ("broken", {"safe": True}, "allow"),
        ("broken", {"safe": "true"}, "deny"),
        ("broken", "no object", "deny"),
    ],
)
def test_the_first_rule_that_matches_decides_else_the_default(
    name: str, arguments: Any, expected: str
) -> None:
    assert policy_action(POLICY, name, arguments) == expected
    assert policy_action(None, name, arguments) == "allow"


async def test_a_denied_call_is_not_run_and_is_told(make: Any, sink: Collected) -> None:
    outcome = await tools.run(
        make(("broken", "{}"), ("echo", '{"word": "ls"}'), work={"policy": POLICY}), sink
    )
    assert (outcome["eval"], statuses(outcome)) == ("error", ["denied", "ok"])
    assert outcome["output"][HISTORY]["messages"][2]["content"].startswith("[denied] The policy denies")
    assert sink.err == b""


async def test_a_call_that_needs_a_person_waits_and_nothing_runs_before(make: Any, sink: Collected) -> None:
    named = (("echo", '{"word": "ls"}'), ("echo", '{"word": "rm x"}'))
    made = make(*named, work={"policy": POLICY})
    asked = await tools.run(made, sink)
    (signal,) = asked["signals"]
    question = signal["meta"]["question"]
    assert (signal["verdict"], signal["reason"], sink.out) == ("hold", "needs_human", b"")
    assert "rm x" in question and '"ls"' not in question

    denied = await tools.run(replace(made, question=question, feedback="No, never."), sink)
    assert statuses(denied) == ["ok", "denied"]
    assert "No, never." in denied["output"]["results"][1]["output"]

    approved = await tools.run(replace(made, question=question, feedback=" Approve. "), sink)
    assert statuses(approved) == ["ok", "ok"]


async def test_an_approval_counts_for_the_calls_that_were_shown_only(make: Any, sink: Collected) -> None:
    first = make(("echo", '{"word": "rm x"}'), work={"policy": POLICY})
    question = (await tools.run(first, sink))["signals"][0]["meta"]["question"]
    other = make(("echo", '{"word": "rm y"}'), work={"policy": POLICY}, question=question, feedback="approve")
    assert "signals" in await tools.run(other, sink)
    # Feedback of an evaluation, or of a reviewer, answers no question.
    assert "signals" in await tools.run(replace(first, feedback="approve"), sink)
    assert sink.out == b""


def test_places_are_filled_and_never_become_options() -> None:
    tool = OfferedTool("t", argv=(("git",), ("--word=", Argument("a")), (Argument("b"),)))
    assert tool_argv(tool, {"a": "-x", "b": "c"}) == ("git", "--word=-x", "c")
    with pytest.raises(BadCall, match="option"):
        tool_argv(tool, {"a": "", "b": "-x"})
    with pytest.raises(BadCall, match="missing"):
        tool_argv(tool, {"a": ""})
    whole = RequestTemplate("GET", (Argument("url"), "/a/", Argument("x")))
    assert (
        tool_call_request(whole, {"url": "https://a.example", "x": "b/c"}).url == "https://a.example/a/b%2Fc"
    )
