"""The walk of a scenario and the real engine agree, step by step: positions, counters, context, feedback, gates."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict, Invalid
from pipelines.models import ENDED, Escalation, GateVisit, Job, Task, Token
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import SimulatedPosition, SimulatedTask, StepRefused, start_task
from pipelines.routing.simulate.walk_steps import take_step
from tests.factories import World, document, station

pytestmark = [pytest.mark.django_db, pytest.mark.moves]

AGAIN = {"when": {"result": "failure"}, "max_retries": 2}
QUESTION = {"agentic": {"question": "Good enough?"}, "answer": "yes"}
OFFERS = ["approve", "send_back", "reject", "rework", "abort"]
LINES: dict[str, dict[str, Any]] = {
    "loops": document(
        stations=[
            station("a", {"id": "again", "to": "a", **AGAIN}, {"id": "on", "to": "b", "when": {"result": "success"}}),
            station(
                "b",
                {"id": "third", "when": {"edge": {"from": "b", "to": "a", "at_least": 2}}, "to": "c"},
                {"id": "keep", "when": {"output": {"path": "$.n", "op": "exists"}}, "to": "@origin",
                 "compose": [{"var": "n", "path": "$.n"}]},
                {"id": "back", "to": "a"},
            ),
            station("c"),
        ],
    ),
    "gates": document(
        stations=[
            station("a", {"id": "on", "to": "b", "gates": ["one", "two"]}, {"id": "fix", "to": "c"}, gate="own"),
            station("b", {"id": "ask", "when": QUESTION, "to": "completed", "gates": ["one"], "feedback": True},
                    {"id": "no", "to": "a", "feedback": True}),
            station("c", {"id": "stay", "when": {"result": "blocked"}, "to": "@blocked"}, {"id": "up", "to": "a"}),
        ],
        gates=[
            {"key": "one", "name": "One", "offers": OFFERS},
            {"key": "two", "name": "Two", "offers": OFFERS, "on_reject": "route:c"},
            {"key": "own", "name": "Own", "mode": "checks_then_manual", "offers": OFFERS, "checks": {"all": [
                {"field": "run.attempt", "operator": "less_than", "value": 2, "action": "rework"}]}},
        ],
        policy={"on_reject": "rework"},
        flags={"agentic_conditions": True},
    ),
    "forks": document(
        stations=[
            station("a", {"id": "fork", "to": ["b", "c"]}),
            station("b", {"id": "out", "when": {"result": "success"}, "to": "shipped", "gates": ["one"]}),
            station("c", {"id": "again", "to": "c", **AGAIN}, {"id": "nest", "to": ["d", "e"]}),
            station("d"),
            station("e", {"id": "off", "to": "failed"}),
        ],
        gates=[{"key": "one", "name": "One", "offers": OFFERS}],
        ends=[{"key": "shipped", "kind": "completed"}],
    ),
    "joins": document(
        stations=[
            station("a", {"id": "fork", "to": ["b", "c", "d"]}),
            station("b", {"id": "b-on", "when": {"result": ["success", "failure"]}, "to": "j", "gates": ["one"]}),
            station("c", {"id": "again", "to": "c", **AGAIN}, {"id": "nest", "to": ["e", "f"]}),
            station("d", {"id": "d-on", "when": {"result": "success"}, "to": "j"}, {"id": "d-off", "to": "failed"}),
            station("e", {"id": "e-on", "to": "k"}),
            station("f", {"id": "f-on", "when": {"result": "success"}, "to": "k"}),
            station("k", {"id": "k-on", "to": "j"}, join={"wait_for": ["e", "f"], "aggregation": "any-pass"}),
            station("j", {"id": "done", "when": {"result": "success"}, "to": "completed"}, {"id": "round", "to": "a"},
                    join={"wait_for": ["b", "k", "d"], "aggregation": "majority-pass"}),
        ],
        gates=[{"key": "one", "name": "One", "offers": OFFERS, "on_reject": "route:j"}],
        policy={"contradiction": "escalate"},
    ),
    "escalations": document(
        stations=[
            station("a", {"id": "fork", "when": {"result": "success"}, "to": ["b", "c"]},
                    {"id": "ask-a", "when": {"eval": {"op": "equals", "value": "x"}}, "to": "b"}),
            station("b", {"id": "loop", "when": {"result": "failure"}, "to": "b", "max_retries": 1,
                          "on_exhausted": "escalate"},
                    {"id": "set", "when": {"output": {"path": "$.n", "op": "exists"}}, "to": "a",
                     "compose": [{"var": "n", "path": "$.nn"}]},
                    {"id": "back", "when": {"edge": {"from": "a", "to": "b", "at_least": 2}}, "to": "a"},
                    {"id": "on", "when": {"output": {"path": "$.m", "op": "exists"}}, "to": "d"}),
            station("c", {"id": "c-on", "when": {"result": ["success", "failure"]}, "to": "d", "gates": ["one"]},
                    {"id": "c-a", "when": {"result": "blocked"}, "to": "@blocked"}),
            station("d", {"id": "done", "when": {"result": "success"}, "to": "completed"},
                    {"id": "round", "to": "a"}, join={"wait_for": ["b", "c"], "aggregation": "any-pass"}),
        ],
        gates=[{"key": "one", "name": "One", "offers": OFFERS}],
        policy={"contradiction": "escalate", "no_match": "escalate", "on_failure": "escalate"},
        budgets=[{"key": "backs", "kind": "edges", "most": 2, "edges": ["b->a"], "on_exhausted": "escalate",
                  "role": "lead"}],
        escalations=[
            {"trigger": "no_match", "role": "lead", "at_once": ["block"]},
            {"trigger": "on_failure", "role": "lead", "notify": ["one"], "at_once": ["convene_review"]},
            {"trigger": "odd", "role": "lead", "at_once": ["block"]},
        ],
    ),
    "needs": document(
        stations=[
            station("a", {"id": "on", "to": "b", "gates": ["one"]}, requires=["station_gate", "handoff"], gate="own"),
            station("b", {"id": "fork", "when": {"result": "success"}, "to": ["c", "d"]}, {"id": "back", "to": "a"},
                    requires=["handoff"]),
            station("c", {"id": "out", "to": "completed"}),
            station("d", {"id": "up", "when": {"result": "failure"}, "to": "a"}),
        ],
        gates=[{"key": "one", "name": "One", "offers": OFFERS},
               {"key": "own", "name": "Own", "mode": "auto", "checks": {"all": [
                   {"field": "exit_code", "operator": "not_equals", "value": 1}]}}],
        policy={"on_reject": "rework"},
        handoff={"type": "object", "required": ["done"]},
    ),
}  # fmt: skip
OUTCOMES: list[dict[str, Any]] = [
    {"result": "success"},
    {"result": "failure"},
    {"result": "success", "output": {"n": 1, "m": [1]}},
    {"result": "failure", "output": {"n": 2}},
    {"result": "blocked"},
    {"result": "success", "signals": [{"verdict": "rework"}]},
    {"result": "success", "signals": [{"verdict": "proceed"}]},
    {"result": "success", "signals": [{"verdict": "hold", "meta": {"question": "Which?"}}]},
    {"result": "success", "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "c"}}]},
    {"result": "success", "blockers": ["x"]},
    {"result": "success", "signals": [{"verdict": "abort"}]},
]  # fmt: skip

HANDED = [{"result": "success", "exit_code": 0, "handoff": said} for said in ({}, {"done": 1})]
WAITS = ("gates", "to", "rule", "question", "evaluation", "missing", "trigger", "budget", "role", "values")


@pytest.mark.smoke(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", LINES)
def test_a_random_walk_goes_as_the_engine_goes(world: World, name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    version = world.line(LINES[name])
    line = read_line(LINES[name])
    task = world.start(version)
    walk = start_task(line, ScenarioScript("walk", "walk"))
    compare(task, walk)
    for _ in range(25):
        if walk.is_over:
            break
        living = [each for each in walk.positions if each.is_active]
        # A step takes the first of several tokens that stand at one station.
        first = {each.station: each for each in reversed(living)}
        position = rng.choice(list(first.values()))
        step = rng.choice(steps_at(rng, line, walk, position))
        after = walked(line, walk, step)
        token = next(
            each
            for each in leaves(task)
            if each.station == position.station and each.status not in ENDED and "join" not in each.wait
        )
        if after is None:
            with pytest.raises((Conflict, Invalid)):
                do(world, token, step)
        else:
            do(world, token, step)
        walk = after or walk
        compare(task, walk)


def walked(line: ParsedLine, walk: SimulatedTask, step: ScenarioStep) -> SimulatedTask | None:
    """None where the step is refused."""
    try:
        return take_step(line, walk, step).walk
    except StepRefused:
        return None


def steps_at(
    rng: random.Random, line: ParsedLine, walk: SimulatedTask, position: SimulatedPosition
) -> list[ScenarioStep]:
    """What may be tried at a position; not all of it is allowed."""
    at = position.station
    if walk.escalations and rng.random() < 0.5:
        return resolutions(line, walk)
    if position.status == "queued":
        outcomes = [*OUTCOMES, *(HANDED if line.requirements_of(at) else [])]
        by_hand = [
            ScenarioStep("escalate", at, details={"trigger": word})
            for word in ("no_match", "odd")
            if line.escalations
        ]
        return [
            ScenarioStep("outcome", at, outcome=said, missing=lacking(line, at, said)) for said in outcomes
        ] + by_hand
    if position.status == "awaiting_review":
        keys = [key for key in position.wait["gates"] if key not in position.asked.words]  # type: ignore[union-attr]
        offers = ["approve", "send_back", "reject"] if keys == ["@jump"] else OFFERS
        against = [{"decision": word, "reason": rng.choice(["why", "because"])} for word in offers[1:]]
        words = [*[{"decision": "approve"}] * 3, *against]
        return [ScenarioStep("gates", at, gates={rng.choice(keys): word}) for word in words]
    if position.wait.get("evaluation"):
        asked = position.wait["evaluation"]
        return [
            ScenarioStep("answers", at, answers=({**asked, "answer": word, "text": "so"},))
            for word in ("yes", "no")
        ]
    if position.lacks_preconditions:
        return [ScenarioStep("retry", at), ScenarioStep("reconsider", at)]
    return [
        ScenarioStep("retry", at),
        *([ScenarioStep("answer", at, answer="this")] if position.status == "blocked" else []),
    ]


def lacking(line: ParsedLine, at: str, outcome: dict[str, Any]) -> tuple[str, ...]:
    """A walk takes for there what it is not told of; the engine looks for it."""
    return ("handoff",) if "handoff" in line.requirements_of(at) and "handoff" not in outcome else ()


def resolutions(line: ParsedLine, walk: SimulatedTask) -> list[ScenarioStep]:
    routes = [("route", key) for key in line.stations_by_key] + [
        ("choose", key) for key in line.stations_by_key
    ]
    words = [*[("go_on", "")] * 3, *[("retry", "")] * 3, ("cancel", ""), *routes]
    return [
        ScenarioStep(
            "resolve",
            said={"word": word, "reason": "so", "trigger": each.trigger, **({"route": to} if to else {})},
        )
        for each in walk.escalations
        for word, to in words
    ]


def do(world: World, token: Token, step: ScenarioStep) -> None:
    """The same step in the engine."""
    shown = {"user": world.operator, "token_version": token.version}
    if step.kind == "outcome":
        job = Job.objects.exclude(state=Job.State.DONE).get(token=token)
        started = engine.start_claimed_job_or_none(job.pk, world.claim())
        assert started is not None
        assert engine.report([world.report_of(started, step.outcome)])[0].status == "accepted"
    elif step.kind == "gates":
        (gate, word), *_ = step.gates.items()
        visit = GateVisit.objects.get(token=token, state=GateVisit.State.OPEN, gate=gate)
        world.vote(token.task, word["decision"], reason=word.get("reason", ""), visit=visit)
    elif step.kind == "answers":
        engine.answer_blocked_token(
            token.pk, fact=step.answers[0]["answer"], text=step.answers[0]["text"], **shown
        )
    elif step.kind == "answer":
        engine.answer_blocked_token(token.pk, text=step.answer, **shown)
    elif step.kind == "escalate":
        engine.escalate(token.task_id, user=world.operator, trigger=step.said["trigger"], reason="so")
    elif step.kind == "resolve":
        opened = Escalation.objects.filter(task=token.task_id, state="open", trigger=step.said["trigger"])
        said = {key: step.said.get(key, "") for key in ("word", "reason", "route")}
        engine.resolve_escalation(opened.order_by("opened_at", "pk")[0].pk, user=world.admin, **said)
    elif step.kind == "reconsider":
        engine.store_handoff_and_decide_again(token.pk, document={"done": 1}, **shown)
    else:
        engine.move_or_retry_by_hand(token.pk, **shown)


def leaves(task: Task) -> list[Token]:
    """The positions, ended ones too, in the order of the branches."""
    under: dict[int | None, list[Token]] = {}
    for token in Token.objects.filter(task=task).select_related("task").order_by("pk"):
        if token.joined_id is None:
            under.setdefault(token.parent_id, []).append(token)

    def below(token: Token) -> list[Token]:
        if token.status not in ENDED and not token.forked:
            return [token]
        children = under.get(token.pk, [])
        return [leaf for child in children for leaf in below(child)] if children else [token]

    return [leaf for root in under[None] for leaf in below(root)]


def compare(task: Task, walk: SimulatedTask) -> None:
    task.refresh_from_db()
    counted = (task.visits, task.edges, task.rules, task.rounds, task.context, task.variables)
    assert counted == (walk.visits, walk.edges, walk.rules, walk.rounds, walk.context, walk.variables)
    assert (task.status, task.end, task.escalations) == (walk.status, walk.end, len(walk.escalations))
    opened = Escalation.objects.filter(task=task, state="open").values_list(
        "trigger", "role", "station", "rule"
    )
    assert sorted(opened) == sorted((e.trigger, e.role, e.station, e.rule) for e in walk.escalations)
    tokens = [of_token(each) for each in leaves(task)]
    positions = [of_position(each) for each in walk.positions]
    if any(each.joined_id for each in task.tokens.all()):
        # What was merged is no position any more; the order of the branches is not that of the rows then.
        tokens, positions = _living(tokens), _living(positions)
    assert tokens == positions


def _living(positions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((each for each in positions if "reworks" in each), key=repr)


def of_token(token: Token) -> dict[str, Any]:
    last = Job.objects.filter(token=token).order_by("pk").last()
    names = ("station", "status", "error", "end")
    return {
        **{name: getattr(token, name) for name in names},
        "origin": token.origin or None,
        # What came to a join has no job there, and may have ended while it waited.
        "feedback": last.feedback if last and last.station == token.station else "",
        "wait": waits(token.wait),
        **({} if token.status in ENDED else {"reworks": token.signal_reworks}),
    }


def of_position(position: SimulatedPosition) -> dict[str, Any]:
    names = ("station", "status", "error", "end", "origin", "feedback")
    return {
        **{name: getattr(position, name) for name in names},
        "wait": waits(position.wait),
        **({} if position.is_over else {"reworks": position.signal_reworks}),
    }


def waits(said: Mapping[str, Any]) -> dict[str, Any]:
    """`then`: what else holds it, by its trigger; a walk has a number where the engine has a row."""
    also = [each["trigger"] for each in said.get("then", ())]
    return {key: said[key] for key in WAITS if said.get(key)} | ({"then": also} if also else {})
