"""Conditions as closures say what the conditions themselves say, at the cost of as many steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed, NotAnswered
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute, forced_route
from pipelines.routing.document.algebra import ConditionView
from pipelines.routing.document.line import read_line
from tests.routing.interpreter.generator import case

SEEDS = 120
FEW = 7
"""Steps: not enough for every condition."""


def asked(
    test: Callable[[ConditionView], bool], view: ConditionView, left: int
) -> tuple[Any, int, str | None]:
    """What comes out, the steps that are left, and the text of an evaluation."""
    own = replace(view, steps=EvaluationBudget(left), saw=[], text=None)
    try:
        said: Any = test(own)
    except (EvaluationFailed, NotAnswered) as error:
        said = repr(error)
    return said, own.steps.left, own.text


def test_every_readable_rule_is_tested_as_its_condition_is() -> None:
    came_out = set()
    for seed in range(SEEDS):
        document, given = case(seed)
        line = read_line(json.loads(json.dumps(document)), keep_faulty_rules=True)
        made = RoutingContext(line, read_situation(given))
        for route in (
            TakenRoute(made.recorded),
            forced_route("failure", "gate"),
            forced_route("blocked", "fallback"),
        ):
            view = made.condition_view(route)
            for rule in made.station.rules_above_first_faulty:
                for left in (1_000, FEW):
                    said = asked(rule.test, view, left)
                    assert said == asked(rule.when.test, view, left), (seed, rule.id)
                    came_out.add(said[0])
    assert {True, False} < came_out  # and at least one that ends without either
