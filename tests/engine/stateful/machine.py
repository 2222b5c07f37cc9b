"""Anything in any order: a Hypothesis rule machine over the lines, the states and the commands."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.lines import LINES
from tests.engine.stateful.people import Cast
from tests.engine.stateful.routes import ROUTES
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.table import TABLE
from tests.engine.stateful.walk import Walk
from tests.factories import make_world

MOST_TASKS = 4


class EngineMachine(RuleBasedStateMachine):
    """A project of its own for each example; what is found in it is checked after every step."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        world = make_world()
        self.walk = Walk(Scene(world, Cast(world)))

    @initialize(key=st.sampled_from(sorted(LINES)))
    def begin(self, key: str) -> None:
        self.walk.submit(key)

    @precondition(lambda self: len(self.walk.scene.task_ids) < MOST_TASKS)
    @rule(key=st.sampled_from(sorted(LINES)))
    def submit(self, key: str) -> None:
        self.walk.submit(key)

    @precondition(lambda self: len(self.walk.scene.task_ids) < MOST_TASKS)
    @rule(state=st.sampled_from(sorted(ROUTES)))
    def arrive(self, state: str) -> None:
        """A task that has come a long way; where other tasks stand, they stay."""
        ROUTES[state](self.walk)

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        self._do(data, "moves")

    @rule(data=st.data())
    def move_again(self, data: st.DataObject) -> None:
        """Twice as often as what is refused."""
        self._do(data, "moves")

    @rule(data=st.data())
    def be_refused(self, data: st.DataObject) -> None:
        self._do(data, "refused")

    def _do(self, data: st.DataObject, verdict: str) -> None:
        token_id = data.draw(st.sampled_from(sorted(self.walk.model)))
        state = self.walk.model[token_id]
        possible = [key for key in COMMANDS if self.walk.possible(key, token_id)]
        wanted = [key for key in possible if TABLE[key][state].verdict == verdict]
        if not wanted:
            return
        self.walk.scene.pick = lambda name, options: data.draw(st.sampled_from(options), name)
        self.walk.do(data.draw(st.sampled_from(wanted), state), token_id)

    @invariant()
    def every_step_counts(self) -> None:
        type(self).steps += 1

    def teardown(self) -> None:
        self.walk.scene.close()
