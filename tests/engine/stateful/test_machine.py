"""The machine, for thousands of steps."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engine.stateful import clock
from tests.engine.stateful.counts import report
from tests.engine.stateful.machine import EngineMachine
from tests.engine.stateful.table import POSSIBLE
from tests.engine.stateful.walk import REACHED

pytestmark = pytest.mark.django_db(transaction=True)
SOAK_STEPS = int(os.environ.get("GATELINE_SOAK_STEPS", "5000"))
LONG = 15


def run(examples: int, steps: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=True,
    )
    run_state_machine_as_test(EngineMachine, settings=chosen)


@pytest.fixture(autouse=True)
def _a_clock_that_can_be_set(transactional_db: None) -> Iterator[None]:
    with clock.installed():
        yield


@pytest.mark.soak
def test_many_thousand_steps_reach_every_pair() -> None:
    """At least so many steps, and on until every pair was reached: that a pair cannot be is a failure, too."""
    EngineMachine.steps = 0
    REACHED.clear()
    try:
        while EngineMachine.steps < SOAK_STEPS or (missing() and EngineMachine.steps < 3 * SOAK_STEPS):
            EngineMachine.wanted, EngineMachine.turn = rarest(), EngineMachine.turn + 1
            run(10, LONG)
    finally:
        EngineMachine.wanted = POSSIBLE
        print(report(EngineMachine.steps, REACHED))
    assert missing() == []


def missing() -> list[tuple[str, str]]:
    return [pair for pair in POSSIBLE if not REACHED[pair]]


def rarest() -> list[tuple[str, str]]:
    """What was not reached yet; then the third of the pairs that was reached least."""
    return missing() or sorted(POSSIBLE, key=lambda pair: REACHED[pair])[: len(POSSIBLE) // 3]
