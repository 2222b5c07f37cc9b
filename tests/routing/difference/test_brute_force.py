"""Against brute force: where nothing differs thousands of outcomes are decided equally; what is shown differs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.analysis.difference.compare import Difference, line_difference
from pipelines.routing.document.line import ParsedLine
from tests.routing.difference.drawing import GATE, conditions, rules, situations
from tests.routing.difference.support import routed
from tests.routing.support import ruled

POLICIES = st.sampled_from(
    [
        {},
        {"failure_rules": "no"},
        {"condition_scope": "merged"},
        {"no_match": "fallback"},
        {"on_failure": "station:b"},
        {"revisit": "limit:1"},
    ]
)
EFFECTS = st.sampled_from(
    [
        {"to": "c"},
        {"to": "failed"},
        {"to": "@blocked"},
        {"to": ["b", "c"]},
        {"max_retries": 1},
        {"gates": []},
        {"feedback": True},
        {"gates": ["g"]},
        {"compose": [{"var": "x", "path": "$.k"}]},
    ]
)


@st.composite
def changed(draw: Any, drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rules with up to three changes."""
    new = [dict(rule) for rule in drawn]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(new) - 1))
        match draw(st.sampled_from(["swap", "when", "effect", "drop", "label"])):
            case "swap":
                new.insert(draw(st.integers(0, len(new) - 1)), new.pop(at))
            case "when":
                new[at] = {**new[at], "when": draw(conditions)}
            case "effect":
                new[at] = {**new[at], **draw(EFFECTS)}
            case "drop" if len(new) > 1:
                new.pop(at)
            case _:
                new[at] = {**new[at], "label": "Another"}
    return new


@st.composite
def pairs(draw: Any) -> tuple[ParsedLine, ParsedLine]:
    drawn = [{"id": f"r{i}", **rule} for i, rule in enumerate(draw(rules), 1)]
    drawn = [{**rule, **draw(st.one_of(st.just({}), EFFECTS))} for rule in drawn]
    old = draw(POLICIES)
    new = draw(st.one_of(st.just(old), st.just(old), POLICIES))
    return (
        ruled(*drawn, policy=old, gates=[GATE]),
        ruled(*draw(changed(drawn)), policy=new, gates=[GATE]),
    )


def hard(count: int, seed: int) -> Any:
    """Situations of the analysis, some of them with output that is not JSON, spent budgets and visits."""
    for index, (outcome, facts) in enumerate(situations(count, seed)):
        yield outcome, facts
        if index % 5 == 0:
            bare = {key: value for key, value in outcome.items() if key != "output"}
            yield {**bare, "output_error": "not JSON"}, facts
        if index % 5 == 1:
            yield outcome, {**facts, "rules": {f"r{n}": 1 + index % 3 for n in range(1, 7)}}
        if index % 5 == 2:
            yield outcome, {**facts, "visits": {"b": 2, "c": 1}, "open_escalations": index % 2}


def holds_against(old: ParsedLine, new: ParsedLine, count: int) -> Difference:
    found = line_difference(old, new)
    for each in (*found.changes, *(each for each in found.structure if each.sample)):
        given = each.sample.situation
        assert routed(old, given) != routed(new, given)
    if found.verdict == "none":
        for outcome, facts in hard(count, len(old.station("a").rules)):
            given = {"station": "a", "outcome": outcome, "facts": facts}
            assert routed(old, given) == routed(new, given), given
    return found


@settings(max_examples=40, deadline=None, database=None)
@given(pair=pairs())
def test_none_is_true_of_every_outcome_tried_and_every_sample_differs(
    pair: tuple[ParsedLine, ParsedLine],
) -> None:
    holds_against(*pair, 200)


@pytest.mark.soak
@settings(max_examples=1_500, deadline=None, database=None)
@given(pair=pairs())
def test_none_is_true_of_every_outcome_tried_widely(pair: tuple[ParsedLine, ParsedLine]) -> None:
    holds_against(*pair, 1_500)
