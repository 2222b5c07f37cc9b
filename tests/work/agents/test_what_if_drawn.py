"""`what_if` is the decision: for drawn lines, tasks and outcomes, given the facts of that moment."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from pipelines import engine
from pipelines.lines.publishing import PublishRefused
from pipelines.models import Decision, Job, Task
from pipelines.work.transport.local.agent_answers import answer_agent
from tests.factories import World

pytestmark = pytest.mark.django_db
TASKS_OF_A_LINE = 25
OUTCOMES = ("success", "success", "failure", "blocked", "exit_code")


def drawn_condition(draw: Random, depth: int = 0) -> dict[str, Any]:
    kind = draw.choice(
        ("result", "score", "files", "all", "any", "not") if depth < 2 else ("result", "score")
    )
    if kind in ("all", "any"):
        return {kind: [drawn_condition(draw, depth + 1) for _ in range(2)]}
    if kind == "not":
        return {"not": drawn_condition(draw, depth + 1)}
    if kind == "result":
        return {"result": draw.choice(("success", "failure", "blocked"))}
    op, value = draw.choice(("gt", "lt", "equals")), draw.randint(0, 4)
    if kind == "files":
        return {"fact": {"path": f"$.stations.{draw.choice('abc')}.commands.run", "op": op, "value": value}}
    return {"output": {"path": "score", "op": op, "value": value}}


def drawn_line(world: World, draw: Random, number: int) -> Any:
    keys = ["a", "b", "c"]
    stations = []
    for key in keys:
        rules = [
            {
                "id": f"{key}{index}",
                "when": drawn_condition(draw),
                "to": draw.choice(keys),
                **({"gates": ["review"]} if draw.random() < 0.3 else {}),
                **({"max_retries": draw.randint(1, 2)} if draw.random() < 0.3 else {}),
            }
            for index in range(draw.randint(1, 4))
        ]
        work = {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open"}
        expects = draw.choice(("change", "output", "nothing"))
        stations.append(
            {"key": key, "work": work, "rules": rules, "expects": expects, "output_keys": ["score"]}
        )
    check = {
        "field": "output.score",
        "operator": "greater_than",
        "value": draw.randint(0, 4),
        "label": "Score",
    }
    gate = {
        "key": "review",
        "approval": {"who": [{"role": "reviewer", "count": 1}]},
        "mode": draw.choice(("checks_then_manual", "manual")),
        "checks": {"all": [check]},
    }
    return world.line(key=f"drawn{number}", stations=stations, gates=[gate])


def drawn_outcome(draw: Random) -> dict[str, Any]:
    kind = draw.choice(OUTCOMES)
    outcome: dict[str, Any] = (
        {"exit_code": draw.choice((0, 0, 1, 2))} if kind == "exit_code" else {"result": kind}
    )
    if draw.random() < 0.8:
        outcome["output"] = {"score": draw.choice((0, 1, 2, 3, 4, 5, "many", None))}
    if draw.random() < 0.5:
        run = draw.randint(0, 3)
        trees = {"before": "x", "tree": draw.choice("xy")}
        outcome["facts"] = {
            "commands": {"run": run, "failed": draw.randint(0, run)},
            "git": {"source": trees},
        }
    if draw.random() < 0.2:
        outcome["summary"] = "I created other.txt."
    return outcome


def moves(world: World, draw: Random, task: Task) -> Any:
    """Yield what was decided, each compared with what was said before it."""
    for _ in range(4):
        job = Job.objects.filter(task=task, state=Job.State.QUEUED).first()
        if job is None:
            return
        job = world.started(task)
        assert job.lease_key is not None
        outcome = drawn_outcome(draw)
        said = answer_agent(job.pk, job.lease_key, "what_if", outcome, "worker:x")
        before = Decision.objects.filter(task=task).count()
        report = engine.Report(
            job.pk, job.attempt, job.lease_key, outcome, by="worker:x", observed_by="worker:x"
        )
        [result] = engine.report([report])
        assert result.status == "accepted" and Decision.objects.filter(task=task).count() == before + 1
        stored = Decision.objects.filter(task=task, job_id=job.pk).latest("at").answer
        assert said["details"] == stored, outcome
        assert said["decision"] == stored["decision"]
        yield stored["decision"]


# In ten parts, each of which can be run again by itself
SOAK = [pytest.param(seed, 1_000, marks=pytest.mark.soak) for seed in range(10)]


@pytest.mark.parametrize(("seed", "count"), [(45, 40), *SOAK])
def test_what_it_says_is_what_is_decided(world: World, seed: int, count: int) -> None:
    draw, decided, number = Random(seed), Counter[str](), 0
    while decided.total() < count:
        number += 1
        try:
            version = drawn_line(world, draw, number)
        except PublishRefused:
            continue  # a rule that never matches is not published
        for _ in range(TASKS_OF_A_LINE):
            decided.update(moves(world, draw, world.start(version)))
    assert len(decided) >= 3, decided
