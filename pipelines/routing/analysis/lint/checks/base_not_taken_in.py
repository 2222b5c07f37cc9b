"""A rule for a moved base from which a task can come back to the delivery although no station took the base in: people
are then asked to approve the same thing again, and it cannot land either."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.kinds import KINDS, deliver, is_unattended
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

ID = "base-not-taken-in"
CAUSE = "A moved base that no station takes in"
BASE_MOVED = "base_moved"


def check(subject: LintSubject) -> Iterator[Finding]:
    if subject.line.workspace is None:
        return
    taking = {station.key for station in subject.line.stations if _takes_base_in(station)}
    # Without what leads out of such a station: a path through it has taken the base in.
    ways = [(way.source, way.target) for way in subject.transitions if way.source not in taking]
    for station in subject.line.stations:
        merges = station.kind == deliver.KIND.key and station.work.get("to", deliver.MERGE) == deliver.MERGE
        for index, rule in enumerate(station.rules if merges else ()):
            if _is_for_moved_base(rule) and station.key in keys_reachable_from(set(rule.to), ways):
                yield Finding(
                    check=ID,
                    severity=WARNING,
                    path=f"{subject.path_of_station_or_rule(station)}.rules[{index}].to",
                    message=_(
                        "After the base moved a task can come back to %(station)s without a station that takes the "
                        "new base in",
                        station=station.name,
                    ),
                    hint="lead to a station that a worker does: a command, an agent, or a No-op",
                    station=station.key,
                    rule=rule.id,
                )


def _takes_base_in(station: Station) -> bool:
    """Say if a worker lays out the files of the branch for it. People, the clock and calls of a server need none."""
    kind = KINDS.get(station.kind)
    return kind is not None and not is_unattended(station) and not kind.calls


def _is_for_moved_base(rule: Rule) -> bool:
    # By its text: however deep in the condition the failure type is named.
    return rule.fault is None and BASE_MOVED in jsontext.dumps(rule.source.get("when"))
