"""The parts of the Publish page that take time: each comes by itself, and fails by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.lines import four_eyes, line_migration, publish_review, publishing, version_comparison
from pipelines.models import Line, PublishRequest, User
from pipelines.queries.four_eyes import (
    four_eyes_repositories,
    is_publish_request_waiting,
    last_publish_request_or_none,
)
from pipelines.routing.analysis.lint.examination import Examination
from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.basics.problems import Problem
from pipelines.routing.document import line as routing
from pipelines.web.lines.change_groups import author_name_by_person, change_totals, group_changes
from pipelines.web.lines.findings import FindingView, finding_views
from pipelines.web.shell.page import Permissions
from pipelines.web.versions import impact
from pipelines.web.versions.difference import difference_context as difference_context
from pipelines.web.versions.publish_guarantees import guarantee_rows as guarantees_of

MOST_SHOWN = 40
"""Regions that go elsewhere, and running tasks, on this page; the pages of their own show all."""
FEW = 5
"""Rows of a list before it is opened."""


def render_part(request: HttpRequest, line: Line, part_name: str) -> HttpResponse:
    """`changes`, `findings`, `guarantees`, `difference` or `impact`. Raises Http404."""
    if part_name not in PARTS:
        raise Http404
    context = {
        "line": line,
        "project": line.project,
        "may": Permissions(request.user, line.project),
        "live": line.live.number if line.live else 0,
        **PARTS[part_name](request, line),
    }
    return render(request, f"versions/publish/{part_name}.html", context)


def _changes_context(request: HttpRequest, line: Line) -> dict[str, Any]:
    try:
        apart = version_comparison.compare_documents(*_live_or_draft_and_draft(line))
    except Invalid as fault:
        return {"problems": fault.problems}
    change_groups = group_changes(
        apart, lambda change: publish_review.change_authors_oldest_first(line, change), FEW
    )
    differing = apart.changes if line.live else None
    others = publish_review.other_authors_of_changes(line, request.user, differing)  # type: ignore[arg-type]
    names = author_name_by_person(contribution.hand for contribution in others)
    acknowledged = set(request.GET.get("seen", "").split(","))
    return {
        "first": line.live is None,
        "document": apart.new,
        "groups": change_groups if line.live else [],
        "totals": change_totals(change_groups),
        "others": [
            {
                "key": contribution.key,
                "name": names.get(contribution.person, "Somebody"),
                "n": contribution.changes,
                "at": datetime.fromisoformat(contribution.hand.at) if contribution.hand.at else None,
                "ticked": contribution.key in acknowledged,
            }
            for contribution in others
        ],
    }


def _live_or_draft_and_draft(
    line: Line,
) -> tuple[version_comparison.ComparedSide, version_comparison.ComparedSide]:
    """The live version, or the draft itself, and the draft."""
    draft = version_comparison.comparison_side(line, version_comparison.DRAFT)
    return (version_comparison.comparison_side(line, version_comparison.LIVE) if line.live else draft), draft


def _findings_context(request: HttpRequest, line: Line) -> dict[str, Any]:
    examination = publishing.check_draft(line)
    ticked = set(request.GET.get("warnings", "").split(","))
    warnings = publish_review.warning_findings(examination)
    executes = publishing.executing_stations(examination.line) if examination.line else []
    allowed = access.is_permitted(request.user, "execute", line.project)
    is_live = _is_draft_live(line) and not (
        examination.line and four_eyes.is_live_version_published_by_one(line, examination.line)
    )
    return {
        "blockers": [_finding_row(line, examination, finding) for finding in examination.errors],
        "warnings": [
            {**_finding_row(line, examination, warning), "key": key, "ticked": key in ticked}
            for warning in warnings
            for key in (publish_review.warning_key(warning),)
        ],
        "notes": sum(finding.severity == INFO for finding in examination.findings),
        "digest": publish_review.findings_digest(examination),
        "forbidden": [] if allowed else executes,
        "same": not examination.errors and examination.line is not None and is_live,
        **request_context(line, request.user, examination.line),
    }


def _guarantees_context(request: HttpRequest, line: Line) -> dict[str, Any]:
    return {"rows": guarantees_of(line)}


def _is_draft_live(line: Line) -> bool:
    try:
        return publish_review.draft_changes_or_none(line) == ()
    except Invalid:
        return False


def _finding_row(line: Line, examination: Examination, finding: Finding) -> dict[str, Any]:
    """A finding with the way to its place on the canvas."""
    (view,) = finding_views([finding], line.draft, examination.line)
    at = {"station": finding.station, "rule": finding.rule} if finding.station else {}
    query = urlencode({key: value for key, value in at.items() if value})
    page = reverse("line-draw", args=[line.project.owner.key, line.project.key, line.key])
    return {
        "each": view,
        "finding": finding,
        "url": f"{page}#{query}" if query else page,
        "where": _finding_place(view),
    }


def _finding_place(view: FindingView) -> str:
    return view.finding.station or view.finding.path


def _difference_context(request: HttpRequest, line: Line) -> dict[str, Any]:
    if line.live is None:
        return {"first": True}
    try:
        sides = [
            version_comparison.comparison_side(line, name)
            for name in (version_comparison.LIVE, version_comparison.DRAFT)
        ]
        compared = version_comparison.routing_difference(*sides)
    except Invalid as fault:
        return {"problems": fault.problems}
    names = [f"v{line.live.number}", "the draft"]
    return {"names": names, **difference_context(compared, MOST_SHOWN)}


def _impact_context(request: HttpRequest, line: Line) -> dict[str, Any]:
    mapping, problems = impact.chosen_mapping(request.GET), tuple[Problem, ...]()
    try:
        migration_impact = line_migration.migration_impact_of(line, None, mapping)
    except Invalid as fault:
        problems = fault.problems
        # A mapping that does not fit is left out, and said to be wrong.
        migration_impact = line_migration.migration_impact_of(line, None)
    except Conflict as fault:
        return {"problems": (Problem("", fault.detail),), "sentences": (fault.detail,)}
    return {
        "impact": migration_impact,
        "problems": problems,
        "sentences": [impact.problem_text(line, problem) for problem in problems],
        "rows": impact.position_rows(migration_impact)[:MOST_SHOWN],
        "few": f":{FEW}",
        "rest": f"{FEW}:",
        "more": max(0, len(migration_impact.tasks) - MOST_SHOWN),
        "counts": impact.effect_counts(migration_impact),
        "selects": impact.mapping_selects(line, migration_impact, mapping),
    }


PARTS: dict[str, Callable[[HttpRequest, Line], dict[str, Any]]] = {
    "changes": _changes_context,
    "findings": _findings_context,
    "guarantees": _guarantees_context,
    "difference": _difference_context,
    "impact": _impact_context,
}


# Facts of the Publish page about publishing by four eyes.


def request_context(
    line: Line, user: User | AnonymousUser, document: routing.ParsedLine | None = None
) -> dict[str, Any]:
    """Return who asks for publishing the draft, why this person does not, and what was sent back last. `document`: the
    draft, where it is one; then also the repositories that ask for it."""
    last = last_publish_request_or_none(line)
    request = last if last and is_publish_request_waiting(last, line) else None
    refused = last if last and last.state == PublishRequest.State.SENT_BACK else None
    repositories = four_eyes_repositories(line.project, document) if document else []
    return {
        "publish_request": request,
        "publish_refused": refused,
        "protected_by": repositories,
        "asks_first": bool(repositories and four_eyes.publish_obstacle_or_empty(line, request, user)),
        "hindrance": four_eyes.publish_obstacle_or_empty(line, request, user) if request else "",
    }
