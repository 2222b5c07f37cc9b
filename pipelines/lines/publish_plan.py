"""Plan of publishing a document, before anything of it is stored: its findings, what changes, where recorded
outcomes would go now, what becomes of running tasks, what it promises and what it may cost."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.lines import line_migration, publishing, version_comparison
from pipelines.lines.backtest import BacktestResult, back_test_events, read_selection, target_of_document
from pipelines.lines.project_lint import examine_text
from pipelines.models import Line, Project
from pipelines.routing.analysis.lint.cost import CostBound, cost_bound_or_none
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import WARNING
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import DocumentError
from pipelines.routing.document.networks import published_document
from pipelines.routing.sentences.changes import change_sentence

LAYOUT = "layout"
MOST = 50
"""Of changes, regions and tasks that are told one by one."""
DECISIONS = "2000"
"""Recorded ones that are tried, the newest first."""


@dataclass(frozen=True)
class PublishPlan:
    """`line`: None where the document begins a new one. `changes`, `difference`, `backtest`, `impact`: None where there
    is nothing live to compare with, or the document is no line that can be read."""

    key: str
    line: Line | None
    found: Examination
    changes: list[dict[str, Any]] | None = None
    difference: dict[str, Any] | None = None
    backtest: dict[str, Any] | None = None
    impact: dict[str, Any] | None = None
    cost_before: str | None = None

    @property
    def verdict(self) -> str:
        """`refused`: errors keep it from being published; `same`: it is what is live; `acknowledge`: warnings are to be
        acknowledged; else `ready`."""
        if self.found.errors:
            return "refused"
        # Another version of the same would only bring running tasks a migration
        if self.line is not None and self.line.live is not None and not self.changes:
            return "same"
        return "acknowledge" if any(f.severity == WARNING for f in self.found.findings) else "ready"

    def to_dict(self) -> dict[str, Any]:
        live = self.line.live.number if self.line and self.line.live else None
        return {
            "line": self.key,
            "live": live,
            "verdict": self.verdict,
            "counts": self.found.counts(),
            "findings": [_row_with_names_for_people(finding.to_dict()) for finding in self.found.findings],
            "guarantees": [
                {
                    **promise.to_dict(),
                    "sentence": people_text(promise.sentence),
                    "path": people_text(promise.path),
                    "why": people_text(promise.explanation),
                }
                for promise in self.found.guarantee_findings
            ],
            "cost": {"before": self.cost_before, "now": max_cost_or_empty_if_unlimited(self.found)},
            "changes": self.changes,
            "difference": self.difference,
            "backtest": self.backtest,
            "impact": self.impact,
        }


def plan_of_publishing(project: Project, text: str) -> PublishPlan:
    """Return the plan of a text that is stored nowhere. A text that cannot be read has its problems as
    findings. Raises nothing."""
    examination = examine_text(text, project)
    key = examination.line.key if examination.line else ""
    line = Line.objects.select_related("live").filter(project=project, key=key).first() if key else None
    if line is None or examination.line is None:
        return PublishPlan(key, line, examination)
    proposed = _line_with_draft(line, text)
    # Once more as publishing does it: with the repository, credentials, jumps and the key.
    examination = publishing.check_draft(proposed, text)
    if line.live is None:
        return PublishPlan(key, line, examination)
    sides = (
        version_comparison.comparison_side(proposed, version_comparison.LIVE),
        version_comparison.comparison_side(proposed, version_comparison.DRAFT),
    )
    before = max_cost_or_empty_if_unlimited(
        publishing.examine_document(published_document(line.live.document, line.live.revision), project)
    )
    return PublishPlan(
        key,
        line,
        examination,
        _document_changes(*sides),
        _routing_difference_or_none(*sides),
        _backtest_result_or_none(proposed),
        _impact_fields_or_none(proposed),
        before,
    )


def _line_with_draft(line: Line, text: str) -> Line:
    """The line as if this were its draft; it is never saved."""
    proposed = copy.copy(line)
    proposed.draft, proposed.draft_text = native.loads(text), text
    return proposed


def _document_changes(
    old: version_comparison.ComparedSide, new: version_comparison.ComparedSide
) -> list[dict[str, Any]]:
    try:
        apart = version_comparison.compare_documents(old, new)
    except Invalid:
        return []
    visible_changes = [change for change in apart.changes if change.affects != LAYOUT]
    return [
        {
            "what": change.what,
            "affects": change.affects,
            "sentence": people_text(change_sentence(change, apart.old, apart.new)),
        }
        for change in visible_changes
    ]


def _routing_difference_or_none(
    old: version_comparison.ComparedSide, new: version_comparison.ComparedSide
) -> dict[str, Any] | None:
    try:
        difference = version_comparison.routing_difference(old, new).to_dict()
    except Invalid:
        return None
    parts = ("structure", "changes", "unknown")
    return {
        **difference,
        **{part: [_row_with_names_for_people(row) for row in difference[part][:MOST]] for part in parts},
    }


def _row_with_names_for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with names in place of keys in its sentences: a plan is read by people on a merge request.
    Its other values keep the keys."""
    return {**row, **{key: people_text(row[key]) for key in ("message", "hint", "sentence") if key in row}}


def _backtest_result_or_none(line: Line) -> dict[str, Any] | None:
    """Return a back-test of the newest recorded decisions; None where the document could not decide them."""
    try:
        target = target_of_document(line.draft)
    except (DocumentError, Invalid):
        return None
    last: BacktestResult | None = None
    for event in back_test_events(line, target, read_selection({"limit": DECISIONS})):
        if isinstance(event, BacktestResult):
            last = event
    return last.to_dict() if last else None


def _impact_fields_or_none(line: Line) -> dict[str, Any] | None:
    try:
        impact = line_migration.migration_impact_of(line, None)
    except (Conflict, Invalid):
        return None
    facts = impact.to_dict()
    return {
        "counts": facts["counts"],
        "needs_mapping": facts["needs_mapping"],
        "may_need_mapping": facts["may_need_mapping"],
        "tasks": [_task_impact_fields(task) for task in facts["tasks"][:MOST]],
        "total": len(facts["tasks"]),
    }


def _task_impact_fields(task: Mapping[str, Any]) -> dict[str, Any]:
    sentences = [people_text(position["words"]) for position in task["positions"]]
    return {**{key: task[key] for key in ("task", "title", "version", "effect")}, "words": sentences}


def max_cost_or_empty_if_unlimited(examination: Examination) -> str | None:
    """Dollars that a task may cost at most; "" where nothing limits it, None where nothing costs."""
    if examination.subject is None:
        return None
    bound: CostBound | None = cost_bound_or_none(examination.subject)
    if bound is None:
        return None
    return "" if bound.amount is None else f"{bound.amount:.2f}"
