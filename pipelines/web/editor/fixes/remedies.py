"""A remedy of a finding, as a value: words for a button, and the edits that it stands for; and what is needed to find
those of a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.line import Station
from pipelines.web.editor.fixes.edits import Edit
from pipelines.web.editor.fixes.trials import Trials


@dataclass(frozen=True, slots=True)
class Remedy:
    """`label`: what the button says."""

    label: str
    edits: tuple[Edit, ...]
    icon: str = "check"

    def to_dict(self) -> dict[str, Any]:
        return {"label": self.label, "edits": list(self.edits), "icon": self.icon}


class Remedies:
    """Remedies for the findings of one line; `document` is the document that the line was read from."""

    def __init__(self, subject: LintSubject, document: Mapping[str, Any]) -> None:
        self.line = subject.line
        self.document = document
        self.subject = subject
        self.trials = Trials(subject)

    def station_and_place_of_rule(self, finding: Finding) -> tuple[Station, int]:
        """The station of a finding about a rule, and the place of the rule."""
        station, rule = self.line.rules_by_id[finding.rule or ""]
        return station, next(i for i, candidate in enumerate(station.rules) if candidate is rule)
