"""Anything in any order: a Hypothesis rule machine over the lines, the states and the commands."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.engine.stateful.commands import COMMANDS
from tests.engine.stateful.lines import LINES
from tests.engine.stateful.people import Cast
from tests.engine.stateful.routes import route_to
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.table import POSSIBLE, TABLE
from tests.engine.stateful.walk import Walk
from tests.factories import make_world

MOST_TASKS = 4
AT_ONCE = 8
# That a line changes leaves its tasks where they are: only aimed at.
MOVING = [key for key in COMMANDS if key != "publish"]


class EngineMachine(RuleBasedStateMachine):
    """A project of its own for each example; what is found in it is checked after every step."""

    steps: ClassVar[int] = 0
    # The pairs aimed at: the same ones during one run of Hypothesis, so that it can do a run again.
    wanted: ClassVar[list[tuple[str, str]]] = POSSIBLE
    turn: ClassVar[int] = 0
    aims = 0

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

    @rule(seed=st.integers(0, 2**32))
    def aim(self, seed: int) -> None:
        """At what is wanted in one state: some commands that are refused there, then one that moves, at a token that is
        in it, else at one that gets there now. Chosen by a dice, another one for each aim: Hypothesis takes small and
        repeated numbers far too often for hundreds of pairs."""
        self.aims += 1
        dice = Random(f"{self.turn} {self.aims} {seed}")
        self.walk.scene.pick = lambda name, options: dice.choice(options)
        state, wanted = dice.choice(self.wanted)
        keys = [key for wanted, key in self.wanted if wanted == state]
        refused = [key for key in keys if TABLE[key][state].verdict == "refused"]
        moving = [key for key in keys if key not in refused]
        token = self._at(state, wanted, dice)
        # What is wanted is among them, and what moves comes last.
        some = dice.sample(refused, min(len(refused), AT_ONCE)) + [wanted] * (wanted in refused)
        for key in some + (
            [wanted] if wanted in moving and dice.random() < 0.5 else dice.sample(moving, min(len(moving), 1))
        ):
            if self.walk.model[token] == state and self.walk.possible(key, token):
                self.walk.do(key, token)

    def _at(self, state: str, wanted: str, dice: Random) -> int:
        there = [token for token, now in sorted(self.walk.model.items()) if now == state]
        if there and dice.random() < 0.5:
            return dice.choice(there)
        # On the way there work begins, which it does not under a pause
        if len(self.walk.scene.task_ids) >= MOST_TASKS or self.walk.scene.is_paused():
            self.walk.begin_again()
        return route_to(state, wanted)(self.walk)

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """Anything that moves anything."""
        moving = [
            (token, key)
            for token, state in sorted(self.walk.model.items())
            for key in MOVING
            if TABLE[key][state].verdict == "moves" and self.walk.possible(key, token)
        ]
        if moving:
            self.walk.scene.pick = lambda name, options: data.draw(st.sampled_from(options), name)
            token, key = data.draw(st.sampled_from(moving), "moving")
            self.walk.do(key, token)

    @invariant()
    def every_step_counts(self) -> None:
        type(self).steps += self.walk.steps
        self.walk.steps = 0

    def teardown(self) -> None:
        self.walk.scene.close()
