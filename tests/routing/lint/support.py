"""The two examples of a check's page, linted; and short ways to look at findings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pipelines.formats import native
from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.document.line import ParsedLine

DOCS = Path(__file__).parents[3] / "docs" / "lint"
_YAML = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples(check: str) -> list[ParsedLine]:
    """The bad and the good one of a page."""
    texts = _YAML.findall((DOCS / f"{check}.md").read_text())
    return [native.read_text(text, keep_faulty_rules=True) for text in texts]


def found(check: str, of: ParsedLine) -> list[Finding]:
    return [finding for finding in lint_line(of) if finding.check == check]


def the_page_is_right(check: str) -> Finding:
    """The bad example of the page has exactly one finding of the check, the good one none at all of it."""
    bad, good = examples(check)
    assert found(check, good) == []
    [finding] = found(check, bad)
    return finding


def messages(check: str, of: ParsedLine) -> list[str]:
    return [finding.message for finding in found(check, of)]


def example(finding: Finding) -> dict[str, Any]:
    assert finding.witness is not None
    return finding.witness.situation["outcome"]
