"""A delivery that a task can reach without the approval that the delivery asks for: it is refused there
(`not_approved`, law §15)."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.transitions import LintTransition
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.kinds import deliver
from pipelines.routing.document.stations import Station

ID = "unapproved-delivery"
CAUSE = "Delivery without approval"
NOT_APPROVED = "not_approved"


def check(subject: LintSubject) -> Iterator[Finding]:
    if subject.line.workspace is None:
        return
    for station in subject.line.stations:
        if station.kind != deliver.KIND.key or _has_rule_for_not_approved(station):
            continue
        gate = subject.line.gates_by_key.get(str(station.work.get("gate") or ""))
        if gate is None:
            continue
        path = _shortest_path_around_gate(subject, gate.key, station.key)
        if path:
            names = [subject.line.station(key).name for key in path]
            yield Finding(
                check=ID,
                severity=WARNING,
                path=f"{subject.path_of_station_or_rule(station)}.work.gate",
                message=_(
                    "A task can come to %(station)s without an approval at %(gate)s, and is not delivered then: "
                    "%(path)s",
                    station=station.name,
                    gate=gate.name,
                    path=" → ".join(names),
                ),
                hint=_("ask %(gate)s on that way, or lead it to another station", gate=gate.name),
                station=station.key,
            )


def _has_rule_for_not_approved(station: Station) -> bool:
    # By its text: however deep in the condition the failure type is named.
    return any(NOT_APPROVED in jsontext.dumps(rule.source.get("when")) for rule in station.rules)


def _shortest_path_around_gate(subject: LintSubject, gate: str, delivery: str) -> list[str]:
    """Return the keys of the stations on a way from the start to the delivery on which the gate is not asked; none
    where there is no such way. Jumps and places that a reviewer chooses are not followed: people decide these."""
    ways: dict[str, list[str]] = {}
    for transition in subject.transitions:
        if (
            not _was_approved_at_gate(subject, transition, gate)
            and transition.target in subject.line.stations_by_key
        ):
            ways.setdefault(transition.source, []).append(transition.target)
    paths = {subject.line.start: [subject.line.start]}
    waiting = [subject.line.start]
    for source in waiting:
        for target in ways.get(source, ()):
            if target not in paths:
                paths[target] = [*paths[source], target]
                waiting.append(target)
    return paths.get(delivery, [])


def _was_approved_at_gate(subject: LintSubject, transition: LintTransition, gate: str) -> bool:
    """Say if whoever takes this transition was approved there. A gate that is skipped approves nothing (law §14)."""
    if subject.line.gates_by_key[gate].mode == "skip":
        return False
    if transition.rule is not None and gate in transition.rule.gates:
        return True
    source = subject.line.stations_by_key.get(transition.source)
    return source is not None and source.gate == gate
