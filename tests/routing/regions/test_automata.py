"""Patterns as automata agree with RE2 on drawn texts; intersections are empty only where nothing is found."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.analysis.satisfiability.automata import search_automaton
from pipelines.routing.analysis.satisfiability.search_failures import Unknown
from pipelines.routing.analysis.satisfiability.texts import NUMERAL, TextSet, TextTest
from pipelines.routing.basics.values import json_number_or_none

PATTERNS = (
    *("^ok$", "o", "[0-9]+", "^$", "fail|x", "(?i)OK", "a.c", "^(ab|a)*c?$", "[^a-c]", r"\w+\s\d", "a{2,3}b"),
    *(
        "(?:a|b){2}",
        "x*$",
        "^a|b$",
        r"\.",
        "a+?b",
        "[a-]",
        "[]a]",
        "(?i)[K-S]",
        r"\Aab\z",
        "^^a",
        "a$|^b",
        "()",
        "a||b",
    ),
)
texts = st.text(alphabet="abckoOK019 .xs\n\u212a\u017f-]", max_size=7)


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=60, deadline=None, database=None)
@given(text=texts)
def test_an_automaton_accepts_what_re2_finds(pattern: str, text: str) -> None:
    automaton = search_automaton(pattern)
    state = automaton.initial_state_or_none()
    for character in text:
        state = automaton.step(state, character)
    assert automaton.accepts(state) == (re2.search(pattern, text) is not None)


@pytest.mark.parametrize(
    "pattern", [r"\bx", r"\pL", "(?s).", "(?P<n>a)", "[[:alpha:]]", "(?i)é", "x{2", r"(?i)\w"]
)
def test_outside_the_subset_nothing_is_claimed(pattern: str) -> None:
    with pytest.raises(Unknown):
        search_automaton(pattern)


@settings(max_examples=80, deadline=None, database=None)
@given(text=st.text(alphabet=" \t\u2003-+0123.eEx", max_size=7))
def test_the_pattern_of_numerals_is_the_law_of_numbers(text: str) -> None:
    assert TextTest("matches", NUMERAL).is_true_of_text(text) == (json_number_or_none(text) is not None)


kinds = st.sampled_from(["contains", "starts_with", "ends_with"])
tests = st.frozensets(
    st.tuples(st.builds(TextTest, kinds, st.text(alphabet="ab", max_size=3)), st.booleans()),
    min_size=1,
    max_size=4,
)


@settings(max_examples=80, deadline=None, database=None)
@given(wanted=tests, text=st.text(alphabet="abx", max_size=6))
def test_no_text_is_in_a_set_that_is_said_to_be_empty(
    wanted: frozenset[tuple[TextTest, bool]], text: str
) -> None:
    among = TextSet(tests=wanted)
    assert not (among.is_empty and among.contains(text))
    assert all(among.contains(sample) for sample in among.samples(5))
    assert among.is_empty == (not list(among.samples(1)))
