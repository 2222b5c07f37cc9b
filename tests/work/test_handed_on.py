"""What the next station is given: artifacts, context, environment, feedback and prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.models import Job, Status
from tests.engine.test_jumps import as_of_before
from tests.factories import World
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of
from tests.work.verdicts import document, token

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]


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


@pytest.mark.wide
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


@pytest.mark.wide
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
    """As versions of revision 2 decide it: later ones fail at the station that wrote it."""
    broken = "import os; open(os.environ['GATELINE_RESULT'], 'w').write('{')"
    asks = command("asks", "import sys; print(sys.stdin.read())", work={"prompt": "{{context.high}}"})
    stations = [command("scan", broken, output_keys=["high"]), command("other", "pass"), asks]
    task = world.start(as_of_before(world.line(stations=stations)))
    drive(bench, task)
    task.refresh_from_db()
    rests = token(task)
    assert (rests.status, rests.error, rests.station) == (Status.STUCK, "OutputDataParseError", "other")
    assert (task.context, task.unreadable) == ({}, {"high": "scan"})
    assert task.jobs.count() == 2, "what asks for nothing ran"
    newest = world.start(world.line(stations=stations, key="newest"))
    drive(bench, newest)
    assert (world.status(newest), done(newest, "scan").result) == ("failed", "failure")


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
