"""The list of docs/lint/undecided.md, line by line: what it says is always decided is, what may be unknown can be."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from pipelines.formats import native
from pipelines.routing.analysis.satisfiability.effort import limiting_effort
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import UNKNOWN
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from tests.routing.regions.proving import UNITS
from tests.routing.regions.support import analysed, both, output, without

PAGE = (Path(__file__).parents[3] / "docs" / "lint" / "undecided.md").read_text()
FLAGS = {"flags": {"agentic_conditions": True}}
When = dict[str, Any]


def rows(heading: str) -> dict[str, list[When]]:
    """The name of each line below a heading, with its examples."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [" ".join(line.split()) for line in re.split(r"^- ", part, flags=re.MULTILINE)[1:]]
    return {
        _name(line): [native.loads(each) for each in re.findall(r"`(\{[a-z_]+:.*?)`", line)] for line in lines
    }


def _name(line: str) -> str:
    found = re.match(r"\*\*(.*?)\*\*", line)
    assert found, line
    return found.group(1)


ALWAYS, MAY_BE = rows("What is always decided"), rows("What may stay unknown")
EVERY = [(name, when) for name, whens in ALWAYS.items() for when in whens]


def unknown(analysis: FirstMatchAnalysis) -> list[str]:
    """Why anything about the station is not known."""
    with limiting_effort(UNITS):
        whys = [standing.why for standing in analysis.rule_liveness]
        rests = [analysis.outcomes_no_rule_takes(standing) for standing in STANDINGS]
    return [why for why in whys if why] + [rest.why for rest in rests if rest and rest.why]


def test_the_list_is_read_whole() -> None:
    assert len(ALWAYS) == 13
    assert len(MAY_BE) == 7
    assert all(ALWAYS.values())
    assert [name for name, whens in MAY_BE.items() if not whens] == ["Numbers"]
    assert len(EVERY) > 50


@pytest.mark.parametrize(("name", "when"), EVERY)
def test_what_is_listed_is_decided_by_itself(name: str, when: When) -> None:
    assert unknown(analysed(when, without(when), {"always": True}, **FLAGS)) == []
    assert unknown(analysed(both(when, without(when)), **FLAGS)) == []


@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", ALWAYS)
def test_what_is_listed_is_decided_with_everything_else_that_is(name: str) -> None:
    pairs = [(a, b) for (first, a), (second, b) in combinations(EVERY, 2) if name in (first, second)]
    for one, other in pairs:
        if not (_is_text_of_eval(one) and _is_number_of_eval(other)):
            rules = (both(one, other), both(one, without(other)), one, other)
            assert unknown(analysed(*rules, **FLAGS)) == [], (one, other)


def _is_text_of_eval(when: When) -> bool:
    return when.get("eval", {}).get("op") in ("contains", "not_contains", "starts_with", "ends_with")


def _is_number_of_eval(when: When) -> bool:
    return when.get("eval", {}).get("op") in ("gt", "gte", "lt", "lte", "range")


@pytest.mark.parametrize(("name", "when"), [(name, when) for name, whens in MAY_BE.items() for when in whens])
def test_what_may_stay_unknown_does_and_says_why(name: str, when: When) -> None:
    """An example that is decided belongs into the other list."""
    standing = analysed(when).rule_liveness[0]
    assert standing.status == UNKNOWN
    assert standing.why


def test_between_two_numbers_of_very_many_digits_none_is_looked_for() -> None:
    low = 10**450
    assert unknown(analysed(output("k", "gt", low))) == []
    assert unknown(analysed(both(output("k", "gt", low), output("k", "lt", low + 1)))) != []
