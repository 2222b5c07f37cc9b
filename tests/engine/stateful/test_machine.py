"""The machine: a little of it in every test run, a lot in the soak."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engine.stateful import clock
from tests.engine.stateful.counts import report
from tests.engine.stateful.machine import EngineMachine
from tests.engine.stateful.table import POSSIBLE
from tests.engine.stateful.walk import REACHED

pytestmark = pytest.mark.django_db(transaction=True)
SOAK_STEPS = int(os.environ.get("GATELINE_SOAK_STEPS", "10000"))
LONG = 40


def run(examples: int, steps: int, *, seeded: bool) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=seeded,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=True,
    )
    with clock.installed():
        run_state_machine_as_test(EngineMachine, settings=chosen)


def test_nothing_breaks_in_any_order(transactional_db: None) -> None:
    run(5, 15, seeded=True)


@pytest.mark.soak
def test_many_thousand_steps_reach_every_pair(transactional_db: None) -> None:
    EngineMachine.steps = 0
    REACHED.clear()
    try:
        while EngineMachine.steps < SOAK_STEPS:
            EngineMachine.wanted = rarest()
            run(10, LONG, seeded=False)
    finally:
        print(report(EngineMachine.steps, REACHED))
    assert [pair for pair in POSSIBLE if not REACHED[pair]] == []


def rarest() -> list[tuple[str, str]]:
    """The third of the pairs that was reached least so far."""
    return sorted(POSSIBLE, key=lambda pair: REACHED[pair])[: len(POSSIBLE) // 3]
