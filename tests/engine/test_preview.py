"""A report that is previewed decides the same when it is made, and a preview leaves nothing behind."""

from __future__ import annotations

import os
import random
import uuid
from typing import Any

import pytest
from django.db import connection

from pipelines import engine
from pipelines.errors import Conflict, Invalid
from pipelines.models import Decision, GateVisit, Job, LineEvent, LineVersion, SampledDraw, Task
from tests.engine.test_simulated import LINES, OFFERS
from tests.factories import World, document, make_project, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]
SITUATIONS = int(os.environ.get("GATELINE_SOAK_PREVIEWS", "10000"))
JUDGED: dict[str, Any] = document(
    key="judged",
    stations=[
        station(
            "fix",
            {"id": "large", "when": {"fact": {"path": "$.git.files_changed", "op": "gt", "value": 3}}, "to": "fix",
             "max_retries": 2},
            {"id": "on", "when": {"result": "success"}, "to": "completed", "gates": ["look"]},
            {"id": "off", "to": "failed"},
            expects="change", gate="own",
        ),
    ],
    gates=[
        {"key": "look", "name": "Look", "offers": OFFERS, "mode": "checks_then_manual", "checks": {"all": [
            {"field": "facts.commands.failed", "operator": "equals", "value": 0, "action": "hold"},
            {"field": "output.n", "operator": "exists", "action": "rework"}]}},
        {"key": "own", "name": "Own", "mode": "auto", "checks": {"all": [
            {"field": "facts.git.sensitive", "operator": "not_equals", "value": ["ci.yml"], "action": "abort"}]}},
    ],
    policy={"on_reject": "rework"},
)  # fmt: skip
DOCUMENTS = {**LINES, "judged": JUDGED}


def drawn_outcome(random: random.Random) -> dict[str, Any]:
    outcome: dict[str, Any] = random.choice(
        [
            {"exit_code": random.choice([0, 0, 1, 7])},
            {"result": random.choice(["success", "failure", "blocked"])},
        ]
    )
    for key, values in (
        ("verdict", ["pass", "fail"]),
        ("eval", ["x", "ok"]),
        ("output", [{"n": 1}, {"nn": 2}, {"n": 1, "m": 3}, [1], "text"]),
        ("failure_type", ["flaky", "denied"]),
        ("blockers", [["Wait."]]),
        ("handoff", [{"done": True}, {}]),
        ("signals", [[{"verdict": word}] for word in ("proceed", "hold", "rework", "abort", "odd")]),
    ):
        if random.random() < 0.25:
            outcome[key] = random.choice(values)
    if random.random() < 0.6:
        changed = random.choice([0, 1, 5])
        outcome["facts"] = {
            "git": {
                "files_changed": changed,
                "tree": f"t{changed}",
                "sensitive": random.choice([[], ["ci.yml"]]),
            },
            "commands": {"run": 2, "failed": random.choice([0, 1]), "denied": random.choice([0, 0, 1])},
            "claims": {
                "made": [],
                "contradicted": random.choice([[], [{"kind": "files", "text": "I made x.py"}]]),
            },
        }
    return outcome


class Walk:
    """Tasks of all lines that go on by drawn outcomes; each is previewed before it is reported."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random, self.compared = world, random.Random(seed), 0
        self.versions = [world.line(given | {"key": f"walk-{key}"}) for key, given in DOCUMENTS.items()]
        self.kinds: set[str] = set()

    def go(self, situations: int) -> None:
        while self.compared < situations:
            version = self.random.choice(self.versions)
            self._go_on(self.world.start(version))

    def _go_on(self, task: Task) -> None:
        for _step in range(8):
            jobs = Job.objects.filter(task=task).exclude(state=Job.State.DONE).order_by("pk")
            job = self.random.choice([*jobs]) if jobs else None
            if job is not None and job.purpose == "station":
                self._report(task, job)
            elif GateVisit.objects.filter(task=task, state=GateVisit.State.OPEN).exists():
                visit = self.random.choice([*GateVisit.objects.filter(task=task, state=GateVisit.State.OPEN)])
                word = self.random.choice(["approve", "approve", "send_back"])
                try:
                    self.world.vote(task, word, reason="Again.", visit=visit)
                except (Conflict, Invalid):
                    return
            else:
                return

    def _report(self, task: Task, job: Job) -> None:
        if (
            job.state == Job.State.QUEUED
            and engine.start_claimed_job_or_none(job.pk, self.world.claim()) is None
        ):
            return
        report = self.world.report_of(Job.objects.get(pk=job.pk), drawn_outcome(self.random))
        preview = engine.preview_report(report)
        result = engine.report([report])[0]
        assert result.status == "accepted"
        stored = Decision.objects.filter(job_id=job.pk).latest("at").answer
        assert preview.decision.to_stored_dict() == stored, report.outcome
        self.kinds.add(stored["decision"])
        self.compared += 1


def test_what_is_previewed_is_what_is_decided(world: World) -> None:
    walk = Walk(world, 1)
    walk.go(80)
    assert {"move", "wait", "finish"} <= walk.kinds


@pytest.mark.soak
def test_what_is_previewed_is_what_is_decided_ten_thousand_times(world: World) -> None:
    walk = Walk(world, 2)
    walk.go(SITUATIONS)
    assert {"move", "wait", "finish", "ask", "escalate", "stuck"} <= walk.kinds


def all_rows() -> dict[str, Any]:
    """What a preview could leave, and what it must not."""
    tables = (
        "event",
        "decision",
        "job",
        "token",
        "task",
        "gatevisit",
        "sampleddraw",
        "lease",
        "due",
        "lineevent",
    )
    found = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM pipelines_{table} t")
            found[table] = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM procrastinate_jobs")
        found["queue"] = cursor.fetchone()
    return found


def sampled(world: World) -> LineVersion:
    gate = {"key": "look", "name": "Look", "mode": "manual", "sample": {"one_in": 1000}}
    rules = {"id": "on", "to": "completed", "gates": ["look"]}
    return world.line(key="sampled", stations=[station("fix", rules)], gates=[gate])


def test_a_preview_leaves_nothing_behind(world: World) -> None:
    task = world.start(sampled(world))
    job = world.started(task)
    lie = {
        "exit_code": 0,
        "facts": {"claims": {"made": [], "contradicted": [{"kind": "files", "text": "I made x"}]}},
    }
    before = all_rows()
    for outcome in ({"exit_code": 0}, {"result": "failure"}, lie):
        engine.preview_report(world.report_of(job, outcome))
    assert all_rows() == before
    assert not SampledDraw.objects.exists() and not LineEvent.objects.filter(kind="asks_all").exists()


def test_nobody_learns_from_a_preview_whether_a_sample_asks(world: World) -> None:
    """One in a thousand is drawn, and none of these: the preview says for all of them that people are asked."""
    version = sampled(world)
    told = set()
    for _ in range(3):
        task = world.start(version)
        report = world.report_of(world.started(task), {"exit_code": 0})
        told.add(engine.preview_report(report).decision.kind)
        engine.report([report])
    assert told == {"wait"}
    assert Task.objects.filter(status="completed").exists()


@pytest.mark.parametrize("change", [{"lease": uuid.uuid4()}, {"attempt": 2}])
def test_an_attempt_that_is_over_gets_no_preview(world: World, change: dict[str, Any]) -> None:
    task = world.start(world.line())
    job = world.started(task)
    report = world.report_of(job)
    with pytest.raises(Conflict):
        engine.preview_report(engine.Report(**{**vars(report), **change}))
    engine.report([report])
    with pytest.raises(Conflict):
        engine.preview_report(world.report_of(job, {"exit_code": 1}))


def test_what_is_no_outcome_is_refused_with_its_place(world: World) -> None:
    task = world.start(world.line())
    with pytest.raises(Invalid, match=r"outcome\.verdict"):
        engine.preview_report(world.report_of(world.started(task), {"verdict": "fine"}))


def test_another_task_of_the_same_owner_or_of_another_has_no_part_in_it(world: World) -> None:
    """The lease of one job opens no other."""
    other = World(make_project("other", "rival"), world.worker)
    mine, theirs = world.started(world.start(world.line())), other.started(other.start(other.line()))
    crossed = engine.Report(theirs.pk, theirs.attempt, mine.lease_key, {"exit_code": 0}, by="worker:x")
    with pytest.raises(Conflict):
        engine.preview_report(crossed)
