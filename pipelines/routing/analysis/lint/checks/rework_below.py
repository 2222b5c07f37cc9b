"""A rework station that stands below the stage whose rework it does: to enter it counts as forward."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.sentences import part_names as named

ID = "rework-below"
CAUSE = "Rework station below its stage"


def check(subject: LintSubject) -> Iterator[Finding]:
    line = subject.line
    for station in line.stations:
        stage = line.stage_key(station.key)
        words = {
            "station": named.station_part_name(line, station.key),
            "stage": named.station_part_name(line, stage),
        }
        if stage in line.stations_by_key and line.index_of_station(station.key) > line.index_of_station(
            stage
        ):
            yield Finding(
                check=ID,
                severity=WARNING,
                path=f"{subject.path_of_station_or_rule(station)}.stage",
                message=_(
                    "%(station)s does the rework of %(stage)s and stands below it, so that to send work there counts"
                    " as forward: it needs what a forward move needs, and an open escalation blocks it",
                    **words,
                ),
                hint=_("move %(station)s above %(stage)s", **words),
                station=station.key,
            )
