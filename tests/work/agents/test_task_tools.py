"""The tools of an agent at work: a real worker, real isolations, the real pipe, and a program that calls them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines import engine
from pipelines.models import Decision, Event, Job, Snapshot, Task
from pipelines.ports.vault import store
from pipelines.queries import versions
from pipelines.queries.observed_facts import latest_fact_rows
from pipelines.routing.document.work.references import SECRET
from pipelines.work.agents.call_budget import MOST_CALLS, CallBudget
from pipelines.work.logs import read_log_text
from pipelines.work.processes.isolation import Isolation, isolation_places, link_folders
from pipelines.work.transport.local import agent_answers
from pipelines.work.transport.protocol import LeaseLost, QuestionRefused
from tests.factories import World, make_project
from tests.waiting import eventually
from tests.work.agents.tool_client import MARK, answers, write_program
from tests.work.driving import Bench, done, drive, in_thread, outcome_of, text_of
from tests.work.isolations import BOTH, isolation_or_skip
from tests.work.remotes import connect, remote

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
GATE = {
    "key": "review",
    "name": "Code review",
    "approval": {"who": [{"role": "reviewer", "count": 1}]},
    "mode": "checks_then_manual",
    "checks": {"all": [{"field": "output.score", "operator": "greater_than", "value": 3, "label": "Score"}]},
}
ON = {"id": "on", "when": {"result": "success"}, "to": "ship", "gates": ["review"]}
AGAIN = {"id": "again", "when": {"result": "failure"}, "to": "implement", "max_retries": 2}


def started(world: World, *rules: dict[str, Any], work: dict[str, Any] | None = None, **more: Any) -> Task:
    told = {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open", **(work or {})}
    implement = {
        "key": "implement",
        "work": told,
        "rules": [*(rules or (ON, AGAIN))],
        **more.pop("station", {}),
    }
    version = world.line(stations=[implement, "ship"], gates=[GATE], **more)
    return world.start(version, title="Fix the answer", description="It is 42.")


def search(tmp_path: Path, body: str, name: str = "claude") -> dict[str, Any]:
    return {
        "station_path": (write_program(tmp_path / "bin", body, name), *os.environ["PATH"].split(os.pathsep))
    }


@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", [*BOTH, "none"])
@pytest.mark.parametrize("network", ["open", {"egress": ["packages.example.com"]}], ids=["open", "hosts"])
def test_it_asks_from_behind_each_isolation_and_leaves_nothing_in_the_change(
    world: World, bench: Bench, tmp_path: Path, name: str, network: Any
) -> None:
    body = (
        "c = Client()\nopen('made.txt', 'w').write('x')\n"
        "c.call('what_if', outcome='success', output={'score': 5})\nend()\n"
    )
    path = search(tmp_path, body)
    readable = [
        tmp_path / "bin",
        Path(sys.prefix),
        Path(sys.base_prefix),
        *link_folders(Path(sys.executable)),
    ]
    places = isolation_places(readable, [], tmp_path / "nobody")
    isolation = (
        Isolation("none") if name == "none" else asyncio.run(isolation_or_skip(name, places, tmp_path))
    )
    if isinstance(network, dict) and name != "none" and not isolation.limits_hosts:
        pytest.skip("this machine keeps no station to a list of hosts")
    task = started(world, work={"network": network})
    drive(bench, task, isolation=isolation, **path)
    job = done(task, "implement")
    [(tool, refused, found, text)] = answers(job)
    assert (tool, refused) == ("what_if", False), text_of(job)
    assert found["in_words"].startswith("Rule 1 of implement matched: on to ship, after Code review"), text
    manifest = Snapshot.objects.get(job=job).manifest
    assert [entry["path"] for entry in manifest] == ["made.txt"]


def test_what_if_is_what_is_decided_and_says_what_would_fail(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    """Before and after the file, and with an output too low: the last is what it then ends with."""
    body = (
        "c = Client()\nc.call('what_if', outcome='success', output={'score': 5})\n"
        "open('made.txt', 'w').write('x')\nc.call('what_if', outcome='failure')\n"
        "c.call('what_if', outcome='success', output={'score': 1}, summary='I created other.txt.')\n"
        "c.call('report', outcome='success', summary='I created other.txt.', output={'score': 1})\nend()\n"
    )
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    unchanged, failed, low, reported = (
        found for _tool, _refused, found, _text in answers(done(task, "implement"))
    )
    assert unchanged["decided_by_fact"] == "nothing_done" and unchanged["to"] == ["implement"]
    assert failed["to"] == ["implement"] and failed["rule"] == "Rule 2"
    assert [check["label"] for check in low["failing_checks"]] == ["Score"]
    assert low["failing_checks"][0]["saw"] == 1
    assert low["reviewers"][0]["asks"] == [{"kind": "role", "name": "reviewer", "count": 1}]
    assert "other.txt" in json.dumps(low["reviewers_see"]["contradicted_claims"])
    assert reported["recorded"] is True
    stored = Decision.objects.filter(task=task).latest("at").answer
    assert low["details"] == stored
    assert world.status(task) == "awaiting_review"


def test_a_report_is_a_claim_with_its_output_and_decides_nothing(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    body = (
        "c = Client()\nc.call('report', outcome='success', summary='First.')\n"
        "c.call('report', outcome='success', summary='I made all of it.', output={'score': 9})\nend('Done.')\n"
    )
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    outcome = outcome_of(task, "implement")
    assert outcome["output"] == {"score": 9} and outcome["summary"] == "I made all of it."
    claim = {"kind": "report", "said": {"outcome": "success", "summary": "I made all of it."}}
    assert claim in outcome["facts"]["claims"]["made"]
    rows = latest_fact_rows(versions.parsed_line_by_version_id(task.pinned_id), [done(task, "implement")])
    assert ("The agent claims: success", ["I made all of it."]) in [(row.words, row.more) for row in rows]
    # No file was changed, whatever it reports.
    assert Job.objects.filter(task=task, station="implement").earliest("pk").result == "failure"


def test_agents_of_alp_report_as_they_know_it_and_the_tools_name_the_output_keys(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    body = (
        "assert '--json-schema' not in sys.argv, 'it has a tool to report them by'\n"
        "c = Client()\nopen('made.txt', 'w').write('x')\n"
        "listed = c.ask('tools/list')['result']['tools']\n"
        "keys = {t['name']: sorted(t['inputSchema']['properties']['output'].get('properties', ()))\n"
        "        for t in listed if 'output' in t['inputSchema']['properties']}\n"
        "print('KEYS', json.dumps(keys), flush=True)\n"
        "c.call('report', outcome='success', summary='First.', output={'score': 9})\n"
        "c.call('complete_station', conclusion='maybe')\n"
        "c.call('complete_station', conclusion='success', summary='All of it.', exitCode=0)\nend()\n"
    )
    task = started(world, station={"output_keys": ["score", "note"]})
    drive(bench, task, **search(tmp_path, body))
    job = done(task, "implement")
    keys = json.loads(text_of(job).partition("KEYS ")[2].splitlines()[0])
    assert keys == {name: ["note", "score"] for name in ("what_if", "gate_checks", "report")}
    assert [refused for _tool, refused, *_rest in answers(job)] == [False, True, False]
    outcome = outcome_of(task, "implement")
    assert (outcome["output"], outcome["summary"]) == ({"score": 9}, "All of it.")


def test_a_result_document_comes_before_what_the_tool_said(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    body = (
        "c = Client()\nopen('made.txt', 'w').write('x')\n"
        "open(os.environ['GATELINE_RESULT'], 'w').write(json.dumps({'output': {'score': 4}}))\n"
        "c.call('report', outcome='success', summary='Said.', output={'score': 9})\n"
        "c.call('what_if', outcome='success')\nend()\n"
    )
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    assert outcome_of(task, "implement")["output"] == {"score": 4}
    assert answers(done(task, "implement"))[1][2]["reviewers_see"]["output"] == {"score": 4}


def test_a_question_waits_for_a_person_and_its_answer_is_the_next_message(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    body = (
        "open('made.txt', 'a').write(told)\n"
        "if 'THE ANSWER' not in told:\n"
        "    Client().call('ask', question='Which one?', options=['red', 'blue'])\n"
        "end()\n"
    )
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    token = world.token(task)
    assert (token.status, token.wait["question"]) == ("blocked", "Which one?\n- red\n- blue")
    engine.answer_blocked_token(token.pk, user=world.operator, text="blue", token_version=token.version)
    drive(bench, task, **search(tmp_path, body))
    assert world.status(task) == "awaiting_review"
    job = done(task, "implement", 2)
    assert (job.asked, job.feedback) == ("Which one?\n- red\n- blue", "blue")


def test_it_learns_its_task_and_the_checks_ahead_and_no_secret(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    place, by = store.ValuePlace(world.project), world.admin
    store.create_or_replace_value(
        place, "ANTHROPIC_API_KEY", "canary-77", kind=SECRET, by=by, now=timezone.now()
    )
    inputs = [{"key": "colour", "type": "text"}, {"key": "login", "type": "secret"}]
    body = "c = Client()\nc.call('get_task')\nc.call('gate_checks', output={'score': 2})\nend()\n"
    told = {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open"}
    implement = {"key": "implement", "work": told, "rules": [ON, AGAIN], "output_keys": ["score"]}
    version = world.line(stations=[implement, "ship"], gates=[GATE], inputs=inputs)
    task = world.start(
        version,
        title="Fix the answer",
        description="Not canary-77.",
        inputs={"colour": "red", "login": "ANTHROPIC_API_KEY"},
    )
    drive(bench, task, **search(tmp_path, body))
    (_, _, about, text), (_, _, checks, _) = answers(done(task, "implement"))[:2]
    assert about["task"]["title"] == "Fix the answer" and about["inputs"] == {"colour": "red"}
    assert about["expected"]["output_keys"] == ["score"] and about["station"]["visit"] == 1
    assert about["rules"][0]["to"] == ["ship"] and about["gates_ahead"][0]["name"] == "Code review"
    assert "ANTHROPIC_API_KEY" not in text and "canary-77" not in text and world.operator.username not in text
    [gate] = checks["gates"]
    assert [(check["label"], check["passed"], check["saw"]) for check in gate["checks"]] == [
        ("Score", False, 2)
    ]


FOREIGN = """
c = Client()
names = %(names)r
for tool, arguments in (("get_task", {}), ("what_if", {"outcome": "success"}), ("gate_checks", {}),
                        ("report", {"outcome": "success", "summary": "x"}), ("ask", {"question": "x"}),
                        ("complete_station", {"conclusion": "success"}), ("permission", {})):
    for key in ("task", "job", "job_id", "project", "owner", "lease", "token", "station", "attempt"):
        for name in names:
            c.call(tool, **arguments, **{key: name})
for name in ("vote", "approve", "publish", "secrets", "start_task", "list_needs", "tasks/get"):
    c.call(name, task=names[0])
open('made.txt', 'w').write('x')
end()
"""


def test_no_tool_names_anything_of_another_task(
    world: World, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tools × foreign ids, of the same project and of another owner: each is refused, and says nothing of them."""
    rival = World(make_project("other", "rival"), world.worker)
    others = [started(world), started(rival)]
    Task.objects.filter(pk__in=[task.pk for task in others]).update(title="Canary")
    names = [
        value for task in others for value in (task.name, task.pk, world.job(task).pk, str(task.project_id))
    ]
    before = list(Event.objects.filter(task__in=others).values_list("pk", flat=True))
    task = started(world)
    # More calls than a minute has
    monkeypatch.setattr(CallBudget, "try_to_take_call", lambda budget, now: True)
    drive(bench, task, **search(tmp_path, FOREIGN % {"names": names}))
    found = answers(done(task, "implement"))
    assert len(found) == 7 * 9 * len(names) + 7
    assert all(refused for _tool, refused, _answer, _text in found)
    assert "Canary" not in text_of(done(task, "implement"))
    assert list(Event.objects.filter(task__in=others).values_list("pk", flat=True)) == before


@pytest.mark.smoke(4)
@pytest.mark.parametrize("question", [*agent_answers.QUESTIONS, "vote", ""])
@pytest.mark.parametrize("whose", ["same", "rival"])
def test_the_lease_of_one_job_answers_about_no_other(world: World, question: str, whose: str) -> None:
    rival = World(make_project("other", "rival"), world.worker) if whose == "rival" else world
    mine, theirs = world.started(started(world)), rival.started(started(rival))
    assert mine.lease_key is not None
    with pytest.raises((LeaseLost, QuestionRefused)):
        agent_answers.answer_agent(theirs.pk, mine.lease_key, question, {"exit_code": 0}, "worker:x")


def test_who_does_not_know_the_token_of_the_visit_gets_no_answer(
    world: World, bench: Bench, tmp_path: Path
) -> None:
    body = (
        "import socket\nfolder = told_servers['mcpServers']['gateline']['args'][-1]\nos.chdir(folder)\n"
        "for word in (b'wrong\\n', b'\\n', b'x' * 5_000_000):\n"
        "    s = socket.socket(socket.AF_UNIX)\n    s.connect('socket')\n"
        '    try:\n        s.sendall(word + b\'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\\n\')\n'
        "        got = s.recv(100)\n    except OSError:\n        got = b''\n"
        "    print('GOT', got, flush=True)\n"
        "os.chdir(os.environ['HOME'])\nClient().call('get_task')\nend()\n"
    )
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    job = done(task, "implement")
    assert text_of(job).count("GOT b''") == 3
    assert [refused for _tool, refused, *_rest in answers(job)] == [False]


def test_nonsense_on_the_pipe_ends_no_visit(world: World, bench: Bench, tmp_path: Path) -> None:
    body = (
        'c = Client()\nc.pipe.stdin.write(\'no json\\n[1]\\n{"jsonrpc": "2.0", "method": 7}\\n\')\n'
        "c.pipe.stdin.flush()\n"
        "d = Client()\nd.call('get_task', x=1)\nd.call('report', outcome='success', summary='a\\u0000b')\n"
        "open('made.txt', 'w').write('x')\nend()\n"
    )
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    assert all(refused for _tool, refused, *_rest in answers(done(task, "implement")))
    assert done(task, "implement").result == "success"


def test_the_same_statements_whatever_the_task_has_behind_it(world: World) -> None:
    """get_task 6, what_if and gate_checks no more than 14; equal with 40 events more and with 40 other tasks."""

    def counts(job: Job) -> list[int]:
        assert job.lease_key is not None
        found = []
        for question in agent_answers.QUESTIONS:
            with CaptureQueriesContext(connection) as captured:
                agent_answers.answer_agent(job.pk, job.lease_key, question, {"exit_code": 0}, "worker:x")
            found.append(len(captured))
        return found

    few = counts(world.started(started(world)))
    for _ in range(10):
        started(world)
    task = started(world)
    for _ in range(2):
        world.report(task, {"result": "failure"})
    assert counts(world.started(task)) == few
    assert few[0] <= 6 and max(few) <= 14, few


def test_an_attempt_that_lost_its_task_is_told_to_stop(world: World, bench: Bench, tmp_path: Path) -> None:
    ready, go = tmp_path / "ready", tmp_path / "go"
    body = (
        f"c = Client()\nc.call('get_task')\nopen({str(ready)!r}, 'w').close()\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
        "c.call('what_if', outcome='success')\nc.call('get_task')\nend()\n"
    )
    task = started(world)
    token = world.token(task).pk

    async def lose() -> None:
        async with bench.driver(**search(tmp_path, body)) as driver:
            driving = asyncio.create_task(driver.drive_token(token))
            await eventually(ready.exists)
            await in_thread(world.expire, task)
            await in_thread(world.lose, task)
            go.touch()
            await driving

    asyncio.run(lose())
    job = Job.objects.get(task=task, station="implement")
    assert (job.attempt, job.state) == (2, Job.State.QUEUED)
    logged = "".join(read_log_text(job, 1)).split(MARK)[1:]
    assert ["This attempt is over" in text for text in logged] == [False, True, True]


def test_so_many_calls_a_minute_and_no_more(world: World, bench: Bench, tmp_path: Path) -> None:
    body = f"c = Client()\nfor n in range({MOST_CALLS} + 2): c.call('get_task')\nend()\n"
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    refused = [refused for _tool, refused, *_rest in answers(done(task, "implement"))]
    assert refused == [False] * MOST_CALLS + [True] * 2


def test_without_the_library_it_runs_and_the_log_says_so(
    world: World, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.work.handlers.agent_tools.find_spec", lambda name: None)
    body = "open('made.txt', 'w').write(str(told_servers))\nend()\n"
    task = started(world)
    drive(bench, task, **search(tmp_path, body))
    assert done(task, "implement").result == "success"
    assert "The agent has no tools for its task: the extra “mcp” is not installed" in text_of(
        done(task, "implement")
    )


def test_in_a_repository_it_sees_the_change_as_it_will_be_counted(
    world: World, bench: Bench, tmp_path: Path, artifacts_here: None
) -> None:
    connect(world.project, remote(tmp_path / "origin.git", {"app.py": b"x = 1\n", ".gitignore": b"*.log\n"}))
    body = (
        "c = Client()\nopen('app.py', 'w').write('x = 2\\n')\nopen('new.txt', 'w').write('new\\n')\n"
        "open('noise.log', 'w').write('x')\nos.symlink('/etc', 'outside')\n"
        "c.call('what_if', outcome='success', output={'score': 5})\n"
        "c.call('report', outcome='success', summary='Done.', output={'score': 5})\nend()\n"
    )
    task = started(world, workspace={"git": {"repository": "app"}})
    drive(bench, task, **search(tmp_path, body))
    facts = outcome_of(task, "implement")["facts"]["git"]
    found = answers(done(task, "implement"))[0][2]
    change = found["reviewers_see"]["change"]
    assert change == {name: facts[name] for name in change}
    assert (change["files_changed"], change["paths"]) == (3, ["app.py", "new.txt", "outside"])
    assert found["details"] == Decision.objects.filter(task=task).latest("at").answer
    assert [
        entry["path"]
        for entry in Snapshot.objects.get(job=done(task, "implement")).manifest
        if "digest" in entry
    ]
