"""A station is analysed once, and again only when something that it depends on has changed."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.lint import station_analysis
from pipelines.routing.analysis.lint.rule_liveness import liveness_of_all_stations
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.lint.support import DOCS, examples
from tests.routing.support import line

PAGES = sorted(page.stem for page in DOCS.glob("*.md") if page.stem != "README")


def analysed(of: ParsedLine) -> int:
    """How many stations are analysed anew."""
    before = station_analysis._cached_analysis.cache_info().misses
    lint_line(of)
    return station_analysis._cached_analysis.cache_info().misses - before


def three(**more: Any) -> ParsedLine:
    rules = [
        {"id": f"r{n}", "when": {"eval": {"op": "equals", "value": "study"}}, "to": "b"} for n in range(3)
    ]
    stations = [{"rules": [rule]} for rule in rules]
    stations[1] |= more
    return line(*stations)


def test_an_edit_of_one_station_analyses_that_one_again() -> None:
    station_analysis._cached_analysis.cache_clear()
    assert analysed(three()) == 3
    assert analysed(three()) == 0
    edited = {"rules": [{"id": "r1", "when": {"eval": {"op": "equals", "value": "edited"}}, "to": "c"}]}
    assert analysed(three(**edited)) == 1


def test_an_edit_of_what_a_decision_never_reads_analyses_nothing() -> None:
    lint_line(three())
    assert analysed(three(work={"kind": "manual", "instructions": "other words"})) == 0


@pytest.mark.parametrize("check", PAGES)
def test_an_excerpt_says_the_same_as_the_whole_line(check: str) -> None:
    for of in examples(check):
        subject = LintSubject(of)
        for station in of.stations:
            whole = FirstMatchAnalysis(of, station)
            part = subject.analysis(station)
            assert part.standings == whole.rule_liveness
            assert {s: part.outcomes_no_rule_takes(s) for s in STANDINGS} == {
                s: whole.outcomes_no_rule_takes(s) for s in STANDINGS
            }


def test_a_large_station_is_bounded_and_what_is_not_known_says_so() -> None:
    rules = [
        {"id": f"r{n}", "when": {"output": {"path": f"$.k{n}", "op": "gt", "value": n}}, "to": "completed"}
        for n in range(1_000)
    ]
    [station] = liveness_of_all_stations(LintSubject(line({"rules": rules})))
    assert len(station.rules) == 1_000
    assert station.rules[0].standing == "live"
    assert {rule.why for rule in station.rules if rule.standing == "unknown"} == {
        "it would take more work than the bounds allow"
    }


@pytest.mark.wide
def test_what_deciding_costs_counts_too_where_many_paths_have_to_be_walked() -> None:
    paths = [{"output": {"path": f"$..a[?@.b=={n}]", "op": "contains", "value": "x"}} for n in range(20)]
    rules = [{"id": f"r{n}", "when": {"any": paths}, "to": "completed"} for n in range(40)]
    [station] = liveness_of_all_stations(LintSubject(line({"rules": rules})))
    bounded = [rule for rule in station.rules if rule.why == "it would take more work than the bounds allow"]
    assert len(bounded) > 30


def test_a_station_of_the_stage_of_another_is_studied_without_it() -> None:
    """The standard budgets of a preset count over stages that the excerpt does not have."""
    staged = read_line(
        {
            "gateline": 1,
            "key": "staged",
            "preset": "aeef",
            "stations": [
                {"key": "fix", "stage": "scan", "work": {"kind": "noop"},
                 "rules": [{"id": "fixed", "to": "@origin"}]},
                {"key": "write", "work": {"kind": "noop"}, "rules": [{"id": "on", "to": "scan"}]},
                {"key": "scan", "work": {"kind": "noop"},
                 "rules": [{"id": "bad", "when": {"verdict": "fail"}, "to": "fix"}, {"id": "good", "to": "completed"}]},
            ],
        }
    )  # fmt: skip
    assert [each.status for each in LintSubject(staged).analysis(staged.station("fix")).standings] == ["live"]
