"""The database's clock is set back while tasks are under way: each task's own time still goes on."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from pipelines.engine.invariants import find_violations
from tests.engine.stateful import clock
from tests.factories import World, document

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_clock_that_is_set_back_does_not_turn_a_history_around(world: World) -> None:
    with clock.installed():
        task = world.start(world.line(document()))
        for back in (1, 2):
            clock.set_ahead(timedelta(hours=-back))
            world.report(task)
        task.refresh_from_db()
        events = list(task.events.order_by("seq"))
        assert all(one.at <= next_.at for one, next_ in pairwise(events))
        assert task.ended_at == events[-1].at > events[0].at
        assert find_violations([task.pk]) == []
