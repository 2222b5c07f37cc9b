"""The published schema and the readers agree on drawn documents: the full one, changed at up to three places."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from pipelines.formats.native import json_schema
from pipelines.routing.document.line import DocumentError, read_line
from tests.routing.test_reading import FULL
from tests.routing.test_schema import BY_REFERENCE, KNOWN_GAPS

VALIDATOR = jsonschema_rs.validator_for(json_schema())
DRAWN, SEEDS = 100, 20
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2.5,
        3.0,
        "",
        "x",
        "Big Key",
        "none",
        "yes",
        "qa",
        "completed",
        "human-review",
    ),
    *(
        "5m",
        "soon",
        [],
        {},
        ["a"],
        [1],
        ["qa", "qa"],
        {"a": 1},
        {"to": "qa"},
        "limit:3",
        "station:qa",
        "@origin",
    ),
    *("x" * 70, "x" * 200, 101, 10**9),
)
# What only the readers know, besides what the faulty documents of `test_refusals` show.
ONLY_READ = (*BY_REFERENCE.split("|"), *KNOWN_GAPS, ".handoff.")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place but the whole."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, member in members:
        yield (*path, step)
        yield from places(member, (*path, step))


def drawn(chance: random.Random) -> dict[str, Any]:
    document = copy.deepcopy(FULL)
    for _ in range(chance.randint(1, 3)):
        *way, last = chance.choice(list(places(document)))
        parent: Any = document
        for step in way:
            parent = parent[step]
        if chance.random() < 0.7:
            parent[last] = copy.deepcopy(chance.choice(VALUES))
        elif isinstance(parent, dict) and chance.random() < 0.5:
            parent[f"{last}s"] = parent.pop(last)
        else:
            del parent[last]
    return document


@pytest.mark.smoke(2)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_readers_and_schema_agree_on_drawn_documents(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(DRAWN):
        document = drawn(chance)
        valid = VALIDATOR.is_valid(document)
        try:
            line = read_line(document)
        except DocumentError as error:
            told = [str(problem) for problem in error.problems]
            assert not valid or all(any(words in each for words in ONLY_READ) for each in told), told
        else:
            assert valid, document
            assert read_line(line.to_document()) == line
            assert VALIDATOR.is_valid(line.to_document())
