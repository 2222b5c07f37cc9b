"""Sets of texts: finite, or all but some that satisfy tests. Closed under meet; emptiness decided by automata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from pipelines.routing.analysis.satisfiability.automata import (
    MAX_PRODUCT,
    Automaton,
    ContainsAutomaton,
    PrefixAutomaton,
    TextListAutomaton,
    accepted_texts,
    search_automaton,
)
from pipelines.routing.analysis.satisfiability.effort import EffortExhausted, spend_effort
from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.document.operators import OUTPUT, compile_pattern

# U+3000 is the last white space that `str.strip` takes off.
_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
NUMERAL = rf"^[{_SPACES}]*-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?[{_SPACES}]*$"
"""Every text that says a JSON number, stripped of white space, matches it, and no other does."""


@dataclass(slots=True, unsafe_hash=True)
class TextTest:
    """`kind`: contains, starts_with, ends_with, matches."""

    kind: str
    text: str

    def is_true_of_text(self, text: str) -> bool:
        if self.kind == "contains":
            return self.text in text
        if self.kind == "starts_with":
            return text.startswith(self.text)
        if self.kind == "ends_with":
            return text.endswith(self.text)
        return _pattern(self.text).search(text) is not None

    def automaton(self) -> Automaton:
        if self.kind == "starts_with":
            return PrefixAutomaton(self.text)
        if self.kind == "matches":
            return search_automaton(self.text)
        return ContainsAutomaton(self.text, at_end=self.kind == "ends_with")


_pattern = lru_cache(maxsize=2_000)(compile_pattern)


@dataclass(slots=True, unsafe_hash=True)
class TextSet:
    """`only` of them, or all but `but` for which each test is as its sign says."""

    only: frozenset[str] | None = None
    but: frozenset[str] = frozenset()
    tests: frozenset[tuple[TextTest, bool]] = frozenset()

    def contains(self, text: str) -> bool:
        if self.only is not None:
            return text in self.only
        return text not in self.but and all(test.is_true_of_text(text) == sign for test, sign in self.tests)

    def intersection(self, other: TextSet) -> TextSet:
        if self is other or other is ANY:
            return self
        if self is ANY:
            return other
        spend_effort((len(self.only or ()) + len(other.only or ()) + len(self.but) + len(other.but)) // 8)
        if self.only is not None:
            return TextSet(frozenset(t for t in self.only if other.contains(t)))
        if other.only is not None:
            return TextSet(frozenset(t for t in other.only if self.contains(t)))
        return TextSet(None, self.but | other.but, self.tests | other.tests)

    @property
    def is_empty(self) -> bool:
        """Proved empty; what is beyond the bounds is not."""
        if self.only is not None:
            return not self.only
        # Without tests all texts but a few are left.
        return bool(self.tests) and _is_empty(self.but, self.tests)

    def samples(self, most: int = 20) -> Iterator[str]:
        """Texts of the set, the simplest first; none means empty. Raises Unknown."""
        if self.only is not None:
            yield from sorted(self.only, key=lambda text: (len(text), text))
        elif not self.tests:
            yield from islice((text for text in _plain_texts() if text not in self.but), most)
        elif most == 1:
            sample = _first_text_or_none(self.but, self.tests)
            yield from () if sample is None else (sample,)
        else:
            yield from islice(_matching_texts(self.but, self.tests), most)


ANY = TextSet()
NONE = TextSet(frozenset())


def _plain_texts() -> Iterator[str]:
    yield from ("other", "")
    number = 1
    while True:
        number += 1
        yield f"other {number}"


def _matching_texts(but: frozenset[str], tests: frozenset[tuple[TextTest, bool]]) -> Iterator[str]:
    if any(len(test.text) > MAX_PRODUCT for test, _ in tests):
        raise Unknown("a text is longer than the bound")
    spend_effort(sum(len(test.text) for test, _ in tests) // 5)
    parts: list[tuple[Automaton, bool]] = [(TextListAutomaton(but), False)] if but else []
    parts += [(test.automaton(), sign) for test, sign in sorted(tests, key=repr)]
    for text in accepted_texts(parts):
        if text in but or not all(test.is_true_of_text(text) == sign for test, sign in tests):
            raise Unknown("an automaton and RE2 differ")
        yield text


@lru_cache(maxsize=20_000)
def _first_text_or_none(but: frozenset[str], tests: frozenset[tuple[TextTest, bool]]) -> str | None:
    """None: there is none. Raises Unknown."""
    return next(_matching_texts(but, tests), None)


@lru_cache(maxsize=20_000)
def _is_empty(but: frozenset[str], tests: frozenset[tuple[TextTest, bool]]) -> bool:
    try:
        return _first_text_or_none(but, tests) is None
    except EffortExhausted:
        raise  # not to be remembered: the next one may ask with more to spend
    except Unknown:
        return False


@dataclass(slots=True, unsafe_hash=True)
class TextSetPair:
    """A test and its opposite as sets."""

    yes: TextSet
    no: TextSet


def true_and_false_text_sets(kind: str, text: str) -> TextSetPair:
    pattern = OUTPUT[kind].pattern
    test = TextTest("matches", pattern(text)) if pattern else TextTest(kind, text)
    return TextSetPair(TextSet(tests=frozenset([(test, True)])), TextSet(tests=frozenset([(test, False)])))


def text_sets_of_list(texts: frozenset[str]) -> TextSetPair:
    return TextSetPair(TextSet(texts), TextSet(None, texts))
