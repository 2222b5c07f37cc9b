"""A station from which no end can be reached."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.sentences import part_names as named

ID = "no-way-to-an-end"
CAUSE = "Station with no path to an end"


def check(subject: LintSubject) -> Iterator[Finding]:
    ends = set(subject.line.ends_by_key)
    back = keys_reachable_from(
        ends, [(transition.target, transition.source) for transition in subject.transitions]
    )
    for station in subject.line.stations:
        # What nothing reaches has a finding of its own
        if station.key in subject.keys_reached_from_start and station.key not in back:
            yield Finding(
                check=ID,
                severity=ERROR,
                path=subject.path_of_station_or_rule(station),
                message=_(
                    "From %(station)s no end can be reached",
                    station=named.station_part_name(subject.line, station.key),
                ),
                hint="add a rule that leads to an end, or towards one",
                station=station.key,
            )
