"""A rework at the gate of a fallback's rule, where the output of the station could not be read."""

from __future__ import annotations

import pytest

from tests.api.conftest import Apis, gate_path
from tests.factories import World, station

pytestmark = pytest.mark.django_db


def test_a_rework_leaves_no_task_stuck_on_output_that_was_no_json(world: World, api: Apis) -> None:
    asked = {"id": "asked", "when": {"result": "blocked"}, "to": "ship", "gates": ["g"]}
    high = {"id": "high", "when": {"output": {"path": "$.high", "op": "gt", "value": 0}}, "to": "ship"}
    rest = {"id": "rest", "when": {"result": "failure"}, "to": "fix"}
    gate = {"key": "g", "mode": "manual", "offers": ["approve", "rework"]}
    version = world.line(stations=[station("build", asked, high, rest), "ship", "fix"], gates=[gate])
    task = world.start(version)
    world.report(task, {"result": "blocked", "output_error": "not JSON"})
    answer = api.as_(world.reviewer).post(gate_path(task, "g"), {"action": "rework", "reason": "Not yet."})
    assert answer.status_code == 200, answer.json()
    job = world.job(task)
    assert (job.station, job.feedback) == ("fix", "Not yet.")
