"""What a command reports by signals and result documents decides its way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Artifact, Status, Task
from tests.factories import World
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of
from tests.work.verdicts import document, token

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]


def signal(verdict: str, **more: Any) -> str:
    """A program that gives one signal, and then would work for ever."""
    said = json.dumps({"flux:signal": {"verdict": verdict, **more}})
    return f"import time; print({said!r}, flush=True); time.sleep(0 if {verdict!r} != 'abort' else 600)"


def rule(number: int, when: dict[str, Any], to: str, **more: Any) -> dict[str, Any]:
    return {"id": f"r{number}", "when": when, "to": to, **more}


def passed_failed_blocked(pass_to: str, fail_to: str, fallback: str) -> list[dict[str, Any]]:
    """The three ways out of a stage of a playbook."""
    ways = {"pass": pass_to, "fail": fail_to, "blocked": fallback}
    return [{"id": f"on-{verdict}", "when": {"verdict": verdict}, "to": to} for verdict, to in ways.items()]


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
    engine.answer_blocked_token(held.pk, user=world.operator, token_version=held.version, text="Spaces.")
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
    task = world.start(world.line(stations=[command("a", jump, *ways), "b", "c"], jumps=["c"]))
    drive(bench, task)
    assert list(task.jobs.order_by("pk").values_list("station", flat=True)) == ["a", "c"]
    assert world.status(task) == "completed"


def test_D13_a_jump_is_reviewed_where_the_line_asks_people_at_all(world: World, bench: Bench) -> None:
    jump = signal("hold", reason="already_complete", meta={"targetState": "c"})
    late = {"id": "late", "when": {"always": True}, "to": "completed", "gates": ["g"]}
    stations = [command("a", jump), "b", {"key": "c", "work": {"kind": "noop"}, "rules": [late]}]
    task = world.start(world.line(stations=stations, gates=[{"key": "g", "mode": "manual"}], jumps="all"))
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
