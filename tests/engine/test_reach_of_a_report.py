"""Reach of a report that moves its task on: files and functions of the product, and SQL statements."""

from __future__ import annotations

import pytest

from pipelines import engine
from tests.factories import World
from tests.tracing import Trace, traced

pytestmark = pytest.mark.django_db
FILES, FUNCTIONS, STATEMENTS = 45, 225, 11


def _report(world: World) -> Trace:
    task = world.start(world.line(stations=["build", "test", "ship"]))
    report = world.report_of(world.started(task))
    return traced(lambda: engine.report([report]))


def test_a_report_goes_a_straight_way(world: World) -> None:
    _report(world)
    trace = _report(world)
    assert len(trace.files) <= FILES, "\n".join(sorted(trace.files))
    assert len(trace.functions) <= FUNCTIONS
    assert len(trace.statements) <= STATEMENTS, "\n".join(trace.statements)
