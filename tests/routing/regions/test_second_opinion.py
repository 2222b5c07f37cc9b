"""An SMT solver says the same: which rules are dead, which share, and what no rule takes.

What it cannot express, or gives up on, is counted as not expressed, never as agreement.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import DEAD, LIVE
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from tests.routing.regions import second_opinion
from tests.routing.regions.drawing import (
    COUNTS,
    PATTERNS,
    evals_as_number,
    evals_as_text,
    nested,
    of_the_outcome,
    outputs,
)
from tests.routing.regions.second_opinion import NotExpressed, Opinion
from tests.routing.support import ruled

SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 1.5, 2, -1, "", "a", "ab", "ba", "1", "aab"])
keys = st.sampled_from(["k", "m"])


def _made(path: str, op: str, value: Any) -> dict[str, Any]:
    return {"output": {"path": path, "op": op, "value": value}}


of_scalars = st.one_of(
    st.builds(_made, keys, st.sampled_from(["equals", "not_equals", "contains", "not_contains"]), SCALARS),
    st.builds(_made, keys, st.sampled_from(["gt", "gte", "lt", "lte"]), st.sampled_from([-1, 0, 1, 1.5, 2])),
    st.builds(
        _made, keys, st.sampled_from(["starts_with", "ends_with"]), st.sampled_from(["", "a", "ab", "b"])
    ),
    st.builds(_made, keys, st.just("matches"), st.sampled_from(sorted(second_opinion.PATTERNS))),
    st.builds(_made, keys, st.sampled_from(["in", "not_in"]), st.lists(SCALARS, max_size=3)),
    st.builds(_made, keys, st.just("type"), st.sampled_from(second_opinion.KINDS[1:])),
    st.builds(lambda k, op: {"output": {"path": k, "op": op}}, keys, st.sampled_from(["exists", "missing"])),
    outputs(("k", "m"), PATTERNS),
)


def drawn_rules(leaves: int) -> Any:
    evals = st.sampled_from([evals_as_text, evals_as_number])
    atoms = evals.map(lambda evals: st.one_of(of_scalars, of_scalars, of_scalars, of_the_outcome, evals))
    return atoms.flatmap(lambda each: st.lists(nested(each, leaves), min_size=2, max_size=8))


def agree(rules: list[dict[str, Any]], failure_rules: bool, counted: Counter[str]) -> None:
    """Raises AssertionError where the two differ."""
    policy = {} if failure_rules else {"failure_rules": "no"}
    of = ruled(*({"when": when} for when in rules), policy=policy)
    analysis = FirstMatchAnalysis(of, of.station("a"))
    counted["stations"] += 1
    try:
        opinion = Opinion(rules, failure_rules=failure_rules)
    except NotExpressed:
        counted["stations not expressed"] += 1
        return
    for index, standing in enumerate(analysis.rule_liveness):
        taken = _asked(counted, "rules", opinion.takes, index)
        assert taken in (None, standing.status != DEAD), (standing, rules)
        counted["dead"] += taken is False
        if standing.status != DEAD:
            shared = _asked(counted, "overlaps", opinion.shares, index)
            assert shared in (None, standing.status != LIVE), (standing, rules)
    for name in STANDINGS:
        left = _asked(counted, "rests", opinion.leaves, name)
        assert left in (None, analysis.outcomes_no_rule_takes(name) is not None), (name, rules)


def _asked(counted: Counter[str], what: str, ask: Any, about: Any) -> bool | None:
    try:
        answer: bool = ask(about)
    except NotExpressed:
        counted[f"{what} not expressed"] += 1
        return None
    counted[f"{what} agreed"] += 1
    return answer


def test_the_solver_agrees() -> None:
    counted: Counter[str] = Counter()

    @settings(max_examples=40, deadline=None, database=None)
    @given(rules=drawn_rules(3), failure_rules=st.booleans())
    def hold(rules: list[dict[str, Any]], failure_rules: bool) -> None:
        agree(rules, failure_rules, counted)

    hold()
    assert counted["rules agreed"] > counted["rules not expressed"], counted
    assert counted["dead"] > 0


@pytest.mark.soak
def test_the_solver_agrees_widely(capsys: pytest.CaptureFixture[str]) -> None:
    counted: Counter[str] = Counter()

    @settings(
        max_examples=int(os.environ.get("GATELINE_SOAK_OPINIONS", "2000")),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(rules=drawn_rules(5), failure_rules=st.booleans())
    def hold(rules: list[dict[str, Any]], failure_rules: bool) -> None:
        agree(rules, failure_rules, counted)

    hold()
    with capsys.disabled():
        print("\n" + ", ".join(f"{count:,} {what}" for what, count in sorted(counted.items())))
    assert counted["rules agreed"] > counted["rules not expressed"]


def test_the_translation_knows_nothing_of_the_product() -> None:
    assert not re.findall(r"^\s*(?:from|import) (?:pipelines|tests)", _source(), re.MULTILINE)


def _source() -> str:
    return Path(second_opinion.__file__).read_text()


def test_every_count_operator_is_translated() -> None:
    for op in COUNTS:
        value = [1] if op in ("in", "not_in") else 1
        when = {"output": {"path": "k", "op": op, "of": "count", "value": value}}
        assert Opinion([when], failure_rules=True).takes(0) in (True, False)
