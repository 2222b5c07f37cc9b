"""Past tasks that are given once more to a station as a draft has it: by the real worker, on the base of then, and no
task, branch or person has any part in it."""

from __future__ import annotations

import asyncio
import os
import sys
from copy import deepcopy
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.lines import evaluations, trials
from pipelines.lines.evaluations import EvaluationRequest
from pipelines.models import Job, Line, LineEvaluation, Membership, StationTrial, Task, User
from pipelines.ports import clock
from pipelines.queries.evaluations import EvaluationResult, evaluation_result
from pipelines.work.transport.local.trials import LocalTrial
from tests.factories import World, station
from tests.work.driving import Bench, command, drive, tickets
from tests.work.remotes import RemoteRepository, connect, remote
from tests.work.repository_lines import GATE, to
from tests.work.test_trials import rows

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
CLAUDE = f"""#!{sys.executable} -IS
import json, sys
told = sys.stdin.read()
def show(kind, **more): print(json.dumps({{"type": kind, "session_id": "s1", **more}}), flush=True)
show("system", subtype="init")
assert open("app.py").read() == "x = 1\\n", "the files of the base"
open("app.py", "a").write("z = 3\\n" if "Carefully" in told else "y = 2\\n")
cost = 0.05 if "Carefully" in told else 0.02
show("result", subtype="success", is_error=False, result="Done.", total_cost_usd=cost, usage={{}})
"""
REPORT = '<testsuite><testcase name="a"/><testcase name="b">{}</testcase></testsuite>'
CHECK = f"""
bad = "z" in open("app.py").read()
open("t.xml", "w").write({REPORT!r}.format("<failure/>" if bad else ""))
raise SystemExit(bad)
"""


@pytest.fixture
def programs(tmp_path: Path) -> tuple[str, ...]:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "claude").write_text(CLAUDE)
    (folder / "claude").chmod(0o755)
    return (str(folder), *os.get_exec_path())


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})
    connect(world.project, made)
    Membership.objects.filter(user=world.admin).update(execute=True)
    return made


def line_of(world: World) -> Line:
    work = {"agent": "claude", "prompt": "{{task.title}}", "network": "open"}
    reports = [{"path": "t.xml", "kind": "junit"}]
    version = world.line(
        stations=[
            station("write", to("check"), kind="agent", name="Write", work=work),
            command("check", CHECK, to("merge", gates=["review"]), name="Check", artifacts=reports),
            station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app"}},
    )
    line: Line = version.line
    return line


def accepted(world: World, bench: Bench, origin: RemoteRepository, line: Line, programs: Any) -> Task:
    """One whose change landed; the branch is put back to where it was."""
    base = origin.head()
    task = world.start(line.live, title="Add y")
    for _ in range(2):
        drive(bench, task, repository_roots=(str(bench.base.parent),), station_path=programs)
        if world.status(task) == "awaiting_review":
            world.vote(task)
    assert world.status(task) == "completed" and origin.head() != base
    return task


def changed(line: Line, instruction: str = "Carefully: {{task.title}}") -> dict[str, Any]:
    document = deepcopy(line.draft)
    document["stations"][0]["work"]["prompt"] = instruction
    return document


def requested(line: Line, **more: Any) -> EvaluationRequest:
    given: dict[str, Any] = {"document": changed(line), "cost_limit": Decimal(1), "check": "check"}
    return EvaluationRequest(station="write", **(given | more))


def work_off(bench: Bench, evaluation: LineEvaluation, programs: Any) -> EvaluationResult:
    async def go() -> None:
        roots = (str(bench.base.parent),)
        async with bench.driver(repository_roots=roots, station_path=programs) as driver:
            for trial in waiting:
                await driver.try_station(LocalTrial(trial))

    waiting = list(evaluation.trials.order_by("pk").values_list("pk", flat=True))
    asyncio.run(go())
    return evaluation_result(evaluation)


def test_a_past_task_is_done_again_from_its_base_and_compared_with_what_was_accepted(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    line = line_of(world)
    task = accepted(world, bench, origin, line, programs)
    merged, stored, waiting = origin.head(), rows(), tickets()
    assert evaluations.usual_check_station_or_empty(line, trials.read_line(line.draft), "write") == "check"
    evaluation = evaluations.start_evaluation(line, world.admin, requested(line))
    assert tickets() == waiting + 1
    result = work_off(bench, evaluation, programs)

    assert origin.head() == merged, "nothing is merged"
    mine = {"pipelines_lineevaluation"}
    assert {table: told for table, told in rows().items() if table not in mine} == {
        table: told for table, told in stored.items() if table not in mine
    }, "no task, event, notice or mail"
    (row,) = result.tasks
    assert row.source is not None and row.source.task_id == task.pk and row.runs == 1
    assert (row.before.result, row.before.check_result, row.before.tests_text) == (
        "success",
        "success",
        "2 tests passed, 0 failed",
    )
    assert (row.after.result, row.after.check_result, row.after.tests_text) == (
        "success",
        "failure",
        "1 test passed, 1 failed",
    )
    assert (row.before.spending.amount_text, row.after.spending.amount_text) == ("$0.02", "$0.05")
    assert row.before.passed and not row.after.passed and row.is_same is False
    assert {key: row.trial.comparison[key] for key in ("files", "added", "removed")} == {
        "files": 1,
        "added": 1,
        "removed": 1,
    }
    difference = StationTrial.objects.values_list("difference", flat=True).get()
    assert difference.startswith("--- app.py (accepted)\n+++ app.py (evaluated)\n@@")
    assert "\n-y = 2\n+z = 3\n" in difference
    assert (result.state, result.same_count) == ("finished", 0)
    assert (result.sums_before.passed, result.sums_after.passed) == (1, 0)
    assert result.sums_after.seconds > 0 and not list(bench.base.rglob("app.py")), "no file of it is left"


@pytest.mark.wide
def test_the_same_change_is_told_and_the_budget_ends_what_follows(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    line = line_of(world)
    accepted(world, bench, origin, line, programs)
    origin.add({"app.py": b"x = 1\n"}, "Back")
    accepted(world, bench, origin, line, programs)
    again = requested(line, document=changed(line, "Again: {{task.title}}"), cost_limit=Decimal("0.02"))
    result = work_off(bench, evaluations.start_evaluation(line, world.admin, again), programs)
    first, second = result.tasks
    assert first.is_same and first.after.tests_text == "2 tests passed, 0 failed"
    assert first.trial.comparison["tree"] == origin.commit().tree.decode()
    assert (second.trial.state, second.trial.why) == ("cancelled", "budget")
    assert (result.state, result.same_count, len(result.compared_tasks)) == ("finished", 1, 1)


def test_a_stop_ends_what_waits_and_one_line_has_one_at_a_time(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    line = line_of(world)
    task = accepted(world, bench, origin, line, programs)
    evaluation = evaluations.start_evaluation(line, world.admin, requested(line, tasks=[task.name]))
    with pytest.raises(Conflict, match="still running"):
        evaluations.start_evaluation(line, world.admin, requested(line))
    own = trials.TrialRequest(line.draft, "check", {}, {})
    assert trials.start_trial(line, world.admin, own), "a person may still run one station by itself"
    StationTrial.objects.filter(evaluation=None).delete()
    StationTrial.objects.update(created_at=clock.now() - timedelta(hours=2))
    trials.close_lost_trials(clock.now())
    assert trials.delete_some_old_trials(clock.now() + timedelta(days=1)) == 0, "it goes with its evaluation"
    stopped = evaluations.stop_evaluation(line, world.admin, evaluation.pk)
    assert stopped.stopped_at and work_off(bench, stopped, programs).state == "stopped"
    assert [trial.why for trial in StationTrial.objects.all()] == ["stopped_by_hand"]
    again = evaluations.stop_evaluation(line, world.admin, evaluation.pk)
    assert again.stopped_at == stopped.stopped_at
    later = clock.now() + timedelta(days=91)
    assert evaluations.delete_some_old_evaluations(clock.now()) == 0
    assert evaluations.delete_some_old_evaluations(later) == 1
    assert not StationTrial.objects.exists()


@pytest.mark.parametrize("loses", ["project", "execute"])
def test_what_waits_is_not_run_for_who_may_no_longer_run_it(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...], loses: str
) -> None:
    line = line_of(world)
    accepted(world, bench, origin, line, programs)
    evaluation = evaluations.start_evaluation(line, world.admin, requested(line))
    membership = Membership.objects.filter(user=world.admin, project=world.project)
    membership.delete() if loses == "project" else membership.update(execute=False)
    work_off(bench, evaluation, programs)
    trial = evaluation.trials.get()
    assert (trial.state, trial.why, trial.log) == ("cancelled", "not_permitted", "")


def test_what_cannot_be_evaluated_is_refused_with_its_reason(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    line = line_of(world)

    def refusal(expected: type[Exception] = Invalid, user: User = world.admin, **more: Any) -> str:
        with pytest.raises(expected) as caught:
            evaluations.start_evaluation(line, user, requested(line, **more))
        fault = caught.value
        return fault.message if isinstance(fault, Invalid) else str(fault)

    assert "was accepted yet" in refusal()
    task = accepted(world, bench, origin, line, programs)
    for user in (world.viewer, world.operator, world.reviewer, world.designer):
        refusal(Forbidden, user)
    assert "another station" in refusal(check="write")
    assert "cost limit" in refusal(cost_limit=Decimal(0)) and "cost limit" in refusal(
        cost_limit=Decimal(10**6)
    )
    assert "1 to 50" in refusal(last=0) and "1 to 50" in refusal(last=51)
    other = world.start(line.live, title="Never done")
    waiting = tickets()
    for name in (other.name, "WI-x-1", "WI-app-" + "9" * 30, ""):
        assert "is no accepted task" in refusal(tasks=[task.name, name])
    refusal(NotFound, check="nowhere")
    assert not LineEvaluation.objects.exists() and tickets() == waiting


def test_many_tasks_are_read_by_as_many_statements_as_few(
    world: World, bench: Bench, origin: RemoteRepository, programs: tuple[str, ...]
) -> None:
    line = line_of(world)
    accepted(world, bench, origin, line, programs)
    evaluation = evaluations.start_evaluation(line, world.admin, requested(line))
    with CaptureQueriesContext(connection) as few:
        evaluation_result(evaluation)
    (trial,) = evaluation.trials.all()
    source = Job.objects.get(pk=trial.source)
    for number in range(20):
        task = Task.objects.get(pk=source.task_id)
        task.pk, task.number = None, 100 + number
        task.save(force_insert=True)
        source.pk, source.task = None, task
        source.save(force_insert=True)
        trial.pk, trial.source = None, source.pk
        trial.save(force_insert=True)
    with CaptureQueriesContext(connection) as many:
        assert len([row for row in evaluation_result(evaluation).tasks if row.source]) == 21
    assert len(many) == len(few)
    # Copies of rows, which no invariant holds of
    Job.objects.filter(task__number__gte=100).delete()
    Task.objects.filter(number__gte=100).delete()
