"""Questions of rules, driven: hooks and evaluators as real processes on the task's workspace, models over real HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from pipelines.models import Job, Purpose, Snapshot, Task, Token
from pipelines.ports.terms import EVALUATE
from pipelines.work.handlers import evaluate
from pipelines.work.outgoing.endpoint import Endpoint, Outgoing
from pipelines.work.spec.handler_io import ProcessLimits, Spec
from tests.factories import World
from tests.outgoing.servers import serving
from tests.waiting import LONG, until
from tests.work.conftest import Collected
from tests.work.driving import PYTHON, Bench, command, done, drive, text_of
from tests.work.test_judging import completion, saying

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]

FLAGS = {"agentic_conditions": True}
GOOD = {"agentic": {"question": "Is it good?"}}
# Runs the script as its first line says, without a shell.
SCRIPT = "#!{python}\nimport json, os, pathlib, sys\noutcome = json.load(sys.stdin)\n{body}\n"
WRITES = (
    "import pathlib; p = pathlib.Path('hooks/gate'); p.parent.mkdir(exist_ok=True); p.write_text({text!r});"
    " p.chmod(0o755); {then}"
)


def hook(*argv: str, **more: Any) -> dict[str, Any]:
    return {"hook": {"argv": list(argv), **more}}


def writing(
    key: str, body: str, *rules: Any, then: str = "print('{\"n\": 1}')", **more: Any
) -> dict[str, Any]:
    """A station that leaves a hook in the workspace."""
    text = SCRIPT.format(python=PYTHON, body=body)
    return command(key, WRITES.format(text=text, then=then), *rules, **more)


def asked(task: Task) -> list[Job]:
    return list(Job.objects.filter(task=task, purpose=Purpose.EVALUATION).order_by("pk"))


def told(task: Task) -> list[dict[str, Any]]:
    last = task.decisions.order_by("at").last()
    assert last is not None
    found: list[dict[str, Any]] = last.situation["facts"].get("answers", [])
    return found


def gate(target: str, word: str = "pass", key: str = "passed", **more: Any) -> dict[str, Any]:
    return {"id": key, "when": {**hook("hooks/gate"), "answer": word}, "to": target, **more}


def test_A27_a_hook_of_the_workspace_reads_the_outcome_and_passes(world: World, bench: Bench) -> None:
    body = "assert outcome['output'] == {'n': 1}; print('fine', os.environ['GATELINE_STATION'])"
    task = world.start(world.line(stations=[writing("a", body, gate("b")), "b"], flags=FLAGS))
    drive(bench, task)
    assert world.status(task) == "completed"
    [job] = asked(task)
    assert (job.exit_code, text_of(job)) == (0, "fine a\n")
    assert (job.outcome or {})["feedback"] == "fine a"


def test_A27_a_hook_that_is_missing_blocks(world: World, bench: Bench) -> None:
    rules = [gate("b"), gate("stopped", "block", "blocked")]
    ends = [{"key": "stopped", "kind": "failed"}]
    task = world.start(world.line(stations=[command("a", "pass", *rules), "b"], flags=FLAGS, ends=ends))
    drive(bench, task)
    task.refresh_from_db()
    assert task.end == "stopped"
    assert "there is no program hooks/gate" in told(task)[0]["text"]


def test_A28_a_blocked_task_runs_again_with_what_the_hook_said(world: World, bench: Bench) -> None:
    body = "print('line 3: no type', file=sys.stderr); sys.exit(0 if outcome['output']['fixed'] else 1)"
    reads = "import json, sys; print(json.dumps({'fixed': 'no type' in sys.stdin.read()}))"
    again = gate("a", "block", "again", feedback=True, max_retries=2)
    first = writing("a", body, gate("b"), again, then=reads, work={"prompt": "Check it."})
    task = world.start(world.line(stations=[first, "b"], flags=FLAGS))
    drive(bench, task)
    assert world.status(task) == "completed"
    assert [
        job.feedback for job in Job.objects.filter(task=task, station="a", purpose="station").order_by("pk")
    ] == [
        "",
        "line 3: no type",
    ]
    assert [job.outcome["eval"] for job in asked(task) if job.outcome] == ["block", "pass"]


@pytest.mark.wide
def test_what_a_hook_changes_in_the_workspace_is_dropped(world: World, bench: Bench) -> None:
    body = "pathlib.Path('left-behind').write_text('x'); outcome.clear()"
    looks = command("b", "import os; print(sorted(os.listdir()))")
    task = world.start(world.line(stations=[writing("a", body, gate("b")), looks], flags=FLAGS))
    drive(bench, task)
    assert text_of(done(task, "b")) == "['hooks']\n"
    assert Snapshot.objects.filter(task=task, job__purpose=Purpose.EVALUATION).count() == 0


def test_a_hook_that_takes_the_workspace_away_has_its_answer(world: World, bench: Bench) -> None:
    body = "import os; os.rename(os.getcwd(), os.getcwd() + '-away'); outcome.clear()"
    looks = command("b", "import os; print(sorted(os.listdir()))")
    task = world.start(world.line(stations=[writing("a", body, gate("b")), looks], flags=FLAGS))
    drive(bench, task)
    assert text_of(done(task, "b")) == "['hooks']\n"
    assert [job.attempt for job in asked(task)] == [1]


HOOKS: dict[str, tuple[tuple[str, ...], str]] = {
    "above the workspace": (("../outside",), "lies outside the workspace"),
    "anywhere on the machine": (("/bin/true",), "lies outside the workspace"),
    "a link that leads out": (("link",), ""),
    "a link by its path": (("./link",), "lies outside the workspace"),
    "not executable": (("./plain",), "there is no program"),
    "too slow": ((PYTHON.rsplit("/", 1)[1], "-c", "import time; time.sleep(600)"), "longer than 0.5 s"),
    "another exit code": ((PYTHON.rsplit("/", 1)[1], "-c", "import sys; sys.exit(3)"), ""),
}


@pytest.mark.smoke(1)
@pytest.mark.parametrize(("argv", "why"), HOOKS.values(), ids=HOOKS)
def test_A27_whatever_is_not_exit_code_0_blocks(
    spec: Any, sink: Collected, argv: tuple[str, ...], why: str
) -> None:
    given: Spec = spec("", argv=argv, prompt="{}", limits=ProcessLimits(total=0.5))
    env = {**given.env, "PATH": str(Path(PYTHON).parent)}
    workspace = given.attempt.workspace
    (workspace.parent / "outside").write_text("#!/bin/sh\nexit 0\n")
    (workspace.parent / "outside").chmod(0o755)
    (workspace / "link").symlink_to("/bin/true")
    (workspace / "plain").write_text("exit 0\n")
    outcome = asyncio.run(evaluate.run_hook(Spec(**{**vars(given), "env": env}), sink))
    assert (outcome["result"], outcome["eval"]) == ("success", "block")
    assert why in outcome["feedback"]


def test_A26_the_evaluator_of_a_worker_gets_the_question_and_the_outcome(world: World, bench: Bench) -> None:
    program = (
        "import json, sys; said = json.load(sys.stdin);"
        " print(said['question'], said['outcome']['output']['n'], said['station']); print('yes')"
    )
    rules = {"id": "good", "when": {**GOOD, "answer": "yes"}, "to": "b"}
    line = world.line(stations=[command("a", "print('{\"n\": 4}')", rules), "b"], flags=FLAGS)
    task = world.start(line)
    drive(bench, task, labels=frozenset({"evaluator"}), evaluator=(PYTHON, "-c", program))
    assert world.status(task) == "completed"
    [job] = asked(task)
    assert (job.kind, (job.outcome or {})["feedback"]) == ("worker", "Is it good? 4 a")


@pytest.mark.smoke(1)
@pytest.mark.parametrize("program", ["print('perhaps')", "print('yes'); raise SystemExit(1)"])
def test_A26_an_evaluator_without_an_answer_leaves_it_to_a_person(
    world: World,
    bench: Bench,
    program: str,
) -> None:
    rules = {"id": "good", "when": {**GOOD, "answer": "yes"}, "to": "b"}
    task = world.start(world.line(stations=[command("a", "pass", rules), "b"], flags=FLAGS))
    drive(bench, task, labels=frozenset({"evaluator"}), evaluator=(PYTHON, "-c", program))
    token = world.token(task)
    assert (token.status, token.wait["evaluation"]) == ("blocked", GOOD)
    assert told(task)[0]["text"]


def test_A25_a_model_answers_and_its_explanation_is_the_feedback(world: World, bench: Bench) -> None:
    rules = [
        {"id": "good", "when": {**GOOD, "answer": "yes"}, "to": "b"},
        {"id": "bad", "when": {**GOOD, "answer": "no"}, "to": "fix", "feedback": True},
    ]
    fix = command("fix", "import sys; print(sys.stdin.read())", work={"prompt": "Mend it."})
    task = world.start(world.line(stations=[command("a", "pass", *rules), "b", fix], flags=FLAGS))
    with serving(saying(completion("Two tests fail.\nno"))) as server:
        endpoint = Endpoint(f"{server.url}/v1", "judge", seconds=LONG, retries=0)
        drive(bench, task, outgoing=Outgoing(endpoint=endpoint))
    said = text_of(done(task, "fix"))
    assert said == "Mend it.\n\nFEEDBACK FROM PREVIOUS EVALUATION:\nTwo tests fail.\n\n"
    assert json.loads(server.asked[0].body)["model"] == "judge"
    [job] = asked(task)
    assert (job.kind, (job.outcome or {})["usage"]["tokens_in"]) == ("model", 12)


def begun(token: Token) -> None:
    """Until somebody works on it."""
    try:
        until(lambda: Token.objects.filter(pk=token.pk, status="running").exists(), "a slot")
    finally:
        connection.close()


def test_a_question_is_asked_while_stations_take_every_slot(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    waits = f"import os, time\nwhile not os.path.exists({str(go_on)!r}): time.sleep(0.01)"
    slow = world.token(world.start(world.line(stations=[command("a", waits)])))
    asks = world.start(world.line(stations=[writing("a", "", gate("b")), "b"], flags=FLAGS))
    token = world.token(asks)

    async def go() -> bool:
        async with bench.driver(concurrency=1, most_stations=1) as driver:
            await driver.drive_token(token.pk)
            held = driver.spawn(driver.drive_token(slow.pk))
            await asyncio.to_thread(begun, slow)
            await asyncio.wait_for(driver.drive_token(token.pk, EVALUATE), LONG)
            waited_for_none = not held.done()
            go_on.touch()
            await held
            return waited_for_none

    assert asyncio.run(go())
    assert world.at(asks) == ["b"]
    tickets = ProcrastinateJob.objects.filter(args__token_id=token.pk).order_by("id")
    assert list(tickets.values_list("queue_name", flat=True)) == ["drive", "evaluate", "quick"]


def tool_gate(program: str, **tool: Any) -> dict[str, Any]:
    """A gate whose tool is a Python program, found by its bare name."""
    argv = [Path(PYTHON).name, "-c", program]
    return {"key": "cover", "mode": "auto", "tool": {"argv": argv, **tool}}


def covered(world: World, bench: Bench, gate: dict[str, Any]) -> Task:
    """One task of a line whose station writes a file, driven through this gate or to the station `fix`."""
    writes = command(
        "a",
        "open('percent', 'w').write('81'); print('{\"n\": 1}')",
        {"id": "on", "to": "b", "when": {"result": "success"}, "gates": ["cover"]},
        {"id": "mend", "to": "fix", "when": {"result": "failure"}},
    )
    task = world.start(world.line(stations=[writes, "b", "fix"], gates=[gate]))
    drive(bench, task, station_path=(str(Path(PYTHON).parent),))
    return task


READS = (
    "import json, sys; json.load(sys.stdin)['output']['n'];"
    " print(json.dumps({'percent': int(open('percent').read())}))"
)


@pytest.mark.parametrize(("least", "where"), [(80, "b"), (90, "fix")])
def test_a_tool_gate_reads_the_workspace_and_its_output_is_judged(
    world: World, bench: Bench, least: int, where: str
) -> None:
    condition = {"output": {"path": "$.percent", "op": "gte", "value": least}}
    gate = tool_gate(READS, outcome={"parse": "json", "pass_if": condition})
    task = covered(world, bench, gate)
    job = Job.objects.get(task=task, purpose=Purpose.CHECK)
    assert (job.kind, (job.outcome or {})["output"]) == ("tool", {"percent": 81})
    assert Job.objects.filter(task=task, station=where, purpose=Purpose.STATION).exists()


TROUBLES: dict[str, tuple[dict[str, Any], str]] = {
    "too slow": (tool_gate("import time; time.sleep(60)", timeout=0.3), "timeout"),
    "no json": (tool_gate("print('80 %')", outcome={"parse": "json"}), "parse_error"),
    "not there": ({"key": "cover", "mode": "auto", "tool": {"argv": ["no-such-tool"]}}, "not_started"),
    "outside": ({"key": "cover", "mode": "auto", "tool": {"argv": ["/bin/true"]}}, "not_started"),
}


@pytest.mark.smoke(1)
@pytest.mark.parametrize(("gate", "why"), TROUBLES.values(), ids=TROUBLES)
def test_a_tool_gate_in_trouble_fails_with_its_reason(
    world: World, bench: Bench, gate: dict[str, Any], why: str
) -> None:
    task = covered(world, bench, gate)
    assert Job.objects.filter(task=task, station="fix").exists()
    [answer] = Job.objects.get(task=task, purpose=Purpose.CHECK).token.task.decisions.filter(
        answer__decision="move", situation__facts__has_key="answers"
    )
    assert answer.situation["facts"]["answers"][0]["text"].startswith(why)


def test_a_tool_gate_is_tried_again_as_often_as_it_says(world: World, bench: Bench) -> None:
    counts = "import pathlib, sys; p = pathlib.Path('tries'); n = len(p.read_text()) if p.exists() else 0;"
    program = counts + " p.write_text('x' * (n + 1)); sys.exit(n < 2)"
    task = covered(world, bench, tool_gate(program, retries={"max": 2, "backoff": 0}))
    assert world.status(task) == "completed"
    assert (Job.objects.get(task=task, purpose=Purpose.CHECK).outcome or {})["exit_code"] == 0
