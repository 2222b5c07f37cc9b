"""Trials of other rules of a station, or of another order: whether they leave nothing worse, tried and not
guessed.

At the station everything is analysed again; in the rest of the line only what newly living rules add is
checked: a transition that closes a cycle without a budget, or that leads where nothing led before, is no
remedy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from pipelines.routing.analysis.lint.checks import (
    constant_condition,
    dead_rule,
    default_not_last,
    no_rule_takes,
    shadowed_gate,
    undecided,
)
from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.station_analysis import RememberedAnalysis, line_reduced_to_station
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.analysis.lint.visits import strong_components
from pipelines.routing.analysis.satisfiability.liveness import DEAD
from pipelines.routing.document.line import ParsedLine, Rule, Station

CHECKS = (constant_condition, dead_rule, default_not_last, no_rule_takes, shadowed_gate, undecided)
MAX_NEW = 8
"""Trials of one answer that are not remembered; each costs the analysis of a station."""
REMEMBERED = 4_000

Rules = tuple[Rule, ...]
Name = tuple[str, str | None, tuple[str, ...]]


class Trials:
    def __init__(self, subject: LintSubject) -> None:
        self.subject = subject
        self._reached: dict[str, frozenset[str]] = {}
        # The cache is that of the process: trials of others at the same time use this up, too.
        self._ends = _run_trial.cache_info().misses + MAX_NEW

    def does_change_remove_finding(
        self,
        station: Station,
        finding_to_remove: Finding,
        change_name: tuple[str, ...],
        change: Callable[[Rules], Rules],
    ) -> bool:
        """Return whether the finding `gone` disappears after this change of the station's rules, and nothing
        is worse. `what` tells the changes of one station apart. A change that would take too long to try
        is no remedy."""
        known = RememberedAnalysis(self.subject.analysis(station))
        # A page waits for it: only so many changes are tried in one request
        if _run_trial.cache_info().misses >= self._ends:
            return False
        line = self.subject.line
        before = _run_trial(_TrialQuestion(known, (), line, station.key))
        changed = replace(station, rules=change(station.rules))
        after = _run_trial(
            _TrialQuestion(known, change_name, _line_with_changed_station(line, changed), station.key)
        )
        # A remedy that moves a finding elsewhere is none
        worse = after.names - (before.names - {_finding_name(finding_to_remove)})
        living = before.dead - after.dead
        return not worse and all(self.may_use_rule(station, r) for r in changed.rules if r.id in living)

    def may_use_rule(self, station: Station, rule: Rule) -> bool:
        bounded = rule.max_retries is not None or rule.max_visits is not None
        return all(self.may_add_transition(station, target, bounded=bounded) for target in rule.to)

    def may_add_transition(self, station: Station, target: str, *, bounded: bool = False) -> bool:
        """Return whether a new transition to `target` leaves the rest of the line no worse."""
        subject = self.subject
        if target not in subject.line.stations_by_key:
            # Where `@origin` leads depends on the task, so nothing is known of it here.
            return target != "@origin"
        if (station.key, target) in self._transition_pairs:
            return True
        # A new transition could bring together what must never run in parallel.
        if subject.line.forbidden_parallel or not self._reaches_end(target):
            return False
        # From there back to here it would be a cycle without a budget.
        return bounded or station.key not in self._reachable_from(target)

    def _reaches_end(self, target: str) -> bool:
        """Return whether the stations reached for the first time come to an end, and form no cycle."""
        newly = {key for key in self._reachable_from(target) if key in self.subject.line.stations_by_key}
        newly -= self.subject.keys_reached_from_start
        inside = {key: {b for a, b in self._transition_pairs if a == key and b in newly} for key in newly}
        rounds = any(len(group) > 1 or group[0] in inside[group[0]] for group in strong_components(inside))
        return not rounds and newly <= self._stations_reaching_end

    @cached_property
    def _stations_reaching_end(self) -> frozenset[str]:
        """Stations and ends from which an end can be reached."""
        return keys_reachable_from(
            set(self.subject.line.ends_by_key), [(b, a) for a, b in self._transition_pairs]
        )

    @cached_property
    def _transition_pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset((way.source, way.target) for way in self.subject.transitions)

    def _reachable_from(self, target: str) -> frozenset[str]:
        if target not in self._reached:
            self._reached[target] = keys_reachable_from({target}, list(self._transition_pairs))
        return self._reached[target]


class _TrialQuestion:
    """Question about a change (`what`) of the station under study. It keeps no line alive."""

    def __init__(
        self, known: RememberedAnalysis, what: tuple[str, ...], line: ParsedLine, station: str
    ) -> None:
        self.key = known, what
        self.excerpt = line_reduced_to_station(line, line.station(station))
        self.station = station

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TrialQuestion) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, slots=True)
class _Trial:
    names: frozenset[Name]
    dead: frozenset[str]


@lru_cache(maxsize=REMEMBERED)
def _run_trial(question: _TrialQuestion) -> _Trial:
    subject = LintSubject(question.excerpt)
    findings = (finding for check in CHECKS for finding in check.check(subject))
    names = frozenset(
        # A note counts as well where it says that something can no longer be decided.
        _finding_name(finding)
        for finding in findings
        if finding.severity != INFO or finding.check == undecided.ID
    )
    study = subject.analysis(subject.line.station(question.station))
    return _Trial(
        names, frozenset(liveness.rule.id for liveness in study.standings if liveness.status == DEAD)
    )


def _finding_name(finding: Finding) -> Name:
    return finding.check, finding.rule, finding.rules if finding.check == shadowed_gate.ID else ()


def _line_with_changed_station(line: ParsedLine, changed: Station) -> ParsedLine:
    stations = tuple(changed if station.key == changed.key else station for station in line.stations)
    return replace(line, stations=stations)
