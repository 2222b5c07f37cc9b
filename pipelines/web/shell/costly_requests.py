"""Requests that cost much take turns, so that nobody holds up others: linting, saving and importing documents, trying
and comparing lines. Each person has one turn to look, and one to save; together they have no more than leaves
connections to the database for plain pages. Who saves comes before who looks, and one turn is left for it. Each person
has so much time of the processor. In one process; several have as much each.

How long one such request can take at most is bounded where the work is done: by the size of documents
(`routing/basics/values.py`), by what reading tells (`routing/document/document_readers/reader.py`) and by counted work
(`routing/analysis/satisfiability/effort.py`)."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.conf import settings
from django.db import connection

from pipelines.access import Who
from pipelines.errors import Refused
from pipelines.models import ApiToken

OF_ONE = 1
"""Requests of one person at a time that look, and as many that save."""
PATIENCE = 5.0
"""Seconds for which a request waits for its turn."""
WINDOW = 120.0
"""Seconds over which the time of a person is counted."""


class TurnRefused(Refused):
    says = "You have too many requests running at once. Wait until they finish, then try again."

    def __init__(self, detail: str, seconds: float) -> None:
        super().__init__(detail)
        self.seconds = max(1, round(seconds))


@dataclass
class TurnLimiter:
    """`at_once`: requests of everybody. `budget`: seconds of the processor for each person in `WINDOW`; 0: any."""

    at_once: int
    budget: float
    _changed: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _running: Counter[tuple[str, bool]] = field(default_factory=Counter, repr=False)
    """By person, and whether they save."""
    _waiting_to_save: int = 0
    _spent: defaultdict[str, deque[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(deque), repr=False
    )

    @contextmanager
    def taking_turn(
        self, person: str, before_waiting: Callable[[], object] = lambda: None, saves: bool = False
    ) -> Iterator[None]:
        """Hold a turn while the block runs. `before_waiting` is called once if there is no turn yet, to release
        what others may need.

        Raises TurnRefused: no turn within `PATIENCE`, or the person's processor time is used up."""
        self._check_budget(person)
        turn = person, saves
        if not self._try_take(turn):
            before_waiting()
            self._wait_for_turn(turn)
        # Time of the processor in this thread: waiting for the database costs nothing.
        began = time.thread_time()
        try:
            yield
        finally:
            self._release(turn, time.thread_time() - began)

    def _check_budget(self, person: str) -> None:
        now = time.monotonic()
        with self._changed:
            spent = self._spent[person]
            while spent and spent[0][0] <= now - WINDOW:
                spent.popleft()
            if not self.budget or sum(cost for _, cost in spent) < self.budget:
                # So the table does not grow with everybody who ever asked.
                if not spent:
                    del self._spent[person]
                return
            wait = spent[0][0] + WINDOW - now
        raise TurnRefused("You have used the computing time that one person has. Try again in a while.", wait)

    def _try_take(self, turn: tuple[str, bool]) -> bool:
        with self._changed:
            return self._try_take_locked(turn)

    def _try_take_locked(self, turn: tuple[str, bool]) -> bool:
        _person, saves = turn
        looking = sum(count for (_other, saving), count in self._running.items() if not saving)
        if self._running[turn] >= OF_ONE:
            return False
        if saves:
            # At least two: who saves never waits for a single one who looks.
            is_free = self._running.total() < max(2, self.at_once)
        else:
            is_free = not self._waiting_to_save and self._running.total() < self.at_once
            # One turn is left for who saves.
            is_free = is_free and looking < max(1, self.at_once - 1)
        if is_free:
            self._running[turn] += 1
        return is_free

    def _wait_for_turn(self, turn: tuple[str, bool]) -> None:
        _person, saves = turn
        with self._changed:
            self._waiting_to_save += saves
            try:
                if self._changed.wait_for(lambda: self._try_take_locked(turn), PATIENCE):
                    return
            finally:
                # Also where the wait was in vain: who looks was held up by it.
                self._waiting_to_save -= saves
                self._changed.notify_all()
        raise TurnRefused("", PATIENCE)

    def _release(self, turn: tuple[str, bool], cost: float) -> None:
        person, _saves = turn
        with self._changed:
            self._running[turn] -= 1
            self._running += Counter()  # drops those at zero
            self._spent[person].append((time.monotonic(), cost))
            self._changed.notify_all()


_turns = TurnLimiter(settings.COSTLY_AT_ONCE, settings.COSTLY_SECONDS)


@contextmanager
def taking_turn(who: Who, *, saves: bool = False) -> Iterator[None]:
    """Hold a turn for an expensive request of this person or machine token while the block runs. Raises

    TurnRefused."""
    with _turns.taking_turn(_requester_key(who), _release_connection, saves):
        yield


def _requester_key(who: Who) -> str:
    if isinstance(who, ApiToken) and who.user_id is None:
        return f"token {who.pk}"
    return f"person {who.user_id if isinstance(who, ApiToken) else who.pk}"


def _release_connection() -> None:
    """Give back the connection while waiting: others need it."""
    # Closed in a transaction it would lose what was done there.
    if not connection.in_atomic_block:
        connection.close()
