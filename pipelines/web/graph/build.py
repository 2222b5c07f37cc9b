"""From a line to the nodes and edges of its drawing: which there are, not where they stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pipelines.routing.document.line import BLOCKED, ORIGIN, Line, Rule, Station
from pipelines.routing.sentences.names import end_name, gate_name
from pipelines.templatetags.gateline import station_word
from pipelines.web.graph.shapes import Drawing, Edge, Node, NodeKind, Port


def build(line: Line) -> Drawing:
    """Every station, every rule with its gates, and the ends that something leads to."""
    drawing = Drawing()
    drawing.add(Node("start", NodeKind.START, _("Start")))
    for station in line.stations:
        drawing.add(_station(line, station))
    if line.start:
        drawing.edges.append(Edge("start", f"station:{line.start}"))
    for station in line.stations:
        for number, rule in enumerate(station.rules, start=1):
            _rule(drawing, line, station, number, rule)
        if not station.rules:
            _policy(drawing, line, station)
    return drawing


@dataclass(frozen=True)
class DrawnEnding:
    """Where a task ended without following a rule to that end: a gate, the policy or a person ended it. `rule`: the
    one whose gate stopped it, "" where none did."""

    station: str
    rule: str
    end: str


def add_endings(drawing: Drawing, line: Line, endings: Iterable[DrawnEnding]) -> None:
    for each in endings:
        gate, station = f"gate:{each.station}:{each.rule}", f"station:{each.station}"
        source = gate if gate in drawing.nodes else station
        if source not in drawing.nodes or each.end not in line.ends_by_key:
            continue
        target = _target(drawing, line, line.station(each.station), 1, each.end)
        if target and not any((edge.source, edge.target) == (source, target.id) for edge in drawing.edges):
            drawing.edges.append(Edge(source, target.id, stopped=True))


def _station(line: Line, station: Station) -> Node:
    node = Node(
        f"station:{station.key}",
        NodeKind.STATION,
        station.name,
        key=station.key,
        note=station_word(station.kind),
        look=station.kind,
        ports=max(1, len(station.rules)),
    )
    if station.join:
        node.join = _("Join: %(how)s") % {"how": station.join.aggregation.replace("-", " ")}
    if station.gate:
        node.bar = gate_name(line, station.gate)
    return node


def _rule(drawing: Drawing, line: Line, station: Station, number: int, rule: Rule) -> None:
    source = f"station:{station.key}"
    label = rule.label or rule.id
    drawing.ports.append(Port(source, number, number, 0, 0, rule.id, label))
    targets = [node.id for key in rule.to if (node := _target(drawing, line, station, number, key))]
    if not targets:
        return
    shown = label if len(station.rules) > 1 else ""
    if rule.gates:
        gate = drawing.add(_gates(line, station, rule))
        drawing.edges.append(Edge(source, gate.id, number, rule.id, shown))
        source, shown, number = gate.id, "", 1
    for target in targets:
        drawing.edges.append(Edge(source, target, number, rule.id, shown, fork=len(targets) > 1))
        shown = ""


def _policy(drawing: Drawing, line: Line, station: Station) -> None:
    """A station without rules goes where the policy leads (law §4)."""
    if line.policy.no_rules == "refuse":
        return
    after = line.next_station(station.key) if line.policy.no_rules == "advance" else None
    target = _target(drawing, line, station, 1, after.key if after else "completed")
    if target:
        drawing.edges.append(Edge(f"station:{station.key}", target.id, policy=True))


def _target(drawing: Drawing, line: Line, station: Station, number: int, key: str) -> Node | None:
    """The node of a target; None where a faulty rule names something that is not there."""
    if key in (ORIGIN, BLOCKED):
        words = _("Back where it came from") if key == ORIGIN else _("Waits for an answer")
        return drawing.add(Node(f"return:{station.key}:{number}", NodeKind.RETURN, words, key=key))
    if key in line.stations_by_key:
        return drawing.nodes[f"station:{key}"]
    if key in line.ends_by_key:
        return drawing.add(
            Node(f"end:{key}", NodeKind.END, end_name(line, key), key=key, look=line.end(key).kind)
        )
    return None


def _gates(line: Line, station: Station, rule: Rule) -> Node:
    """One hexagon per rule; several gates stand stacked in it, with their count."""
    modes = {line.gates_by_key[key].mode for key in rule.gates if key in line.gates_by_key}
    return Node(
        f"gate:{station.key}:{rule.id}",
        NodeKind.GATE,
        gate_name(line, rule.gates[0]),
        key=rule.gates[0],
        keys=rule.gates,
        look=modes.pop() if len(modes) == 1 else "manual",
        note=", ".join(gate_name(line, key) for key in rule.gates),
    )
