"""The handlers `http`, `hook`, `error` and `route`, against real servers and processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pipelines.work.handlers import error, hook, http, route
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.handler_io import Attempt, Outcome, ProcessLimits, Spec
from tests.outgoing.servers import say, serving, silent
from tests.work.conftest import Collected
from tests.work.modelserver import model, refuses, says

LOOPBACK = Outgoing(Guard(("127.0.0.0/8",)))
JSON = {"content_type": "application/json"}


async def call(sink: Collected, attempt: Attempt, work: dict[str, Any], **more: Any) -> Outcome:
    given: dict[str, Any] = {"outgoing": LOOPBACK, "work": work}
    return await http.run(Spec("http", attempt, **(given | more)), sink)


@pytest.mark.parametrize(
    ("status", "result", "failure_type"),
    [
        (200, "success", None),
        (204, "success", None),
        (404, "failure", "http_404"),
        (503, "failure", "http_503"),
    ],
)
async def test_the_result_of_a_call_follows_from_its_status(
    status: int, result: str, failure_type: str | None, sink: Collected, attempt: Attempt
) -> None:
    with serving(lambda to, asked: say(to, status)) as server:
        outcome = await call(sink, attempt, {"url": server.url})
    assert (outcome["result"], outcome["eval"], outcome.get("failure_type")) == (
        result,
        str(status),
        failure_type,
    )


async def test_a_call_sends_what_it_says(sink: Collected, attempt: Attempt) -> None:
    with serving(lambda to, asked: say(to, 200, b'{"id": 1, "more": 2}', **JSON)) as server:
        work = {"method": "PUT", "url": f"{server.url}/a", "json": {"x": [1]}, "headers": {"X-Key": "v"}}
        outcome = await call(sink, attempt, work, output_keys=("id",))
        await call(sink, attempt, {"method": "POST", "url": server.url, "body": "plain"})
    first, second = server.asked
    assert (first.method, first.path, json.loads(first.body)) == ("PUT", "/a", {"x": [1]})
    assert (first.headers["content-type"], first.headers["x-key"]) == ("application/json", "v")
    assert (second.method, second.body) == ("POST", b"plain")
    assert outcome["output"] == {"id": 1}


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (b"just a text", {}, {"output": "just a text"}),
        (b'{"a": 1}', {}, {"output": {"a": 1}}),
        (b"", {}, {}),
    ],
)
async def test_what_comes_back_is_json_where_it_is_that(
    body: bytes, headers: dict[str, str], expected: dict[str, Any], sink: Collected, attempt: Attempt
) -> None:
    with serving(lambda to, asked: say(to, 200, body, **headers)) as server:
        outcome = await call(sink, attempt, {"url": server.url})
    assert {key: outcome[key] for key in ("output", "output_error") if key in outcome} == expected


async def test_json_that_cannot_be_read_is_an_output_error(sink: Collected, attempt: Attempt) -> None:
    with serving(lambda to, asked: say(to, 200, b"{not json", **JSON)) as server:
        outcome = await call(sink, attempt, {"url": server.url})
    assert outcome["output_error"] and "output" not in outcome


@pytest.mark.parametrize(
    ("url", "failure_type"),
    [
        ("http://169.254.169.254/latest/meta-data/", "address_refused"),
        ("http://[::ffff:169.254.169.254]/", "address_refused"),
        ("http://10.0.0.1/", "address_refused"),
        ("http://2852039166/", "address_refused"),
        ("file:///etc/passwd", "http_error"),
        ("gopher://127.0.0.1/", "address_refused"),
        ("http://", "http_error"),
        ("http://a b/", "http_error"),
        ("", "http_error"),
    ],
)
async def test_a_call_that_must_not_or_cannot_be_made_fails(
    url: str, failure_type: str, sink: Collected, attempt: Attempt
) -> None:
    outcome = await call(sink, attempt, {"url": url}, outgoing=Outgoing())
    assert (outcome["result"], outcome["failure_type"]) == ("failure", failure_type)


async def test_a_header_that_would_be_two_is_not_sent(sink: Collected, attempt: Attempt) -> None:
    with serving(lambda to, asked: say(to, 200)) as server:
        for value in ("a\r\nX-Other: b", "ü\u2028"):
            outcome = await call(sink, attempt, {"url": server.url, "headers": {"X-A": value}})
            assert outcome["failure_type"] == "http_error"
        assert server.asked == []


async def test_a_call_has_its_time(sink: Collected, attempt: Attempt) -> None:
    with serving(silent) as server:
        outcome = await call(sink, attempt, {"url": server.url}, limits=ProcessLimits(total=0.2))
    assert (outcome["result"], outcome["reason"]) == ("cancelled", "max_timeout")


async def test_the_log_tells_no_query_and_no_password(sink: Collected, attempt: Attempt) -> None:
    with serving(lambda to, asked: say(to, 404)) as server:
        url = server.url.replace("//", "//me:planted-canary@") + "/a?key=planted-canary"
        outcome = await call(sink, attempt, {"url": url})
    assert "planted-canary" not in json.dumps(outcome) + "".join(sink.notes)
    assert "/a" in "".join(sink.notes)


# hook


@pytest.mark.parametrize(("code", "word"), [(0, "ok"), (1, "failed"), (3, "failed")])
async def test_B11_a_hook_says_ok_or_failed(
    code: int, word: str, spec: Callable[..., Spec], sink: Collected
) -> None:
    made = replace(spec(f"import sys; sys.exit({code})", kind="hook"), data={"task": {"title": "x"}})
    outcome = await hook.run(made, sink)
    assert (outcome["eval"], outcome["exit_code"]) == (word, code)


async def test_a_hook_is_told_of_its_task_and_speaks_for_itself(
    spec: Callable[..., Spec], sink: Collected
) -> None:
    program = "import json, sys; print(json.load(sys.stdin)['context']['a'])"
    await hook.run(replace(spec(program, kind="hook"), data={"context": {"a": "seen"}}), sink)
    assert sink.out == b"seen\n"
    says_so = "import json, os; open(os.environ['GATELINE_RESULT'], 'w').write(json.dumps({'eval': 'maybe'}))"
    assert (await hook.run(spec(says_so, kind="hook"), sink))["eval"] == "maybe"


async def test_a_hook_that_is_not_there_failed(spec: Callable[..., Spec], sink: Collected) -> None:
    outcome = await hook.run(spec("", kind="hook", argv=("no-such-program",)), sink)
    assert (outcome["eval"], outcome["result"]) == ("failed", "failure")


async def test_error_raises_what_it_is_told(sink: Collected, attempt: Attempt) -> None:
    outcome = await error.run(Spec("error", attempt, work={"message": "No way on."}), sink)
    assert outcome == {"result": "failure", "failure_type": "raised", "summary": "No way on."}


# route

LABELS = ("Bug", "feature", "question", "bug report")


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("feature", "feature"),
        ("  BUG\n", "Bug"),
        ("I think it is a feature request.", "feature"),
        ("**Bug**.", "Bug"),
        # The longer label, not the one inside it.
        ("This is a bug report.", "bug report"),
        # Named twice is named.
        ("Feature. I am sure: feature", "feature"),
        # Several, or none, as whole words.
        ("A question about a bug", None),
        ("debugging", None),
        ("features", None),
        ("a non-bug", None),
        ("neither", None),
        ("", None),
    ],
)
async def test_B12_a_label_is_the_answer_then_a_part_of_it_else_the_default(
    said: str, label: str | None, sink: Collected, attempt: Attempt
) -> None:
    with model(says(said)) as its:
        made = Spec("route", attempt, prompt="Which?", labels=LABELS, outgoing=its.outgoing())
        outcome = await route.run(made, sink)
    assert outcome["eval"] == (label if label is not None else said.strip())
    assert (outcome["result"], "output" in outcome) == ("success", False)
    assert all(f"- {each}" in its.asked[0]["messages"][-1]["content"] for each in LABELS)


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("feature", "feature"),
        (" Bug \n", "Bug"),
        ("BUG REPORT", "bug report"),
        ("It is a bug report.", None),
        ("feature.", None),
        ("question or feature", None),
        ("", None),
    ],
)
async def test_B12_a_strict_answer_is_a_label_and_nothing_else(
    said: str, label: str | None, sink: Collected, attempt: Attempt
) -> None:
    with model(says(said)) as its:
        made = Spec("route", attempt, prompt="Which?", labels=LABELS, outgoing=its.outgoing())
        strict = await route.run(replace(made, work={"strict": True}), sink)
    wanted = ("success", label, None) if label is not None else ("failure", None, "no_label")
    assert (strict["result"], strict.get("eval"), strict.get("failure_type")) == wanted


def test_valid_is_not_picked_inside_invalid() -> None:
    assert route.label_in_answer_or_none("It is invalid.", ("valid", "other")) is None
    assert route.label_in_answer_or_none("It is invalid.", ("valid", "invalid")) == "invalid"
    assert route.label_in_answer_or_none("in-valid", ("valid",)) is None
    assert route.label_in_answer_or_none("c++", ("c", "c++")) == "c++"
    assert route.label_in_answer_or_none("I would say C++, clearly", ("c", "c++")) == "c++"


def test_labels_that_differ_only_in_case_are_told_apart() -> None:
    assert route.label_in_answer_or_none("Go", ("go", "Go")) == "Go"
    assert route.label_in_answer_or_none("GO", ("go", "Go")) is None


async def test_nobody_chooses_where_the_model_does_not_answer(sink: Collected, attempt: Attempt) -> None:
    with model(refuses(500, "on fire")) as its:
        made = Spec("route", attempt, prompt="Which?", labels=LABELS, outgoing=its.outgoing())
        outcome = await route.run(made, sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "model_error")
