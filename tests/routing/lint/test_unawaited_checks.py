"""unawaited-checks"""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.document.line import ParsedLine
from tests.routing.lint.support import examples

KNOWN = {("app", ""): ("unit", "ci/lint"), ("app", "main"): ("unit", "ci/lint")}


def told(
    of: ParsedLine, required: Mapping[tuple[str, str], tuple[str, ...]]
) -> list[tuple[str, str | None, str]]:
    found = (each for each in lint_line(of, required=required) if each.check == "unawaited-checks")
    return [(each.severity, each.station, each.message) for each in found]


def test_the_page_is_right() -> None:
    bad, good = examples("unawaited-checks")
    [(severity, station, message)] = told(bad, KNOWN)
    assert (severity, station) == ("warning", "deliver")
    assert "The host of app requires checks (unit, ci/lint)" in message
    assert told(good, KNOWN) == []


def test_where_nothing_is_known_or_required_nothing_is_said() -> None:
    bad, _good = examples("unawaited-checks")
    assert told(bad, {}) == told(bad, {("app", ""): ()}) == told(bad, {("web", ""): ("unit",)}) == []
    assert told(bad, {("app", "other"): ("unit",)}) == []
