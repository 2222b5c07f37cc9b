"""The borders at which reading stops to help, or refuses: one less and one more."""

from __future__ import annotations

import pytest

from pipelines.routing.basics import wording
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.values import kind_phrase
from pipelines.routing.document.document_readers.reader import Problems, Reader, expected_hint, quoted_value
from pipelines.routing.document.paths import PathError, compile_path


def test_a_path_may_have_forty_filters_functions_and_operators_and_not_one_more() -> None:
    compile_path(f"$[?{' || '.join(['@.a'] * 40)}]")
    with pytest.raises(PathError, match=r"more than 40 filters, functions and logical operators"):
        compile_path(f"$[?{' || '.join(['@.a'] * 41)}]")


def test_the_nearest_word_is_looked_for_among_five_hundred() -> None:
    words = [f"{i:03}" for i in range(499)]
    assert expected_hint("needles", [*words, "needle"]) == "did you mean needle?"
    assert expected_hint("needles", [*words, "more", "needle"]).startswith("known: 000, 001, ")
    assert expected_hint("x" * 100 + "y" * 900, ["x" * 100]) == f"did you mean {'x' * 100}?"


def test_twenty_words_are_shown_and_that_there_are_more() -> None:
    words = [f"{i:02}" for i in range(21)]
    assert expected_hint("zz", words[:20]) == f"known: {', '.join(words[:20])}"
    assert expected_hint("zz", words) == f"known: {', '.join(words[:20])}, …"
    assert expected_hint("zz", []) == ""


def test_sixty_characters_of_a_word_are_quoted() -> None:
    assert quoted_value("x" * 60) == f"“{'x' * 60}”"
    assert quoted_value("x" * 61) == f"“{'x' * 60}…”"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        ("x", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_a_value_is_named_with_its_article(value: object, name: str) -> None:
    assert kind_phrase(value) == name


def test_a_text_may_be_as_long_as_is_said_and_a_count_as_small() -> None:
    problems = Problems()
    reader = Reader({"a": "xxx", "b": "xxxx", "c": 1, "d": 0, "e": "  "}, "p", problems)
    assert (reader.text("a", longest=3), reader.text("b", longest=3)) == ("xxx", "xxxx")
    assert (reader.count("c", least=1), reader.count("d", least=1), reader.count("f", 7)) == (1, None, 7)
    assert reader.text("e", required=True) == "  "
    reader.text("g", required=True)
    reader.note_unknown_keys()
    assert problems.found == [
        Problem("p.b", "is longer than 3 characters"),
        Problem("p.d", "has to be a whole number, 1 or more"),
        Problem("p.e", "is empty"),
        Problem("p.g", "is missing"),
    ]


def test_a_key_that_nobody_asked_for_is_unknown_whatever_it_is() -> None:
    problems = Problems()
    reader = Reader({"knwon": 1, 3: 1}, "", problems)
    assert reader.raw("known", 5) == 5
    reader.note_unknown_keys()
    assert problems.found == [
        Problem("knwon", "unknown key", "did you mean known?"),
        Problem('["3"]', "unknown key", "known: known"),
    ]
    assert [wording.people_text(each.hint) for each in problems.found] == [
        "did you mean known?",
        "known: known",
    ]


def test_what_is_no_object_is_told_once() -> None:
    problems = Problems()
    reader = Reader([], "p[0]", problems)
    assert reader.text("a", required=True) == ""
    assert reader.count("b") is None
    reader.note_unknown_keys()
    assert problems.found == [Problem("p[0]", "has to be an object, not an array")]
