"""What lint says of one document, as a value: counted, with further problems, with its places in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pipelines.routing.__main__ import lint_report
from pipelines.routing.analysis.lint.examination import Examination, examine_line, unreadable_examination
from pipelines.routing.basics.problems import Problem
from tests.routing.support import ruled

LINE = ruled(
    {"label": "All"},
    {"when": {"result": "failure"}, "to": "c"},
    gates=[{"key": "g"}],
)


def numbered(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Every path at a line of its own, in the order in which they are asked."""
    return tuple(replace(each, line=10 + number, column=number) for number, each in enumerate(problems))


def test_what_is_found_is_counted_by_severity() -> None:
    found = examine_line(LINE)
    assert found.counts() == {"error": 1, "warning": 1, "info": 0}
    assert [each.check for each in found.errors] == ["dead-rule"]
    assert [each.path for each in found.problems] == ["stations[0].rules[1]"]
    assert (found.problems[0].message, found.problems[0].hint) == (
        found.errors[0].message,
        found.errors[0].hint,
    )


def test_further_problems_come_after_the_errors_and_before_the_rest() -> None:
    found = examine_line(LINE)
    more = found.with_problems([Problem("gates[0]", "There is nobody.", "Invite somebody.")])
    assert [each.check for each in more.findings][:2] == ["dead-rule", "not-publishable"]
    assert more.findings[2:] == tuple(each for each in found.findings if each.severity != "error")
    assert (more.findings[1].path, more.findings[1].message, more.findings[1].hint) == (
        "gates[0]",
        "There is nobody.",
        "Invite somebody.",
    )
    assert more.counts()["error"] == 2


def test_every_finding_station_and_rule_gets_its_own_place() -> None:
    found = examine_line(LINE)
    asked: list[str] = []

    def locate(problems: Iterable[Problem]) -> tuple[Problem, ...]:
        given = list(problems)
        asked.extend(each.path for each in given)
        return numbered(given)

    placed = found.with_positions(locate)
    count = len(found.findings)
    assert asked[:count] == [each.path for each in found.findings]
    assert asked[count:] == [
        "stations[0]",
        "stations[0].rules[0]",
        "stations[0].rules[1]",
        "stations[1]",
        "stations[2]",
    ]
    assert [(each.line, each.column) for each in placed.findings] == [(10 + n, n) for n in range(count)]
    first, second, third = placed.stations
    assert (first.place, first.rules[0].place, first.rules[1].place) == (
        (10 + count, count),
        (11 + count, 1 + count),
        (12 + count, 2 + count),
    )
    assert (second.place, third.place) == ((13 + count, 3 + count), (14 + count, 4 + count))


def test_what_knows_its_place_keeps_it() -> None:
    known = unreadable_examination(
        [Problem("key", "is missing", line=3, column=4), Problem("name", "is no text")]
    )
    placed = known.with_positions(numbered)
    assert [(each.line, each.column) for each in placed.findings] == [(3, 4), (11, 1)]


def test_plain_data_says_everything() -> None:
    found = examine_line(LINE)
    said = found.to_dict()
    assert (said["line"], said["readable"], said["counts"]) == ("line", True, found.counts())
    assert said["findings"] == [each.to_dict() for each in found.findings]
    assert said["visits"] == dict(found.visits) and set(said["visits"]) >= {"a", "b"}
    assert [each["station"] for each in said["stations"]] == ["a", "b", "c"]
    dead = said["stations"][0]["rules"][1]
    assert (dead["rule"], dead["standing"], dead["killers"], dead["witness"]) == ("r2", "dead", ["r1"], None)
    assert (dead["shadowed_by"], dead["after_rework"], dead["why"]) == ([], None, "")
    assert said["stations"][0]["rules"][0]["witness"]["situation"]["station"] == "a"


def test_what_cannot_be_read_has_findings_alone() -> None:
    found = unreadable_examination([Problem("key", "is missing")])
    assert found.line is None
    assert found.to_dict() == {
        "line": None,
        "readable": False,
        "counts": {"error": 1, "warning": 0, "info": 0},
        "findings": [each.to_dict() for each in found.findings],
        "visits": {},
        "stations": [],
        "guarantees": [],
    }
    assert isinstance(found, Examination)


def test_a_report_shows_the_example_as_it_was_written() -> None:
    other = {"not": {"output": {"path": "ä", "op": "equals", "value": "ö"}}}
    text = lint_report(examine_line(ruled({"when": other, "to": "c"})))
    assert "\n    for example {" in text
    assert '"ä": "ö"' in text


def test_what_cannot_be_decided_has_no_example() -> None:
    for station in examine_line(LINE).stations:
        for each in station.untaken:
            assert (each.then == "") == (each.witness is None)
