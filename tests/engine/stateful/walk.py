"""Doing commands, each held against the table, the invariants, and everything that it must not touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipelines.engine import invariants
from tests.engine.stateful.commands import COMMANDS, Act, Command
from tests.engine.stateful.entries import DECIDED, LOCKED, MISSING, OVER, REVIEW, Entry
from tests.engine.stateful.scene import Scene
from tests.engine.stateful.sight import Sight, Subject
from tests.engine.stateful.states import state_of
from tests.engine.stateful.table import TABLE

Pair = tuple[str, str]
REACHED: Counter[Pair] = Counter()
OVERTAKEN = "review_overtaken"
# By what others of the task may be held, too.
LET_GO = (*MISSING, *LOCKED, "paused", "held_dependency")


@dataclass
class Walk:
    """The model beside the engine: in which state each token is said to be. `model` {token id: state}."""

    scene: Scene
    model: dict[int, str] = field(default_factory=dict)
    sight: Sight = field(default_factory=lambda: Sight({"tokens": []}))
    # Off on a way that was walked and checked before.
    watched: bool = True
    # Whether tasks are migrated once on their way to a state.
    migrates: bool = True
    steps: int = 0

    def submit(self, key: str) -> int:
        token_id = self.scene.submit(key)
        self._settle(self.scene.look())
        assert self.model[token_id] in ("queued", "by_hand", "held_by_pause")
        self._invariants(self.scene.task_ids[-1:])
        return token_id

    def do(self, key: str, token_id: int, **chosen: Any) -> str:
        """Do this command to this token, and check; the state in which it is then."""
        command, before = COMMANDS[key], self.sight
        self.steps += 1
        act = command.act(self.scene, before.subjects[token_id])
        entry = TABLE[key][self.model[token_id]]
        assert act is not None, f"{key} finds nothing to do in {self.model[token_id]}"
        assert entry.verdict != "impossible", f"{key} is possible in {self.model[token_id]}: {entry.why}"
        answer = self._acted(act, chosen)
        after = self.scene.look()
        self.scene.remember(before, after)
        self._said(key, token_id, entry, answer)
        if command.wide:
            for each in before.subjects:
                self._check_one(key, before.subjects[each], after.subjects[each])
        elif command.reach:
            self._check_reach(command, command.reach, before.subjects[token_id], before, after)
        elif command.whole:
            self._check_whole(key, before.subjects[token_id].task["id"], before, after)
        else:
            self._check_narrow(command, entry, token_id, before, after)
        self._settle(after)
        self._invariants(
            [task_id for task_id in self.scene.task_ids if _of(before, task_id) != _of(after, task_id)]
        )
        return self.model[token_id]

    def look_again(self) -> None:
        """After something happened besides the commands."""
        self._settle(self.scene.look())

    def begin_again(self) -> None:
        """With no tasks."""
        self.scene.close()
        self._settle(self.scene.look())

    def possible(self, key: str, token_id: int) -> bool:
        """Whether there is anything to do the command to; never where the table says that it is impossible."""
        found = COMMANDS[key].act(self.scene, self.sight.subjects[token_id]) is not None
        state = self.model[token_id]
        assert not (found and TABLE[key][state].verdict == "impossible"), f"{key} is possible in {state}"
        return found

    # How it is checked

    def _acted(self, act: Act, chosen: dict[str, Any]) -> str:
        self.scene.chosen = chosen
        try:
            return act()
        finally:
            self.scene.chosen = {}

    def _said(self, key: str, token_id: int, entry: Entry, answer: str) -> None:
        state = self.model[token_id]
        assert answer in entry.answer.split(" | "), (
            f"{key} in {state} was answered {answer}, not {entry.answer}"
        )

    def _check_narrow(
        self, command: Command, entry: Entry, token_id: int, before: Sight, after: Sight
    ) -> None:
        state, now = self.model[token_id], self._state(after, token_id)
        REACHED[state, command.key] += 1
        where = f"{command.key} in {state}"
        assert after.moved_from(before) == (entry.verdict == "moves"), f"{where} is not {entry.verdict}"
        assert now in (entry.to or {state}), f"{where} led to {now}"
        if entry.answer == "cut" and entry.verdict == "refused":
            assert after == before, f"{where} left something behind"
        for other in set(before.subjects) - {token_id}:
            self._check_bystander(where, before.subjects[other], after.subjects[other], command.lets_go)
        born = [each for each in after.subjects if each not in before.subjects]
        merged = {each.token["joined_id"] for each in after.subjects.values()}
        born = [each for each in born if each not in merged]
        if not command.lets_go:
            assert all(after.subjects[each].token["parent_id"] == token_id for each in born)
            assert bool(born) == (now == "forked" != state), f"{where} made {len(born)} branches"

    def _check_one(self, key: str, before: Subject, after: Subject, *, whole: bool = False) -> None:
        """One of the tokens to which a wide command was done."""
        state, now = self.model[before.id], state_of(after, self.scene.cast)
        entry = TABLE[key][state]
        REACHED[state, key] += 1
        if _follows(state, now):
            return
        moved = after.as_a_whole != before.as_a_whole if whole else after.still != before.still
        assert moved == (entry.verdict == "moves"), f"{key} in {state}: {entry.verdict}?"
        assert now in (entry.to or {state}), f"{key} in {state} led to {now}"

    def _check_whole(self, key: str, task_id: int, before: Sight, after: Sight) -> None:
        """Every token of a task moves with it, and no other does."""
        for each in before.subjects.values():
            if each.token["task_id"] == task_id:
                self._check_one(key, each, after.subjects[each.id], whole=True)
            else:
                self._check_bystander(key, each, after.subjects[each.id])

    def _check_reach(
        self,
        command: Command,
        reaches: Callable[[Subject, Subject], bool],
        target: Subject,
        before: Sight,
        after: Sight,
    ) -> None:
        """Every position in the scope of what is done, and its task; no other."""
        for other in before.subjects.values():
            if reaches(target, other):
                self._check_one(command.key, other, after.subjects[other.id], whole=True)
            else:
                self._check_bystander(command.key, other, after.subjects[other.id])

    def _check_bystander(self, where: str, before: Subject, after: Subject, lets_go: bool = False) -> None:
        """Nothing happens to others, but that all of a task ends together, and a fork with its last branch. What held
        several positions of a task lets them all go."""
        state, now = self.model[before.id], state_of(after, self.scene.cast)
        if lets_go and state in LET_GO and now in (*DECIDED, state):
            return
        if state == now == "forked" and before.token["wait"] != after.token["wait"]:
            # A join made some of its branches one.
            return
        if state == now or (state in REVIEW and now == OVERTAKEN):
            assert before.still == after.still, f"{where} changed another token, which is {now}"
        else:
            assert now in OVER or _follows(state, now), f"{where} led another token from {state} to {now}"

    def _state(self, sight: Sight, token_id: int) -> str:
        return state_of(sight.subjects[token_id], self.scene.cast)

    def _settle(self, after: Sight) -> None:
        """Nothing moves between two commands."""
        self.sight = after
        self.model = {each: self._state(after, each) for each in after.subjects}

    def _invariants(self, task_ids: list[int]) -> None:
        """Of the tasks of which anything changed: what holds about rows goes on to hold while they stay."""
        violations = invariants.find_violations(task_ids) if task_ids and self.watched else []
        assert not violations, "\n".join(map(str, violations))


def _of(sight: Sight, task_id: int) -> list[Any]:
    """All of a task."""
    task = next((task for task in sight.rows["tasks"] if task["id"] == task_id), None)
    return [task, *(each.still for each in sight.subjects.values() if each.token["task_id"] == task_id)]


def _follows(state: str, now: str) -> bool:
    """A fork ends with its last branch, or goes on as what its branches became at a join; what waits there ends as
    part of that; and a branch is over when its task is."""
    return (state, now) != (now, state) and (
        (state == "forked" and now in DECIDED)
        or (state == "joining" and now in ("ended_branch", *OVER))
        or (state == "ended_branch" and now in OVER)
    )
