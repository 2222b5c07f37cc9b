"""What a task's page says of facts so far, what can happen next, and what is left of limits."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from pipelines.models import Job
from pipelines.people import projects
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from reviews.decision.consequences import offered_votes_within_allowed_rounds
from tests.factories import World, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

FACTS = {
    "git": {
        "files_changed": 4,
        "insertions": 84,
        "deletions": 5,
        "paths": ["app/a.py", "app/b\u202e.py", "tests/c.py", "z.py"],
    },
    "commands": {"run": 6, "failed": 1, "denied": 1},
    "usage": {"cost_usd": 0.5, "price": "reported"},
}
TESTS = {"tests": {"passed": 24, "failed": 1, "errors": 0, "skipped": 2, "suites": 1}}


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_facts_so_far_what_can_follow_and_what_is_left(world: World, signed_in: As) -> None:
    projects.set_monthly_cost_limit(world.project, Decimal(3), by=world.admin)
    again = {
        "id": "again",
        "label": "Tests fail",
        "when": {"result": "failure"},
        "to": "code",
        "max_retries": 2,
    }
    on = {"id": "on", "label": "Tests pass", "when": {"result": "success"}, "to": "ship"}
    checks = station("checks", again, on, name="Checks", limits={"max_visits": 5, "max_timeout": 1200})
    code = station(
        "code",
        name="Code",
        work={"kind": "agent", "agent": "claude", "prompt": "Go", "network": "open"},
        kind="agent",
    )
    line = world.line(stations=[code, checks, station("ship", name="Ship")], limits={"cost_usd": 2})
    task = world.start(line)
    client = signed_in(world.viewer)
    page = words(text(client.get(at(world, "task", task.name))))
    assert "Facts so far" not in page and "after Code – Otherwise" in page
    world.report(task, {"exit_code": 0, "facts": FACTS})
    page = words(text(client.get(at(world, "task", task.name))))
    assert "4 files changed +84 −5 after Code app/a.py app/b\\u202e.py tests/c.py and 1 more" in page
    assert "6 commands, 1 failed reported by Code 1 denied reported by Code" in page
    assert "What can happen next after Checks 1 Tests fail → Code 2 Tests pass → Ship – Otherwise" in page
    assert "Cost of the task $1.50 left of $2.00 Cost of the month $2.50 left of $3.00" in page
    assert "Runs 4 left of 5 Retries: Tests fail 2 left of 2" in page
    world.report(task, {"exit_code": 1, "facts": TESTS})
    page = words(text(client.get(at(world, "task", task.name))))
    assert "24 tests passed, 1 failed, 2 skipped after Checks" in page


def test_a_delivery_is_no_change_and_no_tests_are_no_success(world: World, signed_in: As) -> None:
    merge = station("merge", name="Merge", work={"kind": "noop"})
    task = world.start(world.line(stations=[station("code", name="Code"), merge]))
    none = {"tests": {"passed": 0, "failed": 0, "errors": 0, "skipped": 0, "suites": 0}}
    world.report(task, {"exit_code": 0, "facts": {"git": FACTS["git"], **none}})
    world.report(task, {"exit_code": 0, "facts": {"git": {"files_changed": 0}}})
    Job.objects.filter(task=task, station="merge").update(kind=DELIVER.key)
    page = text(signed_in(world.viewer).get(at(world, "task", task.name)))
    shown = words(page)
    assert "4 files changed +84 −5 after Code" in shown and "0 files changed" not in shown
    assert "Facts so far" not in shown and "No tests ran after Code" in shown
    assert "columns-2" not in page.partition('id="facts-so-far"')[0][-200:]


def test_at_a_gate_each_decision_says_what_it_leads_to_as_the_review_does(
    world: World, signed_in: As
) -> None:
    line = world.line(
        stations=[station("code", gate="ok"), station("ship", name="Ship")],
        gates=[{"key": "ok", "name": "Code review", "offers": ["approve", "reject"]}],
    )
    task = world.start(line)
    world.report(task, {"exit_code": 0, "facts": TESTS})
    client = signed_in(world.viewer)
    page = words(text(client.get(at(world, "task", task.name))))
    said = [(each.verb, each.then) for each in offered_votes_within_allowed_rounds(world.visit(task))]
    told = " ".join(f"{verb} {then}" for verb, then in said)
    assert f"What can happen next at Code review {told}" in page
    assert told == "Approve Ship starts. Reject The task fails."
