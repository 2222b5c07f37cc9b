"""Law §13 in the engine: what was observed is kept with who observed it, and what is only said is a claim."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Decision, Job
from pipelines.people import projects
from pipelines.queries import usage
from pipelines.queries.why import explain_decision
from pipelines.work.transport.local.orders import job_orders
from tests.factories import World, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]

SEEN = {"tests": {"failed": 0}, "git": {"tree": "c3", "files_changed": 2}}


def outcome(facts: Any) -> dict[str, Any]:
    return {"exit_code": 0, "facts": facts}


def kept(world: World, which: str) -> Any:
    return Job.objects.get(station=which, state="done").outcome


def test_a_workers_facts_are_kept_with_their_source_and_decided_upon(world: World) -> None:
    task = world.start(world.line(stations=["check", "ship"]))
    assert world.report(task, outcome(SEEN)).status == "accepted"
    by = {"station": "check", "visit": 1, "tree": "c3", "observed_by": f"worker:{world.worker.pk}"}
    assert kept(world, "check")["facts"] == {group: {**SEEN[group], "source": by} for group in SEEN}
    assert Decision.objects.get(task=task).situation["outcome"]["facts"]["tests"]["source"] == by


def test_what_a_person_reports_as_facts_is_a_claim(world: World) -> None:
    task = world.start(world.line(stations=[station("check", kind="manual"), "ship"]))
    assert world.report(task, outcome({**SEEN, "weather": "fine"})).status == "accepted"
    facts = kept(world, "check")["facts"]
    assert facts["claims"]["made"] == [{"kind": "facts", "said": {**SEEN, "weather": "fine"}}]
    assert set(facts) == {"claims"}


def test_a_worker_that_says_nonsense_is_refused_with_the_place_and_repeats_are_known(world: World) -> None:
    task = world.start(world.line(stations=["check", "ship"]))
    report = world.report_of(world.started(task), outcome({"tests": {"failed": -1}}))
    refused = engine.report([report])[0]
    assert (refused.status, refused.path) == ("invalid", "outcome.facts.tests.failed")
    good = world.report_of(world.started(task), outcome(SEEN))
    assert [engine.report([good])[0].status for _ in range(2)] == ["accepted", "repeated"]


def agent(**more: Any) -> dict[str, Any]:
    """A station that goes on where it succeeded, and to `mend` where it failed."""
    rules = [
        {"id": "on", "when": {"result": "success"}, "to": "ship"},
        {"id": "off", "when": {"result": "failure"}, "to": "mend"},
    ]
    return station("code", *rules, **more)


def test_a_fact_decides_against_what_the_work_says(world: World) -> None:
    task = world.start(world.line(stations=[agent(expects="change"), "ship", "mend"]))
    proud = {"exit_code": 0, "verdict": "pass", "output": {"made": 1}, "summary": "I made made.txt"}
    world.report(task, {**proud, "facts": {"git": {"files_changed": 0}}})
    assert world.at(task) == ["mend"]
    job = Job.objects.get(station="code")
    assert (job.result, job.outcome["verdict"], job.summary) == ("failure", "pass", "I made made.txt")
    task.refresh_from_db()
    assert (task.context, task.failures) == ({}, {"code:nothing_done": 1})
    told = explain_decision(task.decisions.get(), ()).notes
    assert "Nothing was changed, and a change was expected. That counts as failure here." in told


def test_a_task_that_passed_its_limit_is_routed_so_in_the_third_visit(world: World) -> None:
    again = {"id": "again", "when": {"result": "success"}, "to": "code", "max_retries": 9}
    over = {"id": "over", "when": {"failure_type": "budget_exceeded"}, "to": "mend"}
    line = world.line(stations=[station("code", over, again), "mend"], limits={"cost_usd": 1})
    task = world.start(line)
    costs = {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.4, "price": "reported"}}}
    told = []
    for _visit in range(3):
        world.report(task, costs)
        told.append(world.at(task))
    assert told == [["code"], ["code"], ["mend"]]
    assert usage.cost_of_task(task.pk) == 1.2
    assert [each.situation["facts"].get("spent") for each in task.decisions.order_by("at")] == [
        None,
        0.4,
        0.8,
    ]


def test_usage_is_summed_by_whom_one_asks_and_what_has_no_price_says_so(world: World) -> None:
    line = world.line(stations=["plan", "code", "ship"])
    task = world.start(line)
    world.report(
        task, {"exit_code": 0, "facts": {"usage": {"tokens_in": 5, "tokens_out": 1, "price": "none"}}}
    )
    world.report(task, {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.25, "tokens_in": 2}}})
    world.report(task)
    whole = usage.spending_by_task_id([task.pk])[task.pk]
    assert (whole.price_text, whole.tokens_in, whole.tokens_out) == ("$0.25 + 1 run without a price", 7, 1)
    assert list(usage.spending_by_month(world.project.pk, "UTC").values()) == [whole]
    assert usage.Spending(Decimal("0.001"), 1, 1).price_text == "under $0.01"
    assert usage.NOTHING.price_text == ""


def test_a_run_is_told_what_is_left_of_its_limit_and_of_the_tasks(world: World) -> None:
    costs = {"limits": {"cost_usd": 0.5}}
    again = {"id": "again", "when": {"result": "success"}, "to": "code", "max_retries": 9}
    task = world.start(world.line(stations=[station("code", again, **costs), "ship"], limits={"cost_usd": 1}))
    left = []
    for _visit in range(3):
        left.append(job_orders(world.job(task)).station.cost_usd)
        world.report(task, {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.4}}})
    assert left == [0.5, 0.5, 0.2]


def test_a_run_is_told_what_is_left_of_the_month_of_its_project(world: World) -> None:
    projects.set_monthly_cost_limit(world.project, Decimal("1.10"), by=world.admin)
    again = {"id": "again", "when": {"result": "success"}, "to": "code", "max_retries": 9}
    costs = {"limits": {"cost_usd": 0.5}}
    line = world.line(stations=[station("code", again, **costs), "ship"])
    other = world.start(line)
    world.report(other, {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.4}}})
    task, left = world.start(line), []
    for _visit in range(3):
        told = job_orders(world.job(task)).station
        left.append((told.cost_usd, told.cost_limit))
        world.report(task, {"exit_code": 0, "facts": {"usage": {"cost_usd": 0.4}}})
    assert left == [(0.5, "run"), (0.3, "month"), (0.0, "month")]


def test_what_the_month_ended_is_over_its_budget(world: World) -> None:
    ended = {"result": "failure", "failure_type": "budget_exceeded"}
    code = station(
        "code", {"id": "over", "when": {"failure_type": ["budget_exceeded"]}, "to": "ship"}, expects="change"
    )
    task = world.start(world.line(stations=[code, "ship"]))
    world.report(
        task, {**ended, "facts": {"usage": {"cost_usd": 0, "limit": "month"}, "git": {"files_changed": 0}}}
    )
    assert world.job(task).station == "ship"


def test_a_join_reads_what_its_branches_observed_on_the_same_tree(world: World) -> None:
    clean = {
        "all": [
            {"fact": {"path": f"$.stations.{key}.{path}", "op": "equals", "value": 0}}
            for key, path in (("tests", "tests.failed"), ("security", "findings.high"))
        ]
    }
    stations = [
        station("code", {"id": "fork", "to": ["tests", "security"]}),
        station("tests", {"id": "t", "to": "look"}),
        station("security", {"id": "s", "to": "look"}),
        station("look", {"id": "clean", "when": clean, "to": "ship"}, {"id": "back", "to": "code"},
                join={"wait_for": ["tests", "security"]}),
        "ship",
    ]  # fmt: skip
    task = world.start(world.line(stations=stations))
    changed, same = {"git": {"tree": "t1"}}, {"git": {"tree": "t1"}}
    world.report(task, outcome(changed))
    world.report(task, outcome({**same, "tests": {"failed": 0}}), station="tests")
    world.report(task, outcome({**same, "findings": {"high": 0}}), station="security")
    world.report(task, {"exit_code": 0})
    assert world.at(task) == ["ship"]
    observed = Decision.objects.filter(task=task, station="look").get().situation["facts"]["observed"]
    assert observed["tests"]["tests"]["failed"] == 0 and "git" in observed["code"]


def test_a_branch_does_not_read_what_its_sibling_observed(world: World) -> None:
    clean = {"fact": {"path": "$.stations.tests.tests.failed", "op": "equals", "value": 0}}
    stations = [
        station("code", {"id": "fork", "to": ["tests", "build"]}),
        station("tests", {"id": "t", "to": "completed"}),
        station("build", {"id": "seen", "when": clean, "to": "failed"}, {"id": "unseen", "to": "completed"}),
    ]
    task = world.start(world.line(stations=stations))
    world.report(task, outcome({"git": {"tree": "t1"}}))
    world.report(task, outcome({"git": {"tree": "t1"}, "tests": {"failed": 0}}), station="tests")
    world.report(task, outcome({"git": {"tree": "t1"}}), station="build")
    task.refresh_from_db()
    assert task.rules == {"fork": 1, "t": 1, "unseen": 1}


def test_what_was_observed_before_a_change_is_missing_after_it(world: World) -> None:
    clean = {"fact": {"path": "$.stations.check.tests.failed", "op": "equals", "value": 0}}
    again = station("code", {"id": "clean", "when": clean, "to": "ship"}, {"id": "on", "to": "check"})
    check = station("check", {"id": "back", "to": "code"})
    task = world.start(world.line(stations=[again, check, "ship"], policy={"visit_cap": 9}))
    world.report(task, outcome({"git": {"tree": "t1"}}))
    world.report(task, outcome({"git": {"tree": "t1"}, "tests": {"failed": 0}}))
    world.report(task, outcome({"git": {"tree": "t2"}}))
    assert world.at(task) == ["check"]
    world.report(task, outcome({"git": {"tree": "t2"}, "tests": {"failed": 0}}))
    world.report(task, outcome({"git": {"tree": "t2"}}))
    assert world.at(task) == ["ship"]
