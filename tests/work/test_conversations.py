"""Lines that talk to a model and run its tools, with the real engine, a real driver and a real server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Event, Job, Task
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from tests.factories import World, station
from tests.outgoing.servers import say, serving
from tests.work.driving import Bench, done, drive, text_of
from tests.work.modelserver import model, refuses, says

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
PYTHON = sys.executable


def when(op: str, value: str) -> dict[str, Any]:
    return {"eval": {"op": op, "value": value}}


def loop(most: int = 3, **tools: Any) -> list[dict[str, Any]]:
    """chat ⇄ run_tools, as contenox has it, bounded by the edge that it takes."""
    read = {
        "name": "read",
        "description": "Reads a file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        "argv": [PYTHON, "-I", "-c", "import sys; print('found ' + sys.argv[1])", "{{argument.path}}"],
    }
    too_often = {"edge": {"from": "run_tools", "to": "chat", "at_least": most}}
    work = {"system": "Help.", "prompt": "{{task.title}}", "history": "talk", "tools": "run_tools"}
    return [
        station(
            "chat",
            {"id": "enough", "when": {"all": [too_often, when("equals", "tool-call")]}, "to": "failed"},
            {"id": "call", "when": when("equals", "tool-call"), "to": "run_tools"},
            {"id": "said", "when": when("equals", "stop"), "to": "completed"},
            kind="chat",
            work=work,
        ),
        station(
            "run_tools",
            {"id": "back", "when": {"result": "success"}, "to": "chat"},
            kind="tools",
            work={"tools": [read], "history": "talk", **tools},
        ),
    ]


def calling(path: str) -> Any:
    return says(calls=(("read", json.dumps({"path": path})),))


def test_B17_chat_and_tools_go_round_until_the_model_is_done(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=loop(), preset="contenox"), title="What is in a and b?")
    with model(calling("a"), calling("b"), says("Both were found.")) as its:
        drive(bench, task, outgoing=its.outgoing())
    assert world.status(task) == "completed"
    path = list(Job.objects.filter(task=task).order_by("pk").values_list("station", "outcome__eval"))
    assert path == [
        ("chat", "tool-call"),
        ("run_tools", "ok"),
        ("chat", "tool-call"),
        ("run_tools", "ok"),
        ("chat", "stop"),
    ]
    told = [(each["role"], each["content"]) for each in its.asked[-1]["messages"]]
    assert told == [
        ("system", "Help."),
        ("user", "What is in a and b?"),
        ("assistant", ""),
        ("tool", "found a\n"),
        ("assistant", ""),
        ("tool", "found b\n"),
    ]
    assert its.asked[0]["tools"][0]["function"]["name"] == "read"
    last = done(task, "chat", 3)
    assert "Both were found." in text_of(last)
    assert Task.objects.get(pk=task.pk).context["text"] == "Both were found."


@pytest.mark.wide
def test_B17_a_loop_that_does_not_end_is_bound_by_the_edge_it_takes(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=loop(most=2), preset="contenox"))
    with model(calling("a")) as its:
        drive(bench, task, outgoing=its.outgoing())
    assert (world.status(task), len(its.asked)) == ("failed", 3)
    assert Job.objects.filter(task=task, station="run_tools").count() == 2


def test_a_call_that_needs_a_person_blocks_until_one_has_answered(world: World, bench: Bench) -> None:
    policy = {"default": "approve"}
    task = world.start(world.line(stations=loop(policy=policy), preset="contenox"))
    with model(calling("secrets"), says("Thanks.")) as its:
        drive(bench, task, outgoing=its.outgoing())
        token = world.token(task)
        assert (world.status(task), token.station) == ("blocked", "run_tools")
        assert "secrets" in token.wait["question"]
        assert done(task, "run_tools").outcome.get("output") is None
        engine.answer_blocked_token(
            token.pk, user=world.operator, token_version=token.version, text="approve"
        )
        drive(bench, task, outgoing=its.outgoing())
    assert world.status(task) == "completed"
    assert done(task, "run_tools", 2).outcome["output"]["results"][0]["status"] == "ok"


def test_B19_a_model_that_fails_is_routed_like_any_failure(world: World, bench: Bench) -> None:
    failed = {"id": "down", "when": {"failure_type": ["model_error", "model_rate_limited"]}, "to": "later"}
    line = world.line(stations=[station("ask", failed, kind="chat", work={"prompt": "Well?"}), "later"])
    task = world.start(line)
    with model(refuses(503, "overloaded")) as its:
        drive(bench, task, outgoing=its.outgoing())
    assert done(task, "ask").outcome["failure_type"] == "model_error"
    assert Job.objects.filter(task=task, station="later").exists()


def test_a_router_leads_where_the_model_says(world: World, bench: Bench) -> None:
    rules = [{"id": f"to-{label}", "when": when("equals", label), "to": label} for label in ("bug", "idea")]
    sort = station("sort", *rules, kind="route", work={"prompt": "What is “{{task.title}}”?"})
    gone = {"id": "x", "to": "completed"}
    task = world.start(world.line(stations=[sort, station("bug", gone), "idea"]), title="It crashes")
    with model(says("That is a BUG.")) as its:
        drive(bench, task, outgoing=its.outgoing())
    assert (world.status(task), done(task, "bug").visit) == ("completed", 1)
    assert "It crashes" in its.asked[0]["messages"][0]["content"]


def test_a_call_takes_its_words_from_the_task_and_its_secret_from_the_worker(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    secret = "planted-canary-of-a-call"
    with serving(lambda to, asked: say(to, 200, secret.encode())) as server:
        work = {
            "method": "POST",
            "url": f"{server.url}/tasks/{{{{input.name}}}}?q={{{{task.title}}}}",
            "headers": {"X-Key": {"secret": "CALL"}, "X-Title": "{{task.name}}"},
            "json": {"title": "{{task.title}}"},
        }
        version = world.line(
            stations=[station("tell", kind="http", work=work)], inputs=[{"key": "name", "type": "text"}]
        )
        task = world.start(version, title="A & B", inputs={"name": "../x"})
        guard = Outgoing(Guard(("127.0.0.1",)))
        drive(bench, task, outgoing=guard, named_secrets={"CALL": secret}, secrets=(secret,))
    (asked,) = server.asked
    assert asked.path == "/tasks/..%2Fx?q=A%20%26%20B"
    assert (asked.headers["x-key"], json.loads(asked.body)) == (secret, {"title": "A & B"})
    job = done(task, "tell")
    assert job.outcome["output"] == "•••"
    told = json.dumps(
        [list(Event.objects.filter(task=task).values_list("data", flat=True)), job.outcome], default=str
    )
    assert secret not in told + text_of(job)


def test_a_hook_and_an_error_end_as_rules_say(world: World, bench: Bench) -> None:
    no = {"argv": [PYTHON, "-c", "import sys; sys.exit(1)"]}
    caught = {"id": "caught", "when": {"failure_type": "hopeless"}, "to": "completed"}
    stations = [
        station(
            "gatekeeper",
            {"id": "no", "when": when("equals", "failed"), "to": "give-up"},
            kind="hook",
            work=no,
        ),
        station(
            "give-up",
            caught,
            kind="error",
            work={"message": "{{task.title}} fails", "failure_type": "hopeless"},
        ),
    ]
    task = world.start(world.line(stations=stations), title="It")
    drive(bench, task)
    assert (world.status(task), done(task, "give-up").summary) == ("completed", "It fails")
    assert done(task, "gatekeeper").outcome["eval"] == "failed"
