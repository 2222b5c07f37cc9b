"""What stations say with a real process, and where their task then is: signals, result documents, answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Artifact, Job, Status, Task, Token
from pipelines.work.worker.handover import with_claims
from pipelines.work.workspaces import Picture
from tests.factories import World
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]


def signal(verdict: str, **more: Any) -> str:
    """A program that gives one signal, and then would work for ever."""
    said = json.dumps({"flux:signal": {"verdict": verdict, **more}})
    return f"import time; print({said!r}, flush=True); time.sleep(0 if {verdict!r} != 'abort' else 600)"


def document(**said: Any) -> str:
    """A program that leaves a result document."""
    return f"import os; open(os.environ['RESULT_DOC_PATH'], 'w').write({json.dumps(said)!r})"


def rule(number: int, when: dict[str, Any], to: str, **more: Any) -> dict[str, Any]:
    return {"id": f"r{number}", "when": when, "to": to, **more}


def passed_failed_blocked(pass_to: str, fail_to: str, fallback: str) -> list[dict[str, Any]]:
    """The three ways out of a stage of a playbook."""
    ways = {"pass": pass_to, "fail": fail_to, "blocked": fallback}
    return [{"id": f"on-{verdict}", "when": {"verdict": verdict}, "to": to} for verdict, to in ways.items()]


def token(task: Task) -> Token:
    return Token.objects.get(task=task)


def test_D9_proceed_takes_the_way_of_a_pass(world: World, bench: Bench) -> None:
    ways = passed_failed_blocked("b", "failed", "@blocked")
    program = signal("proceed") + "; raise SystemExit(3)"
    task = world.start(world.line(stations=[command("a", program, *ways), "b", "c"]))
    drive(bench, task)
    assert (world.status(task), done(task, "a").exit_code) == ("completed", 3)
    assert "b" in task.jobs.values_list("station", flat=True)


def test_D10_D14_hold_shows_its_question_and_the_answer_reaches_the_prompt(
    world: World, bench: Bench
) -> None:
    asks = (
        "import sys; prompt = sys.stdin.read()\n"
        "if 'ANSWER' not in prompt:\n"
        '    print(\'{"flux:signal": {"verdict": "hold", "reason": "needs_human",'
        ' "meta": {"question": "Tabs or spaces?"}}}\', flush=True)\n'
        "else: print(prompt)"
    )
    task = world.start(world.line(stations=[command("a", asks, work={"prompt": "Format it."}), "b"]))
    drive(bench, task)
    held = token(task)
    assert (held.status, held.wait["question"]) == (Status.BLOCKED, "Tabs or spaces?")
    engine.answer(held.pk, user=world.operator, token_version=held.version, text="Spaces.")
    drive(bench, task)
    assert world.status(task) == "completed"
    assert text_of(done(task, "a", 2)) == (
        "Format it.\n\nYOUR QUESTION:\nTabs or spaces?\n\nTHE ANSWER:\nSpaces.\n\n"
    )


def test_D11_rework_runs_the_stage_again_and_then_counts_as_failed(world: World, bench: Bench) -> None:
    ways = passed_failed_blocked("b", "c", "@blocked")
    stage = command("a", signal("rework"), *ways, limits={"max_retries": 1})
    task = world.start(world.line(stations=[stage, "b", "c"]))
    drive(bench, task)
    assert list(task.jobs.order_by("pk").values_list("station", flat=True)) == ["a", "a", "c"]


def test_D12_abort_fails_the_task_at_once_without_rules_or_gates(world: World, bench: Bench) -> None:
    gate = {"key": "g", "mode": "manual"}
    ways = passed_failed_blocked("b", "b", "b")
    task = world.start(
        world.line(stations=[command("a", signal("abort"), *ways, gate="g"), "b"], gates=[gate])
    )
    drive(bench, task)
    task.refresh_from_db()
    assert (task.status, task.end, done(task, "a").exit_code) == ("failed", "failed", 137)
    assert task.jobs.count() == 1


def test_D13_already_complete_jumps_over_the_rules(world: World, bench: Bench) -> None:
    jump = signal("hold", reason="already_complete", meta={"targetState": "c"})
    ways = passed_failed_blocked("b", "failed", "@blocked")
    task = world.start(world.line(stations=[command("a", jump, *ways), "b", "c"]))
    drive(bench, task)
    assert list(task.jobs.order_by("pk").values_list("station", flat=True)) == ["a", "c"]
    assert world.status(task) == "completed"


def test_D13_a_jump_is_reviewed_where_the_line_asks_people_at_all(world: World, bench: Bench) -> None:
    jump = signal("hold", reason="already_complete", meta={"targetState": "c"})
    late = {"id": "late", "when": {"always": True}, "to": "completed", "gates": ["g"]}
    stations = [command("a", jump), "b", {"key": "c", "work": {"kind": "noop"}, "rules": [late]}]
    task = world.start(world.line(stations=stations, gates=[{"key": "g", "mode": "manual"}]))
    drive(bench, task)
    assert (world.status(task), world.visit(task).gate) == (Status.AWAITING_REVIEW, "@jump")
    world.vote(task, "approve", gate="@jump")
    assert world.at(task) == ["c"]


def test_D13_a_jump_to_nowhere_asks_a_person(world: World, bench: Bench) -> None:
    jump = signal("hold", reason="already_complete", meta={"targetState": "moon", "question": "Done?"})
    task = world.start(world.line(stations=[command("a", jump), "b"]))
    drive(bench, task)
    assert (world.status(task), token(task).wait["question"]) == ("blocked", "Done?")


def test_D20_an_invalid_verdict_is_an_event_and_decides_nothing(world: World, bench: Bench) -> None:
    program = signal("wait") + '; print(\'{"flux:signal": "abort"}\')'
    task = world.start(world.line(stations=[command("a", program), "b"]))
    drive(bench, task)
    told = task.events.get(kind="signal.ignored")
    assert (told.data["verdicts"], told.source, world.status(task)) == (["wait"], "a", "completed")
    assert outcome_of(task, "a")["signals"] == [{"verdict": "wait"}]


# Result documents


@pytest.mark.parametrize(("verdict", "station"), [("pass", "b"), ("fail", "c")])
def test_D1_D2_the_verdict_of_a_result_document_routes(
    world: World, bench: Bench, verdict: str, station: str
) -> None:
    ways = passed_failed_blocked("b", "c", "@blocked")
    task = world.start(world.line(stations=[command("a", document(verdict=verdict), *ways), "b", "c"]))
    drive(bench, task)
    assert task.jobs.order_by("pk")[1].station == station


@pytest.mark.parametrize(
    "said",
    [{"verdict": "blocked"}, {"verdict": "pass", "blockers": [{"title": "No key", "description": "?"}]}],
)
def test_D3_a_blocked_verdict_or_a_blocker_takes_the_fallback(
    world: World, bench: Bench, said: dict[str, Any]
) -> None:
    gate = {"key": "g", "mode": "manual"}
    ways = passed_failed_blocked("b", "b", "c")
    task = world.start(
        world.line(stations=[command("a", document(**said), *ways, gate="g"), "b", "c"], gates=[gate])
    )
    drive(bench, task)
    assert [job.station for job in task.jobs.order_by("pk")] == ["a", "c"]


FLUX: dict[str, Any] = {
    "issue": {"id": "1", "number": 1, "title": "t"},
    "run": {"stage": "a", "attempt": 1},
    "timing": {"startedAt": "…", "endedAt": "…", "duration_sec": 3},
    "verdict": "pass",
    "summary": "Done.",
    "meta": {"model": "m", "input_tokens": 10, "output_tokens": 20},
}


def flux(world: World, bench: Bench, program: str) -> Task:
    """A stage of a playbook, driven."""
    stage = command("a", program, *passed_failed_blocked("b", "c", "@blocked"), result_document="required")
    rest = [
        {"key": key, "work": {"kind": "noop"}, "rules": [rule(i, {"always": True}, "completed")]}
        for i, key in enumerate(("b", "c"))
    ]
    task = world.start(world.line(stations=[stage, *rest], preset="flux"))
    drive(bench, task)
    return task


def test_a_flux_document_counts_with_its_own_fields(world: World, bench: Bench) -> None:
    task = flux(world, bench, document(**FLUX))
    outcome = outcome_of(task, "a")
    assert (world.status(task), outcome["output"]) == ("completed", FLUX["meta"])
    assert (outcome["usage"]["tokens_in"], outcome["usage"]["tokens_out"]) == (10, 20)
    assert Artifact.objects.filter(task=task, name="result-document.json").exists(), "the rest of it is kept"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (document(**{**FLUX, "summary": " "}), "summary"),
        (document(**{**FLUX, "verdict": "maybe"}), "verdict"),
        ("import os; open(os.environ['RESULT_DOC_PATH'], 'w').write('{')", "line 1"),
        ("print('```json\\n{\"a\": 1}\\n```')", "did not produce a valid result document"),
    ],
)
def test_D19_a_required_document_that_is_missing_or_invalid_takes_the_fallback(
    world: World, bench: Bench, program: str, why: str
) -> None:
    task = flux(world, bench, program)
    assert (world.status(task), world.at(task)) == ("blocked", ["a"])
    job = done(task, "a")
    assert why in job.summary or why in outcome_of(task, "a")["output_error"]


def test_D19_without_such_a_contract_the_exit_code_routes(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=[command("a", "pass"), "b"]))
    drive(bench, task)
    assert world.status(task) == "completed"


def test_a_required_document_that_is_missing_after_a_failure_is_a_failure(world: World, bench: Bench) -> None:
    stage = command("a", "raise SystemExit(3)", result_document="required")
    task = world.start(world.line(stations=[stage, "b"]))
    drive(bench, task)
    assert world.status(task) == "failed"


def test_signals_in_a_document_that_are_no_list_are_an_output_error(world: World, bench: Bench) -> None:
    task = world.start(world.line(stations=[command("a", document(signals={}, verdict="hold")), "b"]))
    drive(bench, task)
    assert "signals" in outcome_of(task, "a")["output_error"]


def test_a_handoff_and_a_comment_are_kept(world: World, bench: Bench) -> None:
    said = {"handoff": {"risks": ["none"]}, "comment": "Mind the gap.", "summary": "s"}
    task = world.start(world.line(stations=[command("a", document(**said)), "b"]))
    drive(bench, task)
    outcome = outcome_of(task, "a")
    assert (outcome["handoff"], outcome["comment"]) == (said["handoff"], said["comment"])


# What the next station is given


def test_artifacts_are_handed_to_the_stations_after(world: World, bench: Bench) -> None:
    first = "open('r.txt', 'w').write('found'); " + document(
        artifacts=[{"path": "r.txt", "name": "a/report"}]
    )
    reads = (
        "import os; folder = os.environ['GATELINE_ARTIFACTS'];"
        "print(open(os.path.join(folder, 'a', 'a_report')).read())"
    )
    task = world.start(world.line(stations=[command("a", first), command("b", reads)]))
    drive(bench, task)
    assert text_of(done(task, "b")) == "found\n"


def test_C24_the_context_of_completed_stations_is_handed_to_the_next(world: World, bench: Bench) -> None:
    reads = "import os; print(open(os.environ['GATELINE_CONTEXT']).read())"
    failed = document(output={"c": 3}) + "; raise SystemExit(1)"
    stations = [
        command("a", document(output={"x": 1, "y": 1})),
        command("b", document(output={"y": 2})),
        command("f", failed, {"id": "on", "when": {"result": "failure"}, "to": "r"}),
        command("r", reads),
    ]
    task = world.start(world.line(stations=stations))
    drive(bench, task)
    assert json.loads(text_of(done(task, "r"))) == {"x": 1, "y": 2}


def test_the_environment_names_the_job_as_the_dialects_do(world: World, bench: Bench) -> None:
    names = ("RESULT_DOC_PATH", "AGENTICS_JOB_ID", "AGENTICS_OWNER", "AGENTICS_PROJECT_NAME", "GATELINE_JOB")
    program = (
        f"import os; print([os.environ[name] for name in {names!r}], repr(os.environ['GATELINE_FEEDBACK']))"
    )
    task = world.start(world.line(stations=[command("a", program)]))
    drive(bench, task)
    job = done(task, "a")
    text = text_of(job)
    assert f"'{job.pk}', 'acme', '{world.project.key}', '{job.pk}'] ''" in text
    assert "document.json" in text


def test_feedback_reaches_a_command_that_reads_no_prompt(world: World, bench: Bench) -> None:
    program = "import os; print(os.environ.get('GATELINE_FEEDBACK'))"
    task = world.start(world.line(stations=[command("a", program)]))
    Job.objects.filter(task=task).update(feedback="Mind the gap.")
    drive(bench, task)
    assert text_of(done(task, "a")) == "Mind the gap.\n"


# Prompts


def test_B16_templates_read_what_stations_said_before(world: World, bench: Bench) -> None:
    fails = "import sys; print('{\"n\": 2}'); sys.exit(5)"
    stations = [
        command("first", document(output={"high": 3})),
        command("second", fails, {"id": "on", "when": {"result": "failure"}, "to": "third"}),
        command(
            "third",
            "import sys; print(sys.stdin.read())",
            work={
                "prompt": "{{.first.high}} {{.previous_output}} {{.last_error}} {{.second_error}} {{chain:id}}"
            },
        ),
    ]
    task = world.start(world.line(stations=stations))
    drive(bench, task)
    assert text_of(done(task, "third")) == '3 {"n": 2} exit code 5 exit code 5 line\n\n'


@pytest.mark.parametrize("name", [".second", ".previous_output", "var:nope"])
def test_B16_an_undefined_one_ends_the_job_before_anything_starts(
    world: World, bench: Bench, name: str
) -> None:
    stations = [command("first", "print('ran')", work={"prompt": f"{{{{{name}}}}}"}), "second"]
    task = world.start(world.line(stations=stations))
    drive(bench, task)
    job = done(task, "first")
    assert (outcome_of(task, "first")["failure_type"], text_of(job), world.status(task)) == (
        "template_error",
        "",
        "failed",
    )
    assert f"{{{{{name}}}}}" in job.summary


def test_C23_the_prompt_names_the_keys_that_are_taken_from_the_answer(world: World, bench: Bench) -> None:
    """And only these are taken."""
    said = '```json\n{"high": 1, "other": 2}\n```'
    answer = f"import sys; print(sys.stdin.read(), file=sys.stderr); print({said!r})"
    given = command("a", answer, work={"prompt": "Look."}, output_keys=["high", "low"])
    task = world.start(world.line(stations=[given, "b"]))
    drive(bench, task)
    job = done(task, "a")
    text = text_of(job)
    assert "## Expected outputs\n\n- high\n- low\n" in text
    assert '```json\n{\n  "high": "…",\n  "low": "…"\n}\n```' in text
    assert outcome_of(task, "a")["output"] == {"high": 1}


ECHO = "import sys; prompt = sys.stdin.read(); print(prompt)"
ANSWER = '```json\n{"high": 1}\n```'


@pytest.mark.parametrize(
    ("program", "output"),
    [
        (ECHO, None),
        (f"{ECHO}; print({ANSWER!r})", {"high": 1}),
        # Only the section, with other white space: as a model that repeats its task would.
        ('print(\'```json\\n{"high": "…","low":"…"}\\n```\')', None),
        ('print(\'{"high": "…", "low": "…"}\')', None),
        # One of the two was answered.
        ('print(\'```json\\n{"high": 3, "low": "…"}\\n```\')', {"high": 3, "low": "…"}),
        (
            f"{ECHO.replace('print(prompt)', 'sys.stdout.write(prompt.replace(chr(10), chr(13) + chr(10)))')}",
            None,
        ),
    ],
)
def test_C23_an_echoed_example_of_expected_outputs_is_no_output(
    world: World, bench: Bench, program: str, output: Any
) -> None:
    given = command("a", program, work={"prompt": "Look."}, output_keys=["high", "low"])
    task = world.start(world.line(stations=[given, "b"]))
    drive(bench, task)
    assert outcome_of(task, "a").get("output") == output


def test_C24_an_echoed_context_is_no_output(world: World, bench: Bench) -> None:
    reads = command("b", ECHO, work={"prompt": "Go on."}, output_keys=["x"])
    bare = command("c", ECHO, work={"prompt": "Go on."})
    first = command("a", document(output={"x": 1}))
    task = world.start(
        world.line(stations=[first, reads, bare], preset="vibe-factory", policy={"no_rules": "advance"})
    )
    drive(bench, task)
    assert "output" not in outcome_of(task, "b")
    assert "output" not in outcome_of(task, "c")


def test_a_short_prompt_is_no_echo_in_an_answer_that_holds_it(world: World, bench: Bench) -> None:
    given = command("a", "print('{\"n\": 1}')", work={"prompt": "n"})
    task = world.start(world.line(stations=[given, "b"]))
    drive(bench, task)
    assert outcome_of(task, "a")["output"] == {"n": 1}


def test_C24_a_station_of_vibe_factory_finds_the_context_in_its_prompt(world: World, bench: Bench) -> None:
    reads = command("b", "import sys; print(sys.stdin.read())", work={"prompt": "Go on."})
    first = command("a", document(output={"x": 1}), {"id": "on", "when": {"always": True}, "to": "b"})
    task = world.start(world.line(stations=[first, reads], preset="vibe-factory"))
    drive(bench, task)
    expected = 'Go on.\n\n## Context from previous stations\n\n```json\n{\n  "x": 1\n}\n```\n'
    assert expected in text_of(done(task, "b"))


def test_C25_output_that_is_not_json_stops_only_who_asks_for_it(world: World, bench: Bench) -> None:
    broken = "import os; open(os.environ['GATELINE_RESULT'], 'w').write('{')"
    asks = command("asks", "import sys; print(sys.stdin.read())", work={"prompt": "{{context.high}}"})
    stations = [command("scan", broken, output_keys=["high"]), command("other", "pass"), asks]
    task = world.start(world.line(stations=stations))
    drive(bench, task)
    task.refresh_from_db()
    rests = token(task)
    assert (rests.status, rests.error, rests.station) == (Status.STUCK, "OutputDataParseError", "other")
    assert (task.context, task.unreadable) == ({}, {"high": "scan"})
    assert task.jobs.count() == 2, "what asks for nothing ran"


def test_facts_in_a_result_document_are_a_claim_and_those_of_the_handler_say_which_tree(
    world: World, bench: Bench
) -> None:
    forged = document(output={"k": 1}, facts={"tests": {"failed": 0}, "usage": {"cost_usd": 0}})
    task = world.start(world.line(stations=[command("a", forged)]))
    drive(bench, task)
    facts = outcome_of(task, "a")["facts"]
    assert facts.keys() == {"claims"}
    assert facts["claims"]["made"] == [
        {"kind": "facts", "said": {"tests": {"failed": 0}, "usage": {"cost_usd": 0}}}
    ]
    source = facts["claims"]["source"]
    assert (source["station"], source["visit"], len(source["tree"])) == ("a", 1, 64)


def expecting(world: World, program: str, **more: Any) -> dict[str, Any]:
    """A station of which something is expected, and one where it goes when that is not there."""
    off = {"id": "off", "when": {"result": "failure"}, "to": "mend"}
    return {**command("a", program, off), **more}


def test_a_program_that_changed_nothing_has_done_nothing_whatever_it_says(world: World, bench: Bench) -> None:
    mend = command("mend", "open('made.txt', 'w').write('x')", expects="change")
    line = world.line(stations=[expecting(world, "print('I made made.txt')", expects="change"), mend])
    task = world.start(line)
    drive(bench, task)
    assert (done(task, "a").result, done(task, "mend").result) == ("failure", "success")
    assert world.status(task) == "completed"
    source = outcome_of(task, "a")["facts"]["commands"]["source"]
    assert source["before"] == source["tree"]


def test_declared_files_are_kept_and_a_missing_one_fails_the_station(world: World, bench: Bench) -> None:
    files = [{"path": "out/t.xml", "kind": "junit"}, {"path": "notes.md", "required": False}]
    makes = "import os; os.mkdir('out'); open('out/t.xml', 'w').write('<testsuite/>')"
    line = world.line(
        stations=[expecting(world, "pass", artifacts=files), command("mend", makes, artifacts=files)]
    )
    task = world.start(line)
    drive(bench, task)
    assert done(task, "a").result == "failure"
    assert [(each["name"], "error" in each) for each in outcome_of(task, "a")["artifacts"]] == [
        ("out/t.xml", True)
    ]
    assert done(task, "mend").result == "success"
    assert list(Artifact.objects.filter(job=done(task, "mend")).values_list("name", flat=True)) == [
        "out/t.xml"
    ]


def test_what_declared_reports_count_is_a_fact_and_an_unreadable_one_is_missing(
    world: World, bench: Bench
) -> None:
    files = [{"path": "t.xml", "kind": "junit"}, {"path": "f.sarif", "kind": "sarif", "required": False}]
    writes = "open('t.xml', 'w').write({!r})"
    report = '<testsuite tests="9"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>'
    broken = command("broken", writes.format("<testsuite>"), artifacts=files)
    off = {"id": "off", "when": {"result": "failure"}, "to": "good"}
    good = command("good", writes.format(report), artifacts=files)
    task = world.start(world.line(stations=[{**broken, "rules": [off]}, good]))
    drive(bench, task)
    assert "tests" not in outcome_of(task, "broken").get("facts", {})
    assert "Not readable as junit" in outcome_of(task, "broken")["artifacts"][0]["error"]
    assert done(task, "broken").result == "failure"
    counted = outcome_of(task, "good")["facts"]["tests"]
    assert {key: counted[key] for key in ("passed", "failed", "suites")} == {
        "passed": 1,
        "failed": 1,
        "suites": 1,
    }
    assert counted["source"]["station"] == "good"


def test_a_report_of_an_earlier_visit_counts_nothing(world: World, bench: Bench) -> None:
    files = [{"path": "t.xml", "kind": "junit"}]
    writes = """open('t.xml', 'w').write('<testsuite><testcase name="a"/></testsuite>')"""
    check = command("check", "pass", artifacts=files)
    off = {"id": "off", "when": {"result": "failure"}, "to": "again"}
    line = world.line(
        stations=[
            command("write", writes),
            {**check, "rules": [off]},
            command("again", writes, artifacts=files),
        ]
    )
    task = world.start(line)
    drive(bench, task)
    stale = outcome_of(task, "check")
    assert "tests" not in stale.get("facts", {}) and done(task, "check").result == "failure"
    assert stale["artifacts"][0]["error"] == "It lay there before this visit, which did not write it."
    assert outcome_of(task, "again")["facts"]["tests"]["passed"] == 1
    assert Artifact.objects.get().job == done(task, "again")


def test_what_an_agent_claims_is_held_against_the_files_of_its_visit() -> None:
    entry = {"path": "app.py", "mode": 0o644, "digest": "0" * 64, "size": 1}
    said = {"summary": "I made made.txt. I updated app.py. It looks nice.", "facts": {"commands": {"run": 1}}}
    found = with_claims(said, None, Picture((entry,), {}))["facts"]["claims"]
    assert [each["kind"] for each in found["made"]] == ["files", "files"]
    assert found["contradicted"] == [{"kind": "files", "text": "I made made.txt.", "why": "not_there"}]
    assert with_claims({"summary": "Done."}, None, Picture((), {})) == {"summary": "Done."}
