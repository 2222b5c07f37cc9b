"""A station to which no way leads from the start."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.sentences import part_names as named

ID = "unreachable-station"
CAUSE = "Station that is never reached"


def check(subject: LintSubject) -> Iterator[Finding]:
    """Jumps of a signal and moves by hand lead anywhere and are no transitions here."""
    for station in subject.line.stations:
        if station.key not in subject.keys_reached_from_start:
            yield Finding(
                check=ID,
                severity=WARNING,
                path=subject.path_of_station_or_rule(station),
                message=_(
                    "No rule and no policy leads from %(start)s to %(station)s",
                    start=named.station_part_name(subject.line, subject.line.start),
                    station=named.station_part_name(subject.line, station.key),
                ),
                hint="add a rule that leads there, or remove it; only a jump or a person's hand gets there",
                station=station.key,
            )
