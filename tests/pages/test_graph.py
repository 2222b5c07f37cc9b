"""The drawing of a line: nothing overlaps, every edge begins and ends where it should, every rule has its number."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.demo import example
from pipelines.formats import native
from pipelines.routing.document.line import Line, read_line
from pipelines.web.graph import Drawing, NodeKind, drawing_of, way_of
from tests.factories import document, station


def demo() -> Line:
    return native.read(example.text("repository-check", ""))


def faults(drawing: Drawing) -> list[str]:
    """What no drawing may show."""
    nodes = list(drawing.nodes.values())
    found = [f"{a.id} on {b.id}" for a, b in combinations(nodes, 2) if _overlap(a, b)]
    for edge in drawing.edges:
        source, target = drawing.nodes[edge.source], drawing.nodes[edge.target]
        first, last = edge.points[0], edge.points[-1]
        if first != (source.x + source.width, source.port(edge.port)):
            found.append(f"{edge.source}→{edge.target} begins beside its port")
        if not (target.x - 11 <= last[0] <= target.right and target.y <= last[1] <= target.y + target.height):
            found.append(f"{edge.source}→{edge.target} ends at {last}")
        if any(
            x1 != x2 and y1 != y2 for (x1, y1), (x2, y2) in zip(edge.points, edge.points[1:], strict=False)
        ):
            found.append(f"{edge.source}→{edge.target} runs askew")
        inside = (0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in edge.points)
        if not all(inside):
            found.append(f"{edge.source}→{edge.target} leaves the picture")
    return found


def _overlap(a: object, b: object) -> bool:
    return (
        a.x < b.right and b.x < a.right and a.y < b.y + b.height and b.y < a.y + a.height  # type: ignore[attr-defined]
    )


def test_the_demo_line_is_drawn_without_a_fault() -> None:
    assert faults(drawing_of(demo())) == []


def test_the_main_way_is_one_straight_line() -> None:
    drawing = drawing_of(demo())
    keys = ("checkout", "lint", "tests", "security", "deliver")
    assert {drawing.nodes[f"station:{key}"].lane for key in keys} == {0}
    assert drawing.nodes["gate:security:checked"].lane == 0
    assert drawing.nodes["end:delivered"].lane == 0
    assert drawing.nodes["station:triage"].lane > 0


def test_every_rule_has_its_number_at_its_port() -> None:
    line = demo()
    drawing = drawing_of(line)
    for each in line.stations:
        node = drawing.nodes[f"station:{each.key}"]
        ports = [port for port in drawing.ports if port.node == node.id]
        assert [port.rule for port in ports] == [rule.id for rule in each.rules]
        assert [port.y for port in ports] == [node.middle + 24 * n for n in range(len(each.rules))]


def test_a_loop_back_runs_below_everything_that_it_passes() -> None:
    drawing = drawing_of(demo())
    (back,) = [edge for edge in drawing.edges if edge.rule == "triage-fixed"]
    lowest = max(node.y + node.height for node in drawing.nodes.values())
    assert max(y for _, y in back.points) >= lowest


def test_a_fork_splits_at_a_dot_and_a_station_without_rules_leads_on_by_policy() -> None:
    line = read_line(document([station("a", {"id": "both", "to": ["b", "c"]}), "b", "c"]))
    drawing = drawing_of(line)
    assert [edge.dot is not None for edge in drawing.edges if edge.fork] == [True, True]
    assert any(edge.policy and edge.target == "end:completed" for edge in drawing.edges)
    assert faults(drawing) == []


def test_the_short_drawing_keeps_the_main_way_and_what_the_task_has_seen() -> None:
    line = demo()
    fresh = way_of(line, {"checkout": 1}, set(), [])
    assert "station:triage" not in fresh.nodes
    seen = way_of(line, {"checkout": 1, "lint": 1, "triage": 1}, {"checked-out", "lint-high"}, [])
    assert "station:triage" in seen.nodes
    assert {port.rule for port in seen.ports} >= {"checked-out", "lint-high"}
    assert faults(fresh) == faults(seen) == []


KEYS = [f"s{n}" for n in range(7)]
TARGETS = st.one_of(
    st.sampled_from([*KEYS, "completed", "failed", "@origin", "@blocked"]),
    st.lists(st.sampled_from(KEYS), min_size=2, max_size=3, unique=True),
)


@st.composite
def lines(draw: st.DrawFn) -> Line:
    stations = []
    for key in KEYS:
        targets = draw(st.lists(TARGETS, max_size=4))
        gated = draw(st.lists(st.booleans(), min_size=4, max_size=4))
        rules = [
            {"id": f"{key}-{n}", "to": to, **({"gates": ["g"]} if gated[n] and to != "@blocked" else {})}
            for n, to in enumerate(targets)
        ]
        stations.append(station(key, *rules))
    return read_line(document(stations, gates=[{"key": "g", "name": "Gate"}]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines())
def test_no_line_is_drawn_with_a_fault(line: Line) -> None:
    assert faults(drawing_of(line)) == []


@pytest.mark.parametrize("count", [1, 2, 300])
def test_long_lines_are_drawn_quickly_and_without_a_fault(count: int) -> None:
    drawing = drawing_of(read_line(document([f"station-{n}" for n in range(count)])))
    assert faults(drawing) == []
    assert sum(node.kind is NodeKind.STATION for node in drawing.nodes.values()) == count
