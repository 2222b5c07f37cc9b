"""Output that is there and could not be read, a refusal, an empty answer: named, and routed where somebody reads it
(law §2, §13)."""

from __future__ import annotations

import json
from dataclasses import replace
from time import process_time
from typing import Any

import pytest

from pipelines.routing.basics.values import MISSING
from pipelines.work.handlers import chat, route
from pipelines.work.handlers import command as command_handler
from pipelines.work.language_models.completion import CompletionRequest, ask_model
from pipelines.work.results.output import output_in_text
from pipelines.work.spec.handler_io import Attempt, Spec
from tests.engine.test_jumps import as_of_before
from tests.factories import World
from tests.outgoing.servers import say
from tests.pages.conftest import at, client_of
from tests.work.agents.conftest import Programs, program, ran
from tests.work.conftest import Collected
from tests.work.driving import Bench, command, done, drive, outcome_of
from tests.work.modelserver import Answer, model, says, stream

__all__ = ["program"]
KEYS = ("plan",)
SIGNAL = '{"flux:signal": {"verdict": "proceed"}}'
BLOCK = '```json\n{"plan": 1}\n```'

LOST = [
    # (text, why)
    ('```json\n{"plan": 1,}\n```', "the json block in line 1 cannot be read"),
    ('Here:\n```json\n{"plan": 1}\n', "the json block in line 2 is not one that is read"),
    ('```JSON\n{"plan": 1}\n```', "the json block in line 1 is not one"),
    ('~~~json\n{"plan": 1}\n~~~', "the json block in line 1 is not one"),
    ('> ```json\n> {"plan": 1}\n> ```', "the json block in line 1 is not one"),
    ('```json\n{"plan": 1}```', "the json block in line 1 is not one"),
    ('```json {"plan": 1}\n```', "the json block in line 1 is not one"),
    ('```\n{"plan": 1}\n```', "plan stands in the text, and in no json block"),
    ('The result is {"plan": 1}.', "plan stands in the text"),
    ("The result is {'plan': 1}.", "plan stands in the text"),
    ('{"plan": NaN}', "the text begins as JSON and is none"),
    ('{"plan": 1', "the text begins as JSON and is none"),
    ('[{"plan": 1}, ', "the text begins as JSON and is none"),
    (f'{SIGNAL}\n{{"plan": 1}}', "the text begins as JSON and is none"),
    ('{"plan": 1, "plan": 2}', "the text begins as JSON and is none"),
]
NOTHING_THERE = [
    "",
    "The plan is fine.",
    "[12:30:01] began\n[12:30:02] ended",
    f"{SIGNAL}\n{SIGNAL}",
    '```json\n{"plan": "…"}\n```',
    '```json\n{"name": "a package"}\n```',
    "```python\nprint(1)\n```",
]


@pytest.mark.parametrize(("text", "why"), LOST)
def test_output_that_is_there_and_is_not_read_is_named(text: str, why: str) -> None:
    found = output_in_text(text, KEYS)
    assert found.value is MISSING
    assert found.unreadable.startswith(why)
    assert found.facts["unreadable"].startswith(why)


@pytest.mark.parametrize("text", NOTHING_THERE)
def test_where_nothing_is_there_nothing_is_named(text: str) -> None:
    found = output_in_text(text, KEYS)
    assert (found.value, found.unreadable, found.facts) == (MISSING, "", {})


def test_what_is_passed_over_beside_the_output_is_named_too() -> None:
    found = output_in_text(f'```json\n{{broken\n```\n```json\n{{"a": 1}}\n```\n{BLOCK}\n{BLOCK}\n', KEYS)
    assert found.value == {"plan": 1}
    assert found.unreadable.startswith("the json block in line 1 cannot be read")
    assert found.remarks == (
        "1 json blocks hold none of the output keys.",
        "1 json blocks after the one that counts were not read.",
    )
    left = output_in_text('{"plan": 1, "risk": 2}', KEYS)
    assert (left.value, left.remarks) == ({"plan": 1}, ("Not among the output keys, and left out: risk",))


def test_a_text_that_was_cut_says_so_where_output_was_looked_for_in_it() -> None:
    assert output_in_text("A long log", KEYS, cut="cut here").unreadable == "cut here"
    assert output_in_text(f"A long log\n{BLOCK}\nand more", KEYS, cut="cut here").unreadable == ""
    number = output_in_text("12345", (), cut="cut here")
    assert (number.value, number.unreadable) == (12345, "cut here")


def test_the_line_of_a_signal_is_told_apart() -> None:
    assert output_in_text(SIGNAL, ()).facts == {"signal": True}
    assert output_in_text(f"{SIGNAL}\n", KEYS).facts == {"signal": True}
    assert output_in_text('{"plan": 1}', KEYS).facts == {}


# Commands, from the process to the page


BROKEN = "print('Here:'); print('```json'); print('{\"plan\": 1,}'); print('```')"


def stations(program: str, **more: Any) -> list[Any]:
    on = {"id": "on", "when": {"result": "success"}, "to": "b"}
    unread = {"id": "unread", "when": {"failure_type": "unreadable_output"}, "to": "c"}
    return [command("a", program, on, unread, **more), "b", "c"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
def test_a_command_whose_output_cannot_be_read_fails_where_somebody_reads_it(
    world: World, bench: Bench
) -> None:
    line = world.line(stations=stations(BROKEN, output_keys=["plan"]))
    task = world.start(line)
    drive(bench, task)
    assert task.jobs.filter(station="c").exists() and not task.jobs.filter(station="b").exists()
    said = outcome_of(task, "a")
    assert said["facts"]["output"]["unreadable"].startswith("the json block in line 2 cannot be read")
    assert (done(task, "a").result, said["exit_code"]) == ("failure", 0)
    page = client_of(world.viewer).get(at(world, "task", task.name))
    assert "Output could not be read" in page.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.moves
def test_published_before_or_read_by_nobody_it_goes_on_as_it_did(world: World, bench: Bench) -> None:
    before = as_of_before(world.line(stations=stations(BROKEN, output_keys=["plan"]), key="before"))
    for line in (before, world.line(stations=stations(BROKEN), key="nobody")):
        task = world.start(line)
        drive(bench, task)
        assert "unreadable" in outcome_of(task, "a")["facts"]["output"]
        assert task.jobs.filter(station="b").exists()


async def test_a_log_names_signals_that_cannot_be_read(spec: Any, sink: Collected) -> None:
    broken = "print('{\"flux:signal\": {broken'); print('{\"flux:signal\": \"' + 'x' * 2_000_000 + '\"}')"
    await command_handler.run(spec(broken), sink)
    assert "[gateline] Lines that begin as a signal and could not be read: 2" in sink.notes


# Agents


def codex(*messages: str, more: str = "") -> str:
    items = [{"type": "item.completed", "item": {"type": "agent_message", "text": text}} for text in messages]
    lines = [{"type": "thread.started", "thread_id": "t"}, *items]
    shown = "".join(f"print({json.dumps(each)!r})\n" for each in lines)
    return f"{shown}{more}\nprint({json.dumps({'type': 'turn.completed', 'usage': {}})!r})\n"


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (codex("x" * 21_000 + BLOCK), {"unreadable": "its last message is longer than 20000 characters"}),
        (
            codex(BLOCK, "Done."),
            {"unreadable": "a block with output keys stands in a message before its last"},
        ),
        (codex("Done.", more='print(\'{"type": "item.comp\')'), {"unreadable": "line 3 of its stream is no"}),
        (
            codex("Done.", more="print('{\"type\": \"' + 'x' * 5_000_000 + '\"}')"),
            {"unreadable": "line 3 of its"},
        ),
        (codex(), {"empty": True}),
        (codex("Done."), {}),
        (codex(f"Done.\n{BLOCK}"), {}),
    ],
)
async def test_what_became_of_an_agents_answer_is_a_fact(
    program: Programs, sink: Collected, body: str, facts: dict[str, Any]
) -> None:
    program("codex", body)
    outcome = await ran(replace(program.spec("codex"), output_keys=KEYS), sink)
    seen = outcome["facts"].get("output", {})
    assert seen.keys() == facts.keys()
    assert all(str(seen[key]).startswith(str(value)) for key, value in facts.items())
    assert outcome["exit_code"] == 0 and "result" not in outcome


async def test_a_refusal_and_an_error_beside_success_are_facts(program: Programs, sink: Collected) -> None:
    refusal = {"stop_reason": "refusal", "content": [{"type": "text", "text": "I cannot help."}]}
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "I cannot help."}
    shown = "".join(
        f"print({json.dumps(each)!r})\n" for each in ({"type": "assistant", "message": refusal}, result)
    )
    program("claude", shown)
    outcome = await ran(program.spec("claude"), sink)
    assert outcome["facts"]["output"] == {"refused": "I cannot help."}
    error = "print(" + repr(json.dumps({"type": "error", "message": "quota of the day"})) + ")"
    program("codex", codex("Done.", more=error))
    outcome = await ran(program.spec("codex"), sink)
    assert (outcome["exit_code"], outcome["facts"]["agent"]["error"]) == (0, "quota of the day")


# Models


def message(**fields: Any) -> Answer:
    def answer(to: Any, body: dict[str, Any]) -> None:
        if body.get("stream"):
            delta = {"choices": [{"index": 0, "delta": fields}]}
            stream(to, [delta, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"])
            return
        choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}
        whole = {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]}
        say(to, 200, json.dumps(whole).encode(), content_type="application/json")

    return answer


MODELS = [
    (message(content=None, refusal="I cannot."), {"refused": "I cannot."}),
    (says("", finish="content_filter"), {"refused": "The filter of the model's server refused."}),
    (says(""), {"empty": True}),
    (says("  \n"), {"empty": True}),
    (says('{"plan": 1, "ri', finish="length"), {"unreadable": "the model stopped at its limit of tokens"}),
    (
        message(content=[{"type": "text", "text": "hi"}]),
        {"unreadable": "the content of the answer is no text"},
    ),
    (
        message(content=None, function_call={"name": "f", "arguments": "{}"}),
        {"unreadable": "the answer calls a"},
    ),
    (says(BLOCK), {}),
]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("answer", "facts"), MODELS)
async def test_what_became_of_a_models_answer_is_a_fact(
    answer: Answer, facts: dict[str, Any], streams: bool, sink: Collected, attempt: Attempt
) -> None:
    with model(answer) as its:
        given = {
            "prompt": "Say it.",
            "outgoing": its.outgoing(),
            "output_keys": KEYS,
            "work": {"stream": streams},
        }
        outcome = await chat.run(Spec("chat", attempt, **given), sink)
    seen = outcome.get("facts", {}).get("output", {})
    assert seen.keys() == facts.keys()
    assert all(str(seen[key]).startswith(str(value)) for key, value in facts.items())
    assert ("output" in outcome) == (not facts)


async def test_a_route_names_a_refusal(sink: Collected, attempt: Attempt) -> None:
    with model(message(content=None, refusal="I cannot.")) as its:
        spec = Spec("route", attempt, prompt="Which?", outgoing=its.outgoing(), labels=("a", "b"))
        outcome = await route.run(spec, sink)
        request = CompletionRequest([{"role": "user", "content": "?"}])
        reply = await ask_model(request, its.outgoing(), chat.text_callback_to_log(sink, print))
    assert outcome["facts"]["output"] == {"refused": "I cannot."}
    assert reply.refusal == "I cannot."


@pytest.mark.parametrize("piece", ["```json\n", "```json\n{\n```\n"])
def test_a_text_of_nothing_but_beginnings_is_read_in_time(piece: str) -> None:
    """A program that writes it does not hold up what else its worker does."""
    began = process_time()
    assert output_in_text(piece * (256 * 1024 // len(piece)), KEYS).value is MISSING
    assert process_time() - began < 3
