"""A cycle that crosses no budget: only the cap on visits would stop it, by making the task stuck."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.visits import unbounded_cycles
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _

ID = "unbounded-cycle"
CAUSE = "Loop without a limit"


def check(subject: LintSubject) -> Iterator[Finding]:
    cap = subject.line.policy.visit_cap
    for stations in unbounded_cycles(subject):
        names = " → ".join(subject.line.station(key).name for key in (*stations, stations[0]))
        yield Finding(
            check=ID,
            severity=WARNING,
            path=subject.path_of_station_or_rule(subject.line.station(stations[0])),
            message=Wording.of(
                f"{names} has no limit (only the cap of {cap} visits)",
                _(
                    "%(stations)s has no limit (only that of %(cap)s runs of each station)",
                    stations=names,
                    cap=cap,
                ),
            ),
            hint=Wording.of(
                "give a rule of the cycle max_retries or max_visits, or a station limits: {max_visits: …}, or the line"
                " a budget for it",
                "set a limit for one of its rules, one of its stations, or the whole of it",
            ),
            station=stations[0],
        )
