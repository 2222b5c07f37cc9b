"""unbounded-cycle"""

from __future__ import annotations

from typing import Any

from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.visits import max_entries_by_station
from pipelines.routing.document.line import read_line
from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    finding = the_page_is_right("unbounded-cycle")
    assert "work → fix" in finding.message
    assert "has no limit (only the cap of 100 visits)" in finding.message


def test_a_budget_on_the_way_bounds_the_cycle() -> None:
    loop = {"id": "x", "when": {"result": "failure"}, "to": "a"}
    assert found("unbounded-cycle", line({"rules": [loop]}, preset="contenox")) != []
    assert found("unbounded-cycle", line({"rules": [{**loop, "max_retries": 2}]}, preset="contenox")) == []
    assert found("unbounded-cycle", line({"rules": [loop]}, preset="alp")) == []
    assert found("unbounded-cycle", line({"rules": [loop]}, preset="vibe-factory")) == []


def test_visits_are_bounded_by_what_leads_there() -> None:
    loop = {"id": "x", "when": {"result": "failure"}, "to": "a", "max_retries": 2}
    assert max_entries_by_station(
        LintSubject(line({"rules": [loop]}, {}, {"limits": {"max_visits": 1}}))
    ) == {
        "a": 3,
        "b": 3,
        "c": 1,
    }


def test_a_cap_without_end_costs_no_time_and_each_cycle_is_told_apart() -> None:
    def to(target: str) -> dict[str, Any]:
        return {"id": f"to-{target}", "when": {"result": "failure"}, "to": target}

    of = line(
        {"rules": [to("b")]},
        {"rules": [to("a")]},
        {"rules": [to("d")]},
        {"rules": [to("c")]},
        policy={"visit_cap": 1_000_000_000},
    )
    assert [f.message.partition(" has no limit")[0] for f in found("unbounded-cycle", of)] == [
        "a → b → a",
        "c → d → c",
    ]
    assert max_entries_by_station(LintSubject(of))["a"] == 1_000_000_000


def test_a_long_way_backwards_is_counted_exactly() -> None:
    stations = [
        {"key": f"s{n}", "rules": [{"id": f"r{n}", "to": f"s{n - 1}" if n else "completed"}]}
        for n in range(400)
    ]
    of = read_line({"gateline": 1, "key": "x", "start": "s399", "stations": stations})
    assert set(max_entries_by_station(LintSubject(of)).values()) == {1}


def test_stations_are_called_by_their_names() -> None:
    of = line(
        {"name": "Build", "rules": [{"id": "on", "to": "b"}]},
        {"name": "Repair", "rules": [{"id": "back", "to": "a"}]},
        policy={"visit_cap": 7},
    )
    [told] = found("unbounded-cycle", of)
    assert told.message == "Build → Repair → Build has no limit (only the cap of 7 visits)"
