"""Texts that satisfy several tests at once: a product of small automata, walked breadth first.

The alphabet is symbolic: the characters that any test can tell apart are grouped, one stands for each group.
What cannot be stored (NUL, half surrogate pairs) is no character here. So an empty product is a proof.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any, Protocol

from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.analysis.satisfiability.regex import END, MAX_CHARACTER, START, Nfa, compile_nfa
from pipelines.routing.analysis.satisfiability.search_failures import Unknown

MAX_PRODUCT = 4_000
"""States of one product; beyond it the answer is unknown."""

STEP_OF_SEARCH = 8
"""What one step of a pattern costs, where one of a text costs 1."""
MAX_LISTED = 4_000_000
"""Characters of all beginnings of the texts of one list."""
MAX_REMEMBERED = 20_000
"""Of the states that a pattern's search goes through, per pattern: a megabyte or so."""

# Characters of witnesses, the preferred ones first
_PLEASANT = "xabcdefghijklmnopqrstuvwyz0123456789 -_.,:ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Automaton(Protocol):
    """Deterministic: states are hashable values."""

    def initial_state_or_none(self) -> Hashable: ...

    def step(self, state: Any, character: str) -> Hashable: ...

    def accepts(self, state: Any) -> bool: ...

    def code_points_where_behaviour_changes(self) -> set[int]:
        """Return where a group of like characters may begin: every group border of this automaton."""
        ...


class ContainsAutomaton:
    """`contains`, by the failure links of Knuth, Morris and Pratt; `at_end`: ends with it."""

    def __init__(self, text: str, *, at_end: bool = False) -> None:
        self.text, self.at_end = text, at_end
        self.links = _failure_links(text)

    def initial_state_or_none(self) -> int:
        return 0

    def step(self, state: int, character: str) -> int:
        if state == len(self.text):
            if not self.at_end:
                return state
            state = self.links[state]
        while state > 0 and (state == len(self.text) or self.text[state] != character):
            state = self.links[state]
        return state + 1 if self.text[state : state + 1] == character else state

    def accepts(self, state: int) -> bool:
        return state == len(self.text)

    def code_points_where_behaviour_changes(self) -> set[int]:
        return _text_borders(self.text)


def _failure_links(text: str) -> list[int]:
    # `links[n]`: length of the longest proper prefix of text[:n] that is also its suffix
    links = [0, 0]
    for end in range(1, len(text)):
        length = links[end]
        while length and text[length] != text[end]:
            length = links[length]
        links.append(length + 1 if text[length] == text[end] else 0)
    return links


class PrefixAutomaton:
    """`starts_with`; the state is how much was read, or -1: lost."""

    def __init__(self, text: str) -> None:
        self.text = text

    def initial_state_or_none(self) -> int:
        return 0

    def step(self, state: int, character: str) -> int:
        if state in (-1, len(self.text)):
            return state
        return state + 1 if self.text[state] == character else -1

    def accepts(self, state: int) -> bool:
        return state == len(self.text)

    def code_points_where_behaviour_changes(self) -> set[int]:
        return _text_borders(self.text)


class TextListAutomaton:
    """Automaton of listed texts; the state is what was read as long as a text begins so, else None."""

    def __init__(self, texts: frozenset[str]) -> None:
        # The beginnings of a text of n characters have about n² / 2 characters together.
        if sum(len(text) ** 2 for text in texts) > MAX_LISTED:
            raise Unknown("the texts that are left out are longer than the bound")
        self.texts = texts
        self.beginnings = {text[:end] for text in texts for end in range(len(text) + 1)}

    def initial_state_or_none(self) -> str | None:
        return "" if self.texts else None

    def step(self, state: str | None, character: str) -> str | None:
        after = None if state is None else state + character
        return after if after in self.beginnings else None

    def accepts(self, state: str | None) -> bool:
        return state in self.texts

    def code_points_where_behaviour_changes(self) -> set[int]:
        return set().union(*map(_text_borders, self.texts))


MATCHED = "matched"


class SearchAutomaton:
    """`matches`: the states of an NFA that a search may be in; MATCHED once it has found something.

    What follows on what is worked out once: the same few steps are asked for in one product after the other.
    """

    def __init__(self, nfa: Nfa) -> None:
        self.nfa = nfa
        self._after: dict[tuple[Any, str], Hashable] = {}
        self._remembered = 0

    def initial_state_or_none(self) -> Hashable:
        return self._closed_state_or_matched(frozenset([self.nfa.start]), first=True)

    def step(self, state: Any, character: str) -> Hashable:
        if state == MATCHED:
            return state
        known = self._after.get((state, character))
        if known is None:
            known = self._step(state, character)
            self._remember(state, character, known)
        return known

    def _remember(self, state: Any, character: str, after: Hashable) -> None:
        # The numbers of a state's set, and 4 for the rest of the entry
        self._remembered += 4 + len(state[0])
        if self._remembered > MAX_REMEMBERED:
            self._after.clear()
            self._remembered = 0
        self._after[state, character] = after

    def _step(self, state: Any, character: str) -> Hashable:
        code = ord(character)
        moved = {
            target
            for source in state[0]
            for ranges, target in self.nfa.moves[source]
            if any(low <= code <= high for low, high in ranges)
        }
        # `matches` searches anywhere: a match may begin at every character (law §3).
        return self._closed_state_or_matched(frozenset(moved | {self.nfa.start}), first=False)

    def _closed_state_or_matched(self, states: frozenset[int], *, first: bool) -> Hashable:
        closed = self._closure(states, {"", START} if first else {""})
        return MATCHED if self.nfa.final in closed else (closed, first)

    def _closure(self, states: frozenset[int], passing: set[str]) -> frozenset[int]:
        reached, todo = set(states), list(states)
        while todo:
            for where, target in self.nfa.free[todo.pop()]:
                if where in passing and target not in reached:
                    reached.add(target)
                    todo.append(target)
        return frozenset(reached)

    def accepts(self, state: Any) -> bool:
        if state == MATCHED:
            return True
        states, first = state
        # Of an empty text the end is the start, too.
        return self.nfa.final in self._closure(states, {"", END, START} if first else {"", END})

    def code_points_where_behaviour_changes(self) -> set[int]:
        return {
            border
            for moves in self.nfa.moves
            for ranges, _ in moves
            for low, high in ranges
            for border in (low, high + 1)
        }


def _text_borders(text: str) -> set[int]:
    return {border for character in text for border in (ord(character), ord(character) + 1)}


@lru_cache(maxsize=300)
def search_automaton(pattern: str) -> SearchAutomaton:
    """Raises Unknown outside the subset of RE2."""
    return SearchAutomaton(compile_nfa(pattern))


def distinguishing_characters(automata: list[Automaton]) -> list[str]:
    """Return one storable character for each group that the automata can tell apart, pleasant ones first."""
    # 1 leaves out NUL; 0xD800 to 0xDFFF are the surrogates. Neither can be stored.
    return _one_character_per_group(
        frozenset(
            {1, 0xD800, 0xE000}.union(*(a.code_points_where_behaviour_changes() for a in automata)) - {0}
        )
    )


@lru_cache(maxsize=2_000)
def _one_character_per_group(of: frozenset[int]) -> list[str]:
    borders = sorted(of)
    groups = [
        (low, (borders[i + 1] if i + 1 < len(borders) else MAX_CHARACTER + 1) - 1)
        for i, low in enumerate(borders)
        if low <= MAX_CHARACTER and not 0xD800 <= low <= 0xDFFF
    ]
    chosen = [_preferred_character(low, high) for low, high in groups if low <= high]
    return sorted(chosen, key=lambda c: (_PLEASANT.find(c) < 0, _PLEASANT.find(c), c))


def _preferred_character(low: int, high: int) -> str:
    return next((c for c in _PLEASANT if low <= ord(c) <= high), chr(low))


def _step_cost(automaton: Automaton) -> int:
    """Return the cost of one step, in the units of `effort`; the failure links of a long text may be many."""
    if isinstance(automaton, SearchAutomaton):
        return STEP_OF_SEARCH
    return 1 + len(automaton.text) // 100 if isinstance(automaton, ContainsAutomaton) else 1


class _ProductPart:
    """Part of a product: an automaton. What it says of a state is the same wherever the state stands in the
    product."""

    def __init__(self, automaton: Automaton, sign: bool, letters: list[str]) -> None:
        self.automaton, self.sign = automaton, sign
        borders = sorted(automaton.code_points_where_behaviour_changes())
        # One automaton tells fewer letters apart than the whole product does.
        self.groups = [bisect_right(borders, ord(letter)) for letter in letters]
        self.one_of_each = dict(zip(self.groups, letters, strict=True))
        self._rows: dict[Any, list[Hashable]] = {}
        self._verdicts: dict[Any, bool] = {}

    def states_after(self, state: Any) -> list[Hashable]:
        """The states after each letter; letters of one group lead to the same."""
        row = self._rows.get(state)
        if row is None:
            step = self.automaton.step
            by_group = {group: step(state, letter) for group, letter in self.one_of_each.items()}
            row = self._rows[state] = [by_group[group] for group in self.groups]
        return row

    def is_satisfied(self, state: Any) -> bool:
        verdict = self._verdicts.get(state)
        if verdict is None:
            verdict = self._verdicts[state] = self.automaton.accepts(state) == self.sign
        return verdict


def accepted_texts(parts: list[tuple[Automaton, bool]]) -> Iterator[str]:
    """Texts that each automaton accepts where its sign is true and refuses where it is false, shortest first.

    One for each state of the product, so: none means that there is none. Raises Unknown beyond the bound.
    """
    automata = [automaton for automaton, _ in parts]
    letters = distinguishing_characters(automata)
    cost = len(letters) * sum(map(_step_cost, automata))
    product = [_ProductPart(automaton, sign, letters) for automaton, sign in parts]
    first = tuple(automaton.initial_state_or_none() for automaton in automata)
    visited = {first}
    queue = deque([(first, "")])
    if _are_satisfied(product, first):
        yield ""
    while queue:
        states, text = queue.popleft()
        spend_effort(cost)
        rows = [part.states_after(state) for part, state in zip(product, states, strict=True)]
        for letter, after in zip(letters, zip(*rows, strict=True), strict=True):
            if after not in visited:
                if len(visited) >= MAX_PRODUCT:
                    raise Unknown("the texts that are left need an automaton beyond the bound")
                visited.add(after)
                queue.append((after, text + letter))
                if _are_satisfied(product, after):
                    yield text + letter


def _are_satisfied(product: list[_ProductPart], states: tuple[Any, ...]) -> bool:
    return all(part.is_satisfied(state) for part, state in zip(product, states, strict=True))
