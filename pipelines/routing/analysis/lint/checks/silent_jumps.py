"""A draft that allows no jumps although tasks of the live version jumped lately. Publishing tells it, which knows the
tasks; of a document alone there is nothing to be said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.routing.analysis.lint.finding import WARNING, Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.basics.wording import Wording as _

ID = "silent-jumps"
CAUSE = "Jumps that would end"
MOST_TASKS = 5


def check(_subject: LintSubject) -> Iterator[Finding]:
    yield from ()


def jumps_finding(jumps: Sequence[tuple[str, str]]) -> Finding:
    """`jumps`: (name of the task, name of the place that it jumped to), the newest first."""
    tasks = list(dict.fromkeys(task for task, _place in jumps))
    places = ", ".join(dict.fromkeys(place for _task, place in jumps))
    more = len(tasks) - MOST_TASKS
    return Finding(
        check=ID,
        severity=WARNING,
        path="jumps",
        message=_(
            "Tasks of the live version jumped in the last 90 days (%(tasks)s, to %(places)s), and this draft says "
            "nothing of jumps, so that work may not jump any more",
            tasks=", ".join(tasks[:MOST_TASKS]) + (f" +{more}" if more > 0 else ""),
            places=places,
        ),
        hint="name the stations and ends that work may jump to, or acknowledge that it stops",
    )
