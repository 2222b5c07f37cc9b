"""The handler `chat`, against a real server that speaks the protocol."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from pipelines.work.handlers import chat
from pipelines.work.orders.order import expected_outputs
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.handler_io import Attempt, Outcome, ProcessLimits, Spec
from pipelines.work.spec.offered_tools import tool_definitions
from tests.outgoing.servers import say, serving, silent
from tests.waiting import LONG, eventually
from tests.work.conftest import Collected
from tests.work.modelserver import Answer, Model, breaks_off, model, refuses, says, stream


async def chatted(its: Model | Outgoing, sink: Collected, attempt: Attempt, **more: Any) -> Outcome:
    given: dict[str, Any] = {
        "prompt": "Say it.",
        "outgoing": its if isinstance(its, Outgoing) else its.outgoing(),
    }
    return await chat.run(Spec("chat", attempt, **(given | more)), sink)


async def failing(answer: Answer, sink: Collected, attempt: Attempt, **more: Any) -> Outcome:
    with model(answer) as its:
        return await chatted(its, sink, attempt, **more)


async def test_B11_it_stops_calls_tools_or_runs_out_of_length(sink: Collected, attempt: Attempt) -> None:
    answers = (
        says("Done."),
        says(calls=(("look", "{}"),)),
        says("Once upon", finish="length"),
        # Some servers say stop and call a tool.
        says(calls=(("look", "{}"),), finish="stop"),
    )
    with model(*answers) as its:
        found = [await chatted(its, sink, attempt) for _ in answers]
    assert [each["eval"] for each in found] == ["stop", "tool-call", "length", "tool-call"]
    assert {each["result"] for each in found} == {"success"}


@pytest.mark.parametrize("streams", [True, False])
async def test_the_answer_is_text_in_the_log_and_in_the_output(
    streams: bool, sink: Collected, attempt: Attempt
) -> None:
    with model(says("Zwölf Boxkämpfer")) as its:
        work = {
            "system": "Be brief.",
            "temperature": 0.5,
            "max_tokens": 50,
            "model": "mine",
            "stream": streams,
        }
        outcome = await chatted(its, sink, attempt, work=work)
    (asked,) = its.asked
    assert outcome["output"] == "Zwölf Boxkämpfer"
    assert sink.out.decode() == "Zwölf Boxkämpfer\n"
    assert (outcome["usage"]["tokens_in"], outcome["usage"]["tokens_out"]) == (11, 7)
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("mine", 0.5, 50)
    assert asked.get("stream", False) is streams


async def test_text_streams_into_the_log_while_the_model_still_writes(
    sink: Collected, attempt: Attempt
) -> None:
    going_on = threading.Event()

    def slowly(to: Any, body: dict[str, Any]) -> None:
        first = {"choices": [{"index": 0, "delta": {"content": "early"}}]}
        stream(to, [first], ended=False)
        going_on.wait(LONG)

    with model(slowly) as its:
        task = asyncio.create_task(chatted(its, sink, attempt))
        await eventually(lambda: b"early" in sink.out)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        going_on.set()


async def test_json_in_the_answer_is_the_output(sink: Collected, attempt: Attempt) -> None:
    fenced = 'Here:\n```json\n{"score": 7, "extra": 1}\n```\n'
    with model(says('{"a": 1}'), says(fenced), says("no json at all")) as its:
        assert (await chatted(its, sink, attempt))["output"] == {"a": 1}
        assert (await chatted(its, sink, attempt, output_keys=("score",)))["output"] == {"score": 7}
        assert "output" not in await chatted(its, sink, attempt, output_keys=("score",))


async def test_an_echoed_example_is_no_output(sink: Collected, attempt: Attempt) -> None:
    prompt = f"Look.\n\n{expected_outputs(('score',))}"
    answer = f"{prompt}\n"
    with model(says(answer), says(f'{answer}```json\n{{"score": 2}}\n```')) as its:
        echoed = await chatted(its, sink, attempt, prompt=prompt, output_keys=("score",))
        answered = await chatted(its, sink, attempt, prompt=prompt, output_keys=("score",))
    assert ("output" in echoed, answered["output"]) == (False, {"score": 2})


async def test_calls_of_tools_are_told_with_their_arguments(sink: Collected, attempt: Attempt) -> None:
    calls = (("look", '{"path": "a/b"}'), ("list", "{}"))
    tools = tool_definitions(({"name": "look", "description": "Looks", "parameters": {"type": "object"}},))
    with model(says("Let me look.", calls=calls)) as its:
        outcome = await chatted(its, sink, attempt, offered=tuple(tools))
    assert [(each["name"], each["arguments"]) for each in outcome["output"]["tool_calls"]] == [
        ("look", {"path": "a/b"}),
        ("list", {}),
    ]
    assert its.asked[0]["tools"][0]["function"]["name"] == "look"
    assert any("look(" in note for note in sink.notes)


async def test_a_conversation_goes_on_where_the_context_has_it(sink: Collected, attempt: Attempt) -> None:
    with model(says("First."), says("Second.")) as its:
        work = {"history": "talk", "system": "Be brief."}
        first = await chatted(its, sink, attempt, work=work)
        data = {"context": first["output"]}
        second = await chatted(its, sink, attempt, work=work, data=data, prompt="And then?")
    told = [(each["role"], each["content"]) for each in its.asked[1]["messages"]]
    assert told == [
        ("system", "Be brief."),
        ("user", "Say it."),
        ("assistant", "First."),
        ("user", "And then?"),
    ]
    kept = second["output"]["talk"]
    assert (len(kept["messages"]), kept["model"], second["output"]["text"]) == (5, "test-model", "Second.")


async def test_after_the_answers_of_tools_the_prompt_is_not_said_again(
    sink: Collected, attempt: Attempt
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Say it."},
        {"role": "assistant", "content": "", "tool_calls": [call, {**call, "id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    ]
    data = {"context": {"talk": {"messages": messages}}}
    with model(says("So.")) as its:
        await chatted(its, sink, attempt, work={"history": "talk"}, data=data)
    roles = [(each["role"], each.get("tool_call_id")) for each in its.asked[0]["messages"]]
    # Every call is answered: servers refuse one that is not.
    assert roles == [("user", None), ("assistant", None), ("tool", "c1"), ("tool", "c2")]


async def test_what_is_no_conversation_fails_before_anybody_is_asked(
    sink: Collected, attempt: Attempt
) -> None:
    with model(says("x")) as its:
        data = {"context": {"talk": "just a text"}}
        outcome = await chatted(its, sink, attempt, work={"history": "talk"}, data=data)
    assert (outcome["result"], outcome["failure_type"], its.asked) == ("failure", "bad_history", [])


@pytest.mark.parametrize(
    ("answer", "failure_type", "said"),
    [
        (refuses(400, "no such parameter"), "model_refused", "no such parameter"),
        (refuses(401, "who are you"), "model_denied", "who are you"),
        (refuses(404, "no such model"), "model_refused", "no such model"),
        (refuses(429, "slow down", retry_after="1"), "model_rate_limited", "slow down"),
        (refuses(500, "on fire"), "model_error", "on fire"),
        (breaks_off(), "model_cut_off", "broke off"),
        (lambda to, body: stream(to, ["{not json"]), "model_bad_answer", ""),
        (lambda to, body: stream(to, ["[1, 2]", "[DONE]"]), "model_bad_answer", ""),
        (lambda to, body: stream(to, [{"choices": ["x"]}]), "model_bad_answer", ""),
        (lambda to, body: stream(to, [{"choices": "x"}, "[DONE]"]), "model_cut_off", ""),
        (lambda to, body: stream(to, [{"error": {"message": "overloaded"}}]), "model_error", "overloaded"),
        (lambda to, body: stream(to, ["[DONE]"]), "model_cut_off", "broke off"),
        (lambda to, body: say(to, 200, b"<html>", content_type="text/html"), "model_cut_off", ""),
        (lambda to, body: say(to, 307, location="http://127.0.0.1:1/"), "model_refused", ""),
    ],
)
async def test_a_server_that_does_not_answer_well_is_a_failure_with_a_type(
    answer: Answer, failure_type: str, said: str, sink: Collected, attempt: Attempt
) -> None:
    outcome = await failing(answer, sink, attempt)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", failure_type)
    assert said in outcome["summary"]
    assert "planted-canary-key" not in json.dumps(outcome) + str(sink.notes)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"choices": []}', b'{"choices": [{"message": "x"}]}', b"null"]
)
async def test_a_whole_answer_that_is_none_is_a_failure(
    body: bytes, sink: Collected, attempt: Attempt
) -> None:
    outcome = await failing(
        lambda to, asked: say(to, 200, body, content_type="application/json"),
        sink,
        attempt,
        work={"stream": False},
    )
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "model_bad_answer")


async def test_it_asks_again_after_as_long_as_the_server_wants(sink: Collected, attempt: Attempt) -> None:
    with model(refuses(429, "slow down", retry_after_ms="10"), says("Now.")) as its:
        outcome = await chatted(its.outgoing(retries=1), sink, attempt)
    assert (outcome["output"], len(its.asked)) == ("Now.", 2)


async def test_a_server_that_says_nothing_is_given_up(sink: Collected, attempt: Attempt) -> None:
    with model(silent) as its:
        outcome = await chatted(its.outgoing(seconds=0.2), sink, attempt)
        assert (outcome["result"], outcome["failure_type"]) == ("failure", "model_timeout")
        late = await chatted(its, sink, attempt, limits=ProcessLimits(total=0.2))
        assert (late["result"], late["reason"]) == ("cancelled", "max_timeout")
        idle = await chatted(its, sink, attempt, limits=ProcessLimits(idle=0.2))
        assert (idle["result"], idle["reason"]) == ("cancelled", "idle_timeout")


async def test_without_a_model_it_says_what_an_operator_sets(sink: Collected, attempt: Attempt) -> None:
    nowhere = await chatted(Outgoing(), sink, attempt)
    assert (nowhere["failure_type"], "GATELINE_MODEL_URL" in nowhere["summary"]) == ("model_not_set", True)
    nameless = await chatted(Outgoing(Guard(), Endpoint("http://127.0.0.1:1/v1")), sink, attempt)
    assert (nameless["failure_type"], "GATELINE_MODEL" in nameless["summary"]) == ("model_not_set", True)
    gone = await chatted(Outgoing(Guard(), Endpoint("http://127.0.0.1:1/v1", "m", retries=0)), sink, attempt)
    assert gone["failure_type"] == "model_unreachable"


async def test_the_address_that_an_operator_set_may_be_private_and_nothing_behind_it(
    sink: Collected, attempt: Attempt
) -> None:
    with serving(lambda to, asked: say(to, 200, b"{}"), "127.0.0.2") as inside:
        with model(lambda to, body: say(to, 302, location=inside.url)) as its:
            outcome = await chatted(its, sink, attempt)
        assert (outcome["result"], inside.asked) == ("failure", [])
