"""What lint found, as text for people and as JSON for machines: the same for every window."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pipelines.routing.lint.finding import SEVERITIES, Finding
from pipelines.routing.lint.run import has_errors, lint, visits
from pipelines.routing.model import Line
from pipelines.routing.problems import Problem

Locate = Callable[[Iterable[Problem]], tuple[Problem, ...]]
"""Problems with line and column of the text that they came from."""


def report(line: Line, locate: Locate, *, as_json: bool = False) -> tuple[str, bool]:
    """What to print, and whether there are errors."""
    findings = _located(lint(line), locate)
    text = _as_json(line, findings) if as_json else _as_text(findings)
    return text, has_errors(findings)


def _located(findings: tuple[Finding, ...], locate: Locate) -> tuple[Finding, ...]:
    places = locate([Problem(finding.path, finding.message) for finding in findings])
    return tuple(f.at(place.line, place.column) for f, place in zip(findings, places, strict=True))


def _as_json(line: Line, findings: tuple[Finding, ...]) -> str:
    found: dict[str, Any] = {
        "line": line.key,
        "findings": [finding.to_dict() for finding in findings],
        "visits": visits(line),
    }
    return json.dumps(found, indent=2, default=str)


def _as_text(findings: tuple[Finding, ...]) -> str:
    counts = Counter(finding.severity for finding in findings)
    total = ", ".join(f"{counts[each]} {each}" for each in SEVERITIES if counts[each])
    return "\n".join([*map(_with_witness, findings), total or "Nothing found."])


def _with_witness(finding: Finding) -> str:
    if finding.witness is None:
        return str(finding)
    shown = {
        key: finding.witness.situation[key]
        for key in ("outcome", "facts")
        if key in finding.witness.situation
    }
    return f"{finding}\n    for example {json.dumps(shown, ensure_ascii=False, default=str)}"
