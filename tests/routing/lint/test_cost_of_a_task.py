"""cost-of-a-task"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from pipelines.routing.analysis.lint.cost import CostBound, cost_bound_or_none
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import READY, start_task
from pipelines.routing.simulate.walk_steps import StepRefused, take_step
from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line

STEP = Decimal("0.2")


def capped(cost: Any, *rules: Any, **more: Any) -> dict[str, Any]:
    return {"limits": {"cost_usd": cost, **more}, "rules": list(rules)}


def again(to: str, **more: Any) -> dict[str, Any]:
    return {"id": f"to-{to}", "when": {"result": "failure"}, "to": to, **more}


def bound(of: ParsedLine) -> CostBound:
    known = cost_bound_or_none(LintSubject(of))
    assert known is not None
    return known


def test_the_page_is_right() -> None:
    finding = the_page_is_right("cost-of-a-task")
    assert finding.message == (
        "at most $50.00 a task, and one reported step more a run, because implement runs at most 100 times at $0.50"
    )
    assert "implement → review → implement has no limit of its own" in finding.hint


def test_runs_times_caps_and_never_more_than_the_task() -> None:
    stations = (capped(2, again("a", max_retries=3)), capped(0.25), {})
    assert (bound(line(*stations)).amount, bound(line(*stations)).runs) == (Decimal("9"), 8)
    [told] = found("cost-of-a-task", line(*stations, limits={"cost_usd": 41.5}))
    assert "a runs at most 4 times at $2.00; b runs at most 4 times at $0.25" in told.message
    [told] = found("cost-of-a-task", line(*stations, limits={"cost_usd": 5}))
    assert told.message.startswith("at most $5.00 a task") and "the limit of a task" in told.message


def test_branches_side_by_side_are_bounded_each_by_the_task_and_not_together() -> None:
    fork = {"rules": [{"id": "f", "to": ["b", "c"]}]}
    end = {"rules": [{"id": "e", "to": "completed"}]}
    of = line(fork, {**capped(3), **end, "limits": {"cost_usd": 3}}, capped(1), limits={"cost_usd": 2})
    assert bound(of).amount == Decimal(3)


def test_lines_without_a_price_are_told_nothing() -> None:
    assert found("cost-of-a-task", line({}, {}, limits={"cost_usd": 5})) == []


def agent(**more: Any) -> dict[str, Any]:
    return {"work": {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open"}, **more}


def test_an_agent_without_a_limit_is_named_and_one_that_costs_nothing_is_not() -> None:
    [told] = found("cost-of-a-task", line({}, {"name": "Implement", **agent()}))
    assert (told.severity, told.station) == ("warning", "b")
    assert told.message == "nothing limits what Implement, and so a task, may cost"
    assert bound(line(agent(), {}, limits={"cost_usd": 2})).amount == Decimal(2)
    assert found("cost-of-a-task", line({"work": {"kind": "agent", "agent": "codemod"}})) == []


def test_the_cost_of_an_agent_that_reports_no_price_is_unknown_whatever_limits_it() -> None:
    codex = {"kind": "agent", "agent": "codex", "prompt": "Do it.", "network": "open"}
    limited = {"limits": {"cost_usd": 1}}
    of = line({}, {"name": "Implement", "work": codex, **limited}, limits={"cost_usd": 5})
    [told] = found("cost-of-a-task", of)
    assert (told.severity, told.message) == (
        "warning",
        "what Implement costs is unknown: its agent reports no price",
    )
    assert bound(of).amount is None
    priced = {"name": "Implement", "work": {**codex, "price_in": 1.25, "price_out": 10}, **limited}
    assert bound(line({}, priced, limits={"cost_usd": 5})).amount == Decimal(1)


def made(seed: int) -> ParsedLine:
    """Stations in a row with ways back, some with caps, some without a limit of the task."""
    random = Random(seed)
    stations: list[dict[str, Any]] = []
    for at in range(4):
        back = again("abcd"[random.randint(0, at)], max_retries=random.randint(0, 3))
        free = random.choice([{}, {"max_visits": random.randint(1, 4)}])
        stations.append(capped(random.choice([0, 0.3, 1]), {**back, "id": f"r{at}"}, **free))
    more = {"limits": {"cost_usd": random.choice([0.5, 1, 3])}} if random.random() < 0.6 else {}
    return line(*stations, **more, preset=random.choice(["alp", "contenox", "flux"]))


def spent(of: ParsedLine, random: Random) -> Decimal:
    """Of a walk in which each run costs at most what it may, and the step in which that was passed."""
    walk, total = start_task(of, ScenarioScript("walk", "Walk")), Decimal()
    for _step in range(60):
        position = next((each for each in walk.positions if each.status == READY), None)
        if position is None:
            break
        cap = Decimal(str(of.station(position.station).limits.cost_usd))
        if of.limits.cost_usd is not None:
            cap = min(cap, max(Decimal(str(of.limits.cost_usd)) - total, Decimal()))
        cost = random.choice([cap, cap + STEP, cap / 2])
        outcome = {"result": random.choice(["failure", "failure", "success"])}
        facts = {"usage": {"cost_usd": float(cost), "price": "reported"}}
        try:
            walk = take_step(of, walk, ScenarioStep("outcome", outcome={**outcome, "facts": facts})).walk
        except StepRefused:
            break
        total += cost
    return total


def over(seeds: range, walks: int) -> list[int]:
    """Lines of which a walk passed the bound."""
    wrong = []
    for seed in seeds:
        of, random = made(seed), Random(f"walks {seed}")
        most = bound(of)
        assert most.amount is not None
        limit = most.amount + most.runs * STEP
        wrong += [seed for _walk in range(walks) if spent(of, random) > limit]
    return wrong


def test_no_random_walk_passes_the_bound() -> None:
    assert over(range(20), 10) == []


@pytest.mark.soak
def test_ten_thousand_random_walks_never_pass_the_bound() -> None:
    assert over(range(500), 20) == []
