"""unknown-station"""

from __future__ import annotations

import pytest

from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line, ruled

PATHS = ("$.stations.zz.tests", "$['stations'][\"zz\"].tests", "stations.zz.tests", "$.stations.zz")


def test_the_page_is_right() -> None:
    assert the_page_is_right("unknown-station").path == "stations[0].rules[0].when"


@pytest.mark.parametrize("path", PATHS)
def test_each_way_to_write_a_station_is_read(path: str) -> None:
    when = {"not": {"fact": {"path": path, "op": "exists"}}}
    [finding] = found("unknown-station", ruled({"when": when}, {}))
    assert (finding.severity, finding.rule) == ("error", "r1")
    assert found("unknown-station", ruled({"when": {"output": {"path": path, "op": "exists"}}}, {})) == []
    there = {"fact": {"path": path.replace("zz", "c"), "op": "exists"}}
    assert found("unknown-station", ruled({"when": there}, {})) == []


def test_checks_of_gates_are_read_and_those_of_a_sample() -> None:
    fields = ("facts.stations.zz.tests.failed", "facts.stations.a.tests.failed", "facts.tests.failed")
    checks = {"all": [{"field": field, "operator": "exists"} for field in fields]}
    gates = [{"key": "g", "checks": checks}, {"key": "h", "sample": {"one_in": 2, "always": checks}}]
    findings = found("unknown-station", line({}, gates=gates))
    assert [each.path for each in findings] == ["gates[0].checks", "gates[1].sample.always"]
