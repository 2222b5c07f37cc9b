"""silent-jumps"""

from __future__ import annotations

from pipelines.routing.analysis.lint.checks import silent_jumps
from pipelines.routing.analysis.lint.run import lint_line
from tests.routing.lint.support import examples


def test_of_a_document_alone_nothing_is_said() -> None:
    bad, good = examples("silent-jumps")
    assert (bad.jump_targets, good.jump_targets) == ((), ("completed",))
    assert not [each for of in (bad, good) for each in lint_line(of) if each.check == "silent-jumps"]


def test_the_tasks_and_places_are_named_each_once_and_the_rest_counted() -> None:
    jumps = [(f"WI-app-{n}", "Deploy" if n % 2 else "Completed") for n in range(9, 0, -1)]
    finding = silent_jumps.jumps_finding([jumps[0], *jumps])
    assert (finding.severity, finding.path) == ("warning", "jumps")
    assert "(WI-app-9, WI-app-8, WI-app-7, WI-app-6, WI-app-5 +4, to Deploy, Completed)" in finding.message
