"""The published JSON Schema agrees with the readers: what they accept it accepts; unknown keys it refuses."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from pipelines.formats.native import json_schema
from pipelines.routing.document.line import DocumentError, read_line
from tests.routing import (
    test_refusals,
    test_refusals_of_conditions,
    test_refusals_of_gates,
    test_refusals_of_rules,
    test_refusals_of_stations,
)
from tests.routing.support import document
from tests.routing.test_reading import FULL
from tests.routing.test_rules import FAULTS

VALIDATOR = jsonschema_rs.validator_for(json_schema())
FAULTY = [
    faulty
    for module in (
        test_refusals,
        test_refusals_of_stations,
        test_refusals_of_rules,
        test_refusals_of_conditions,
        test_refusals_of_gates,
    )
    for faulty, _ in module.FAULTY
]


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all objects in a document."""
    if isinstance(value, dict):
        yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, member in members:
        yield from objects(member, (*path, step))


FREE = {"extra", "env", "default", "handoff"}


@pytest.mark.parametrize("path", list(objects(FULL)))
def test_an_unknown_key_is_refused_everywhere_but_under_extra(path: tuple[Any, ...]) -> None:
    changed = copy.deepcopy(FULL)
    place = changed
    for step in path:
        place = place[step]
    free = FREE.intersection(path)
    place["unknown-key"] = "x"
    assert VALIDATOR.is_valid(changed) is bool(free)
    assert _reads(changed) is bool(free)


def _reads(of: Any) -> bool:
    try:
        read_line(of)
    except DocumentError:
        return False
    return True


def test_the_full_document_and_the_complete_one_are_valid() -> None:
    assert VALIDATOR.is_valid(FULL)
    assert VALIDATOR.is_valid(read_line(FULL).to_document())


BY_REFERENCE = (
    "the line has no|leads to stations|twice|share one|exists always|nest at most|JSONPath|pattern|range|"
    "at most 1 for|smaller than the minimum"
)


@pytest.mark.parametrize("faulty", FAULTY)
def test_what_the_schema_lets_through_only_the_readers_can_know(faulty: Any) -> None:
    if not _is_json(faulty) or not VALIDATOR.is_valid(faulty):
        return
    with pytest.raises(DocumentError) as caught:
        read_line(faulty)
    for problem in caught.value.problems:
        assert any(words in str(problem) for words in [*BY_REFERENCE.split("|"), *KNOWN_GAPS]), problem


KNOWN_GAPS = (
    "spaces",
    "a choice lists",
    "names no station",
    "ten years",
    "has to be fail",
    "has to be a text, not",
    "is longer than",
    "has more than",
    "an environment is names and texts",
    ".id: is empty",  # nothing but spaces
)


def _is_json(value: Any) -> bool:
    text = str(value)
    return "\\x00" not in text and "\\udfff" not in text and "nan" not in text


@pytest.mark.parametrize("rule", FAULTS)
def test_a_faulty_rule_is_refused_by_the_readers_where_the_schema_cannot(rule: dict[str, Any]) -> None:
    of = document({"rules": [{"id": "r1", "to": "b", **rule}]}, {}, gates=[{"key": "g"}])
    assert not _reads(of)


def test_whatever_the_readers_accept_the_schema_accepts() -> None:
    for policy in (
        {"failure_rules": False},
        {"visit_cap": 1},
        {"on_failure": "station:a"},
        {"revisit": "limit:0"},
    ):
        of = document({}, policy=policy)
        assert _reads(of)
        assert VALIDATOR.is_valid(of), policy
