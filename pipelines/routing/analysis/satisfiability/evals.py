"""Sets of evals: texts that may also have to say, or not to say, certain numbers (law §3, Order)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.satisfiability import numbers, texts
from pipelines.routing.analysis.satisfiability.numbers import Number, NumberSet
from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.analysis.satisfiability.texts import NUMERAL, TextSet
from pipelines.routing.basics.values import json_number_or_none

_NUMERALS = texts.true_and_false_text_sets("matches", NUMERAL)
MAX_TRIED = 200


@dataclass(slots=True, unsafe_hash=True)
class EvalSet:
    """Texts that say a number `within` (None: or no number at all), and none of `outside`."""

    texts: TextSet = texts.ANY
    within: NumberSet | None = None
    outside: NumberSet = numbers.NONE

    def contains(self, text: str) -> bool:
        return self.texts.contains(text) and self._fits_numbers(text)

    def _fits_numbers(self, text: str) -> bool:
        number = json_number_or_none(text)
        if number is None:
            return self.within is None
        return (self.within is None or self.within.contains(number)) and not self.outside.contains(number)

    def intersection(self, other: EvalSet) -> EvalSet:
        within = other.within if self.within is None else self.within
        if self.within is not None and other.within is not None:
            within = self.within.intersection(other.within)
        outside = self.outside.complement().intersection(other.outside.complement()).complement()
        common = EvalSet(self.texts.intersection(other.texts), within, outside)
        if common.texts.only is None:
            return common
        return EvalSet(TextSet(frozenset(text for text in common.texts.only if common._fits_numbers(text))))

    @property
    def is_empty(self) -> bool:
        """Proved empty."""
        if self.texts.is_empty:
            return True
        # A text that says no number escapes `outside`, so emptiness is proved of numerals alone.
        return self._are_only_numerals_left and (
            self._numbers.is_empty or self.texts.intersection(_NUMERALS.yes).is_empty
        )

    @property
    def _are_only_numerals_left(self) -> bool:
        """No text is left but numerals."""
        if self.texts.only is not None:
            return False
        if self.within is not None:
            return True
        return not self.outside.is_empty and self.texts.intersection(_NUMERALS.no).is_empty

    @property
    def _numbers(self) -> NumberSet:
        return (self.within or numbers.ANY).intersection(self.outside.complement())

    def sample_text(self) -> str:
        """A text of the set, which is not proved empty. Raises Unknown where tests and numbers do not meet."""
        if self.within is None and self.outside.is_empty:
            for text in self.texts.samples(1):
                return text
        for tried, text in enumerate(self._candidates()):
            if self.contains(text):
                return text
            if tried > MAX_TRIED:
                break
        raise Unknown("an eval has to be a certain number and a certain text at once")

    def _candidates(self) -> Iterator[str]:
        if self.within is None:
            # A text that says no number is the simplest where none is asked for.
            yield from self.texts.intersection(_NUMERALS.no).samples(3)
        for number in self._numbers.samples():
            yield from _number_spellings(number, len(self.texts.but))
        yield from self.texts.intersection(_NUMERALS.yes).samples(MAX_TRIED)


ANY = EvalSet()


def _number_spellings(number: Number, excluded: int) -> Iterator[str]:
    """More than are excluded: white space around a number changes nothing."""
    yield from (f"{number}" + " " * spaces for spaces in range(excluded + 3))
