"""Findings of lint as a page shows them: the situation that shows one in words of the document, and its help page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from pipelines.routing.analysis.lint.aftermath import then
from pipelines.routing.analysis.lint.finding import ERROR, WARNING, Finding

MOST = 200
"""Findings on a page; the tool and the API give all."""
ICONS = {ERROR: "danger", WARNING: "warning"}


@dataclass(frozen=True, slots=True)
class FindingView:
    finding: Finding
    icon: str
    help: str
    example: str
    then: str


def shown(findings: Sequence[Finding]) -> list[FindingView]:
    """The worst first, as lint gives them; no more than MOST."""
    return [_shown(finding) for finding in findings[:MOST]]


def _shown(finding: Finding) -> FindingView:
    witness = finding.witness
    given = witness.situation if witness else {}
    parts = {key: given[key] for key in ("outcome", "facts") if key in given}
    return FindingView(
        finding=finding,
        icon=ICONS.get(finding.severity, "info"),
        help=reverse("help-page", args=[finding.check]),
        example=json.dumps(parts, indent=2, ensure_ascii=False, default=str) if parts else "",
        then=_decided(finding),
    )


def _decided(finding: Finding) -> str:
    if finding.witness is None:
        return ""
    if finding.witness.rule is not None:
        return f"rule {finding.witness.rule} takes it"
    return then(finding.witness.decision)
