"""Conditions that must be asked: a job of its own, run once per visit and question, whose answer is a fact (law §3;
ALP A25 to A30)."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden
from pipelines.lines import publishing
from pipelines.models import Due, Job, Purpose, Task
from pipelines.ports.leases import MAX_ATTEMPTS, WorkOffer
from pipelines.work.scheduler import timers
from tests.engine.evaluating import yes
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db


GOOD = {"agentic": {"question": "Is it good?"}}


SCRIPT = {"hook": {"argv": ["hooks/security.sh"], "timeout": "60s"}}


FLAGS = {"agentic_conditions": True}


def no(question: dict[str, Any], to: Any, key: str = "bad", **more: Any) -> dict[str, Any]:
    return {"id": key, "when": {**question, "answer": "no"}, "to": to, **more}


def asking(world: World, *rules: dict[str, Any], **more: Any) -> Task:
    """A task whose first station, `build`, has these rules, reported as a success."""
    ends = more.pop("stations", ["ship", "fix"])
    line = {"stations": [station("build", *rules), *ends], "flags": FLAGS, **more}
    task = world.start(world.line(**line))
    world.report(task, {"result": "success", "output": {"n": 1}})
    return task


def evaluated(world: World) -> Task:
    """Somebody asks a model whether what `build` did is good."""
    world.able("model")
    return asking(world, yes(GOOD, "ship"), no(GOOD, "fix"))


def hooked(world: World, **bad: Any) -> Task:
    passed = {"id": "passed", "when": {**SCRIPT, "answer": "pass"}, "to": "ship"}
    blocked = {"id": "blocked", "when": {**SCRIPT, "answer": "block"}, "to": "build", **bad}
    return asking(world, passed, blocked)


def said(word: str, text: str = "") -> dict[str, Any]:
    return {"result": "success", "eval": word, **({"feedback": text} if text else {})}


def answers(task: Task) -> list[dict[str, Any]]:
    last = task.decisions.order_by("at").last()
    assert last is not None
    found: list[dict[str, Any]] = last.situation["facts"].get("answers", [])
    return found


@pytest.mark.parametrize(("word", "where"), [("yes", "ship"), ("no", "fix")])
def test_A25_the_answer_to_a_question_decides_where_it_goes(world: World, word: str, where: str) -> None:
    task = evaluated(world)
    token, job = world.token(task), world.job(task)
    assert (world.status(task), token.station, token.wait["evaluation"]) == ("evaluating", "build", GOOD)
    assert (job.purpose, job.kind, job.question, job.station) == ("evaluation", "model", GOOD, "build")
    world.report(task, said(word, "Because."))
    assert world.at(task) == [where]
    assert answers(task) == [{**GOOD, "answer": word, "text": "Because."}]


def test_A25_the_same_situation_is_decided_again_with_the_answer(world: World) -> None:
    task = evaluated(world)
    world.report(task, said("yes"))
    asked, decided = task.decisions.order_by("at")
    assert decided.situation["outcome"] == asked.situation["outcome"]
    assert {**decided.situation["facts"], "answers": []} == {**asked.situation["facts"], "answers": []}
    assert (decided.job_id, decided.pinned_id) == (asked.job_id, asked.pinned_id)
    assert world.kinds(task)[-3:] == ["job.reported", "evaluation.answered", "token.moved"]


def test_a_question_is_asked_once_per_visit_however_many_rules_share_it(world: World) -> None:
    world.able("model")
    other = {"agentic": {"question": "Is it fast?"}}
    both = {
        "id": "both",
        "when": {"all": [{**GOOD, "answer": "yes"}, {**other, "answer": "yes"}]},
        "to": "ship",
    }
    task = asking(world, both, no(other, "fix", "slow"), no(GOOD, "build", "again"))
    world.report(task, said("yes"))
    world.report(task, said("no"))
    assert world.at(task) == ["fix"]
    asked = Job.objects.filter(task=task, purpose=Purpose.EVALUATION).order_by("pk")
    assert [job.question for job in asked] == [GOOD, other]


def test_another_visit_is_asked_anew(world: World) -> None:
    world.able("model")
    task = asking(world, yes(GOOD, "ship"), no(GOOD, "build", max_retries=2))
    world.report(task, said("no"))
    world.report(task)
    assert world.status(task) == "evaluating"
    world.report(task, said("yes"))
    assert world.at(task) == ["ship"]


def test_an_evaluation_is_no_visit(world: World) -> None:
    task = evaluated(world)
    world.report(task, said("yes"))
    task.refresh_from_db()
    assert task.visits == {"build": 1, "ship": 1}


@pytest.mark.parametrize(
    "outcome",
    [
        {"result": "success", "eval": "perhaps"},
        {"result": "success", "eval": "Yes"},
        {"result": "success"},
        {"result": "failure", "eval": "yes"},
        {"result": "cancelled", "reason": "max_timeout"},
    ],
    ids=["another word", "another case", "no word", "failed", "timed out"],
)
def test_A26_what_is_no_answer_blocks_for_a_person_and_never_advances(
    world: World, outcome: dict[str, Any]
) -> None:
    task = evaluated(world)
    world.report(task, outcome)
    token = world.token(task)
    assert (token.status, token.station, token.wait["evaluation"]) == ("blocked", "build", GOOD)
    assert answers(task)[0]["answer"] == "unanswered"
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, fact="yes")
    assert world.at(task) == ["ship"]


def test_A26_an_evaluator_that_dies_again_and_again_blocks_for_a_person(world: World) -> None:
    task = evaluated(world)
    for _ in range(MAX_ATTEMPTS):
        assert world.status(task) == "evaluating"
        world.started(task)
        world.lose(task)
    token = world.token(task)
    assert (token.status, token.wait["evaluation"]) == ("blocked", GOOD)


def test_A26_without_a_machine_a_person_is_asked(world: World) -> None:
    task = asking(world, yes(GOOD, "ship"), no(GOOD, "fix"))
    token = world.token(task)
    assert (token.status, token.wait["evaluation"]) == ("blocked", GOOD)
    assert not Job.objects.filter(task=task, purpose=Purpose.EVALUATION).exists()


def test_A26_a_question_names_who_answers_it(world: World) -> None:
    world.able("model", "worker")
    for named, kind in ((None, "worker"), ("model", "model"), ("worker", "worker")):
        question = {"agentic": {"question": "Is it good?", **({"evaluator": named} if named else {})}}
        task = asking(world, yes(question, "ship"), key=f"line-{kind}-{bool(named)}".lower())
        assert world.job(task).kind == kind
    question = {"agentic": {"question": "Is it good?", "evaluator": "person"}}
    assert world.status(asking(world, yes(question, "ship"), key="line-person")) == "blocked"


def test_A26_a_person_may_answer_before_the_machine_does(world: World) -> None:
    task = evaluated(world)
    late = world.report_of(world.started(task), said("no"))
    token = world.token(task)
    engine.answer_blocked_token(
        token.pk, user=world.operator, token_version=token.version, fact="yes", text="I looked."
    )
    assert world.at(task) == ["ship"]
    assert engine.report([late])[0].http == 409
    assert world.at(task) == ["ship"]


def test_a_worker_takes_only_what_it_can_answer(world: World) -> None:
    task = evaluated(world)
    assert engine.start_claimed_job_or_none(world.job(task).pk, WorkOffer(worker=world.worker.pk)) is None
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is not None


@pytest.mark.parametrize(("word", "where"), [("pass", "ship"), ("block", "build")])
def test_A27_a_hook_passes_or_blocks(world: World, word: str, where: str) -> None:
    task = hooked(world)
    job = world.job(task)
    assert (world.status(task), job.kind, job.question) == ("evaluating", "hook", SCRIPT)
    world.report(task, said(word))
    assert world.at(task) == [where]


def test_A27_a_hook_is_not_answered_by_a_person_who_was_not_asked(world: World) -> None:
    task = hooked(world)
    token = world.token(task)
    with pytest.raises(Conflict):
        engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, fact="pass")


def test_A28_what_the_hook_said_goes_to_the_next_run_and_only_the_latest(world: World) -> None:
    task = hooked(world, feedback=True, max_retries=3)
    assert Job.objects.get(task=task, purpose=Purpose.STATION).feedback == ""
    world.report(task, said("block", "two findings"))
    assert world.job(task).feedback == "two findings"
    world.report(task)
    world.report(task, said("block", "one finding"))
    assert world.job(task).feedback == "one finding"


def test_A28_without_feedback_a_hook_gives_none_and_the_retry_counts(world: World) -> None:
    task = hooked(world, max_retries=1, on_exhausted="stuck")
    world.report(task, said("block", "two findings"))
    assert world.job(task).feedback == ""
    world.report(task)
    world.report(task, said("block"))
    token = world.token(task)
    assert (token.status, token.error) == ("stuck", "RetryLimitExceeded")


def test_A29_a_failure_is_not_evaluated_where_the_rule_wants_a_success(world: World) -> None:
    world.able("model")
    guarded = {"all": [{"result": "success"}, {**GOOD, "answer": "yes"}]}
    rules = [
        {"id": "good", "when": guarded, "to": "ship"},
        {"id": "lost", "when": {"result": "failure"}, "to": "fix"},
    ]
    task = world.start(world.line(stations=[station("build", *rules), "ship", "fix"], flags=FLAGS))
    world.report(task, {"result": "failure"})
    assert world.at(task) == ["fix"]
    assert not Job.objects.filter(task=task, purpose=Purpose.EVALUATION).exists()


def test_A30_without_the_flag_a_line_that_asks_is_not_published(world: World) -> None:
    with pytest.raises(publishing.Refused) as refused:
        world.line(stations=[station("build", yes(GOOD, "ship")), "ship"])
    assert "agentic_conditions" in str(refused.value)


# What else may happen meanwhile


def test_cancelling_closes_the_question(world: World) -> None:
    task = evaluated(world)
    late = world.report_of(world.started(task), said("yes"))
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    assert world.status(task) == "cancelled"
    assert engine.report([late])[0].http == 409


def test_a_repeated_answer_gets_the_first_answer_again(world: World) -> None:
    task = evaluated(world)
    report = world.report_of(world.started(task), said("yes"))
    first = engine.report([report])[0]
    assert engine.report([report])[0].status == "repeated"
    assert first.decision == "move"


def test_a_lost_evaluation_is_asked_again_and_stays_evaluating(world: World) -> None:
    task = evaluated(world)
    world.started(task)
    assert world.lose(task) == "requeued"
    job = world.job(task)
    assert (world.status(task), job.state, job.attempt) == ("evaluating", "queued", 2)


def test_a_worker_goes_straight_on_with_the_question_and_after_it(world: World) -> None:
    world.able("model")
    line = world.line(stations=[station("build", yes(GOOD, "ship")), "ship"], flags=FLAGS)
    task = world.start(line)
    first = world.report(task, offer_for_next=world.claim())
    job = world.job(task)
    assert (job.pk, job.lease_key, job.state) == (first.next_job_id, first.next_lease, "running")
    second = world.report(task, said("yes"), offer_for_next=world.claim())
    job = world.job(task)
    assert (job.station, job.purpose, job.lease_key) == ("ship", "station", second.next_lease)


def test_branches_are_asked_apart(world: World) -> None:
    world.able("model")
    split = station("split", {"id": "split-on", "to": ["left", "right"]})
    sides = [station(key, yes(GOOD, "ship", f"{key}-on")) for key in ("left", "right")]
    task = world.start(world.line(stations=[split, *sides, "ship"], flags=FLAGS))
    world.report(task)
    world.report(task, station="left")
    world.report(task, station="right")
    assert Job.objects.filter(task=task, purpose=Purpose.EVALUATION).count() == 2
    assert world.status(task) == "evaluating"


def test_a_line_whose_rules_run_a_hook_needs_the_permission_to_execute(world: World) -> None:
    rule = {"id": "passed", "when": {**SCRIPT, "answer": "pass"}, "to": "ship"}
    given = document([station("build", rule), "ship"], flags=FLAGS)
    line = publishing.create_line(world.project, "line", "Line", given, world.designer)
    with pytest.raises(Forbidden, match="build"):
        publishing.publish_draft(line, user=world.designer, based_on=line.draft_number)


def test_branches_that_are_answered_at_once_keep_a_budget_together(world: World) -> None:
    stations = [
        station("plan", {"id": "both", "to": ["a", "b"]}),
        *(station(key, {"id": f"{key}-on", "when": {**SCRIPT, "answer": "pass"}, "to": "x"}) for key in "ab"),
        station("x", limits={"max_visits": 1}),
    ]
    task = world.start(world.line(stations=stations, flags=FLAGS))
    for key in ("plan", "a", "b"):
        world.report(task, station=key)
    asked = [world.started(task, key) for key in "ab"]
    for job in asked:
        engine.report([world.report_of(job, {"result": "success", "eval": "pass"})])
    task.refresh_from_db()
    assert task.visits["x"] == 1


def patience_ends(task: Task) -> None:
    assert Due.objects.filter(task=task, kind="evaluation").update(due_at=timezone.now())
    timers.run_due_timers_and_triggers()


def test_A26_a_question_that_no_machine_can_answer_any_more_is_for_a_person(world: World) -> None:
    task = evaluated(world)
    patience_ends(task)
    assert world.status(task) == "evaluating", "its worker is alive, and may be busy"
    world.able()
    patience_ends(task)
    token = world.token(task)
    assert (token.status, token.wait["evaluation"]) == ("blocked", GOOD)
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, fact="yes")
    assert world.at(task) == ["ship"]


def test_a_question_that_is_being_answered_is_waited_for(world: World) -> None:
    task = evaluated(world)
    job = world.started(task)
    world.able()
    patience_ends(task)
    assert (world.status(task), Due.objects.filter(task=task, kind="evaluation").count()) == ("evaluating", 1)
    engine.report([world.report_of(job, {"result": "success", "eval": "yes"})])
    assert (world.at(task), Due.objects.filter(task=task).count()) == (["ship"], 0)
