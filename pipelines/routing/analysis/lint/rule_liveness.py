"""Standing of every rule, and what is left to the policy, station by station: what an editor draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.analysis.lint.policy_outcome import policy_outcome_text
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.satisfiability.liveness import Liveness, Remainder
from pipelines.routing.analysis.satisfiability.situations import Witness
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station

Place = tuple[int | None, int | None]
"""Line and column of the text, 1-based; None where there is no text."""


@dataclass(frozen=True, slots=True)
class RuleLiveness:
    """`standing`: live, partly shadowed, dead, unknown. `witness`: a situation that it takes. `killers`: earlier rules
    that together leave a dead one nothing, none where its condition is never true. `shadowed_by`: earlier rules that
    take a part. `after_rework`: the rule whose gate has to demand rework before this one is tried. `why`: of unknown.
    """

    rule: str
    path: str
    standing: str
    witness: Witness | None
    killers: tuple[str, ...]
    shadowed_by: tuple[str, ...]
    after_rework: str | None
    why: str
    place: Place = (None, None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "path": self.path,
            "line": self.place[0],
            "column": self.place[1],
            "standing": self.standing,
            "witness": self.witness.to_dict() if self.witness else None,
            "killers": list(self.killers),
            "shadowed_by": list(self.shadowed_by),
            "after_rework": self.after_rework,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class UntakenOutcomes:
    """Outcomes (passed, failed or blocked) that no rule takes. `then`: what the policy does with the witness.
    Without a witness it is unknown whether there are any, and `why` says what prevented the proof."""

    outcomes: str
    witness: Witness | None
    then: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        witness = self.witness.to_dict() if self.witness else None
        return {"outcomes": self.outcomes, "witness": witness, "then": self.then, "why": self.why}


@dataclass(frozen=True, slots=True)
class StationLiveness:
    station: str
    path: str
    rules: tuple[RuleLiveness, ...]
    untaken: tuple[UntakenOutcomes, ...]
    place: Place = (None, None)

    def paths(self) -> Iterator[str]:
        """Yield the path of the station, then those of its rules."""
        yield self.path
        yield from (rule.path for rule in self.rules)

    def with_positions(self, places: Iterator[Place]) -> StationLiveness:
        """Return the standings with the places of `paths`, in their order."""
        here = next(places)
        return replace(
            self, place=here, rules=tuple(replace(rule, place=next(places)) for rule in self.rules)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "station": self.station,
            "path": self.path,
            "line": self.place[0],
            "column": self.place[1],
            "rules": [rule.to_dict() for rule in self.rules],
            "untaken": [rest.to_dict() for rest in self.untaken],
        }


def liveness_of_all_stations(subject: LintSubject) -> tuple[StationLiveness, ...]:
    """Return the standings of all stations, in the order of the line."""
    return tuple(_station_liveness(subject, station) for station in subject.line.stations)


def _station_liveness(subject: LintSubject, station: Station) -> StationLiveness:
    study = subject.analysis(station)
    rests = (study.outcomes_no_rule_takes(outcomes) for outcomes in STANDINGS)
    return StationLiveness(
        station=station.key,
        path=subject.path_of_station_or_rule(station),
        rules=tuple(
            _liveness_report_of_rule(subject, station, i, liveness)
            for i, liveness in enumerate(study.standings)
        ),
        untaken=tuple(_untaken_outcomes(subject.line, rest) for rest in rests if rest is not None),
    )


def _liveness_report_of_rule(
    subject: LintSubject, station: Station, index: int, liveness: Liveness
) -> RuleLiveness:
    return RuleLiveness(
        rule=liveness.rule.id,
        path=subject.path_of_station_or_rule(station, index),
        standing=liveness.status,
        witness=liveness.witness,
        killers=liveness.killers,
        shadowed_by=tuple(shadow.by for shadow in subject.analysis(station).shadows(liveness.rule)),
        after_rework=liveness.after_rework,
        why=liveness.why,
    )


def _untaken_outcomes(line: ParsedLine, remainder: Remainder) -> UntakenOutcomes:
    after = policy_outcome_text(line, remainder.witness.decision) if remainder.witness else ""
    return UntakenOutcomes(remainder.standing, remainder.witness, after, remainder.why)
