"""Remedies where branches meet and where rework stands: tried on the line as it would be then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.routing.analysis.lint.checks import forbidden_parallel, unfillable_join, unjoined_fork
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.document.stations import Join
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.remedies import Remedies, Remedy

CHECKS = (forbidden_parallel, unfillable_join, unjoined_fork)


def unjoined_fork_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    fork, rule = remedies.line.rules_by_id[finding.rule or ""]
    sources = dict(unjoined_fork.unjoined_stations(remedies.subject, fork, rule)).get(finding.station or "")
    if sources:
        yield from _wait_remedies(remedies, remedies.line.station(finding.station or ""), sources)


def unfillable_join_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """A join waits for what never comes: for those instead that do."""
    station = remedies.line.station(finding.station or "")
    delivering = {
        way.source for way in remedies.subject.transitions if way.target == station.key and way.by == "rule"
    }
    yield from _wait_remedies(
        remedies,
        station,
        sorted(delivering & remedies.line.stations_by_key.keys(), key=remedies.line.index_of_station),
    )


def _wait_remedies(remedies: Remedies, station: Station, wait_for: Sequence[str]) -> Iterator[Remedy]:
    # A join of one branch joins nothing, and one that waits for itself never fills.
    if len(wait_for) < 2 or station.key in wait_for:
        return
    join = station.join or Join(())
    changed = replace(station, join=replace(join, wait_for=tuple(wait_for)))
    others = tuple(changed if other.key == station.key else other for other in remedies.line.stations)
    # A proper subset: something is gone, and nothing new has come.
    if _join_findings(LintSubject(replace(remedies.line, stations=others))) < _join_findings(
        remedies.subject
    ):
        # What the document says of the aggregation stays.
        written = remedies.document["stations"][remedies.line.index_of_station(station.key)].get("join") or {}
        yield wait_for_all_remedy(station.key, written, wait_for)


def wait_for_all_remedy(station: str, written: object, wait_for: Sequence[str]) -> Remedy:
    join = {**(written if isinstance(written, dict) else {}), "wait_for": list(wait_for)}
    label = "Wait for both" if len(wait_for) == 2 else f"Wait for all {len(wait_for)}"
    return Remedy(label, (edits.edit_changing_station(station, join=join),), "fork")


def _join_findings(subject: LintSubject) -> set[tuple[str, str, str]]:
    return {
        (finding.check, finding.path, finding.message) for check in CHECKS for finding in check.check(subject)
    }


def rework_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """Yield the fix for rework that stands below its stage: move it above, if that changes no transition of the
    line."""
    line, key = remedies.line, finding.station or ""
    stage = line.stage_key(key)
    moved = _line_with_station_above(line, key, stage)
    if _transition_keys(LintSubject(moved)) == _transition_keys(remedies.subject):
        start_edits = (
            # A line that names no start begins at its first station, which the move would change.
            [edits.edit_changing_line(start=line.start)]
            if line.stations[0].key != moved.stations[0].key
            else []
        )
        label = f"Move above {line.station(stage).name}"
        yield Remedy(label, (*start_edits, edits.edit_moving_station(key, stage)), "arrow-up")


def _line_with_station_above(line: ParsedLine, key: str, stage: str) -> ParsedLine:
    others = [other for other in line.stations if other.key != key]
    place = next(index for index, other in enumerate(others) if other.key == stage)
    return replace(line, stations=(*others[:place], line.station(key), *others[place:]))


def _transition_keys(subject: LintSubject) -> set[tuple[str, str, str]]:
    return {(way.source, way.target, way.by) for way in subject.transitions}
