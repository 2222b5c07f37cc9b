"""A model that answers a question: a real HTTP server that speaks the protocol, in this process."""

from __future__ import annotations

import asyncio
import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from pipelines.work.handlers.judge import ask_judge_model
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.spec.handler_io import Outcome
from tests.outgoing.servers import Answers, Asked, Server, say, serving

OUTCOME = {"result": "success", "output": {"findings": 0}}
KEY = "sk-a-key-that-nobody-may-see"


def completion(text: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    said = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    return json.dumps({**said, "usage": usage}).encode()


def saying(body: bytes, status: int = 200) -> Answers:
    def answer(to: BaseHTTPRequestHandler, _: Asked) -> None:
        say(to, status, body, content_type="application/json")

    return answer


def asked(server: Server, **more: Any) -> Outcome:
    given: dict[str, Any] = {"model": "judge", "key": KEY, "seconds": 2.0, "retries": 0}
    endpoint = Endpoint(f"{server.url}/v1", **(given | more))
    return asyncio.run(ask_judge_model("Is it good?", OUTCOME, Outgoing(endpoint=endpoint)))


@pytest.mark.parametrize("word", ["yes", "no"])
def test_A25_the_model_answers_with_an_explanation(word: str) -> None:
    with serving(saying(completion(f"There are no findings left.\n{word}"))) as server:
        outcome = asked(server)
    assert (outcome["result"], outcome["eval"]) == ("success", word)
    assert outcome["feedback"] == "There are no findings left."
    assert (outcome["usage"]["tokens_in"], outcome["usage"]["tokens_out"]) == (12, 3)


def test_it_is_shown_the_question_and_the_outcome() -> None:
    with serving(saying(completion("yes"))) as server:
        asked(server)
    [request] = server.asked
    said = json.loads(request.body)
    assert (request.path, said["model"], request.headers["authorization"]) == (
        "/v1/chat/completions",
        "judge",
        f"Bearer {KEY}",
    )
    shown = said["messages"][-1]["content"]
    assert "Is it good?" in shown
    assert json.loads(shown.partition("Outcome:\n")[2]) == OUTCOME


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (completion("I cannot tell."), 200),
        (completion(None), 200),
        (b'{"choices": []}', 200),
        (b"no", 200),
        (b'"yes"', 200),
        (b'{"error": {"message": "busy"}}', 503),
        (b'{"error": {"message": "wrong key"}}', 401),
    ],
    ids=["undecided", "no text", "no choice", "no json", "no object", "busy", "refused"],
)
def test_A26_whatever_is_no_answer_is_said_to_be_none(body: bytes, status: int) -> None:
    with serving(saying(body, status)) as server:
        outcome = asked(server)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_answer")
    assert "eval" not in outcome
    assert KEY not in json.dumps(outcome)


def test_A26_a_model_that_is_not_there_has_not_answered() -> None:
    with serving(saying(completion("yes"))) as server:
        pass
    assert asked(server)["failure_type"] == "no_answer"


def test_A26_a_model_that_is_silent_for_too_long_has_not_answered() -> None:
    def silent(to: BaseHTTPRequestHandler, _: Asked) -> None:
        to.rfile.read(1)  # until the client hangs up

    with serving(silent) as server:
        assert asked(server, seconds=0.3)["failure_type"] == "no_answer"


def test_a_busy_model_is_asked_again() -> None:
    tries: list[int] = []

    def busy_once(to: BaseHTTPRequestHandler, _: Asked) -> None:
        tries.append(1)
        say(to, 503 if len(tries) == 1 else 200, completion("yes"), content_type="application/json")

    with serving(busy_once) as server:
        assert asked(server, retries=1)["eval"] == "yes"
    assert len(tries) == 2


def test_A26_without_an_endpoint_nobody_has_answered() -> None:
    assert asyncio.run(ask_judge_model("Is it good?", OUTCOME, Outgoing()))["failure_type"] == "no_answer"
