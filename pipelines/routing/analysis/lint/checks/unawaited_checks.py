"""A delivery that merges to where the host requires checks, with no station before it that waits for them."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject, keys_reachable_from
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.kinds import deliver, wait_for_checks

ID = "unawaited-checks"
CAUSE = "Merge without the required checks"
MAX_NAMES = 5


def check(subject: LintSubject) -> Iterator[Finding]:
    """Nothing where it is unknown what the host requires: of a repository that an input names, of another base, or
    before anybody tested the connection."""
    git = subject.line.workspace
    required = () if git is None else subject.required.get((git.repository, git.base), ())
    if git is None or not required:
        return
    waits = {station.key for station in subject.line.stations if station.kind == wait_for_checks.KIND.key}
    # Without what leads out of a station that waits: a path through it has waited.
    ways = [
        (transition.source, transition.target)
        for transition in subject.transitions
        if transition.source not in waits
    ]
    unchecked = keys_reachable_from({subject.line.start}, ways)
    for station in subject.line.stations:
        merges = station.kind == deliver.KIND.key and station.work.get("to", deliver.MERGE) == deliver.MERGE
        if merges and station.key in unchecked:
            more = len(required) - MAX_NAMES
            names = ", ".join(required[:MAX_NAMES]) + (f" +{more}" if more > 0 else "")
            yield Finding(
                check=ID,
                severity=WARNING,
                path=f"{subject.path_of_station_or_rule(station)}.work",
                message=_(
                    "The host of %(repository)s requires checks (%(names)s), and a task can come to %(station)s "
                    "without having waited for them",
                    repository=git.repository,
                    names=names,
                    station=station.name,
                ),
                hint="push the branch and wait for the checks before it",
                station=station.key,
            )
