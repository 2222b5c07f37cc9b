"""Facts of a station that does not exist: nothing is ever observed there."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import ERROR, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, gate_checks, places_with_paths_of_rule
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.decide.station_facts import STATIONS
from pipelines.routing.document.algebra import FactTest
from pipelines.routing.document.document_readers.reader import expected_hint
from pipelines.routing.sentences import part_names as named

ID = "unknown-station"
CAUSE = "Facts of a station that does not exist"


def check(subject: LintSubject) -> Iterator[Finding]:
    known = subject.line.stations_by_key
    for station in subject.line.stations:
        for index, rule in enumerate(station.rules):
            for place, path in places_with_paths_of_rule(rule, FactTest):
                # stations.<key>, of paths that may have fewer steps
                root, key = (*path.step_names, "", "")[:2]
                if root == STATIONS and key and key not in known:
                    message = _(
                        "Rule %(rule)s reads facts of the station %(key)s, which the line does not have",
                        rule=named.rule_phrase(subject.line, rule.id),
                        key=key,
                    )
                    at = f"{subject.path_of_station_or_rule(station, index)}.{place}"
                    yield Finding(ID, ERROR, at, message, expected_hint(key, known), station.key, rule.id)
    for place, gate, test in gate_checks(subject.line):
        family, root, key = (*test.field.split("."), "", "")[:3]
        if (family, root) == ("facts", STATIONS) and key and key not in known:
            message = _(
                "Gate %(gate)s reads facts of the station %(key)s, which the line does not have",
                gate=named.gate_part_name(subject.line, gate.key),
                key=key,
            )
            yield Finding(ID, ERROR, place, message, expected_hint(key, known))
