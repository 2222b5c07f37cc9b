"""Law §13 in the engine: what was observed is kept with who observed it, and what is only said is a claim."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Decision, Job
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
