"""Editing a line by its document: errors at their line, drafts that never overwrite another's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from pipelines import access
from pipelines.errors import Invalid
from pipelines.formats import native
from pipelines.lines import publishing
from pipelines.models import Line
from pipelines.routing.analysis.lint.examination import Examination, unreadable_examination
from pipelines.routing.analysis.lint.finding import ERROR, INFO, WARNING
from pipelines.routing.document.line import DocumentError, Problem
from pipelines.web.lines import lines
from pipelines.web.lines.findings import MOST, finding_views
from pipelines.web.shell.forms import DraftTextForm
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line


def draft_text(line: Line) -> str:
    """Return the draft as it was typed; a draft made elsewhere, as YAML."""
    return line.draft_text or native.dumps(line.draft)


@line_required("design")
@costly_view
@require_http_methods(["GET", "HEAD", "POST"])
def edit_text_page(request: SignedInRequest, line: Line) -> HttpResponse:
    if request.method != "POST":
        return _stored_draft_page(request, line)
    form = DraftTextForm(request.POST)
    if not form.is_valid():
        # What the form refuses may be NUL, which no page shows.
        typed = request.POST.get("text", "").replace("\0", "")
        problems = [Problem("", str(fault)) for faults in form.errors.values() for fault in faults]
        return _edit_page(request, line, typed, unreadable_examination(problems), status=422, unsaved=True)
    # Browsers send line ends of two characters.
    text = form.cleaned_data["text"].replace("\r\n", "\n")
    try:
        saved = publishing.save_draft(line, text, request.user, form.cleaned_data["based_on"])
    except publishing.DraftConflict as conflict:
        return conflict_page(request, line, text, conflict)
    except (DocumentError, Invalid) as fault:
        placed = _problems_with_text_lines(text, fault.problems)
        return _edit_page(request, line, text, unreadable_examination(placed), status=422, unsaved=True)
    messages.success(request, "Draft saved")
    return redirect("line-edit", line.project.owner.key, line.project.key, saved.key)


def conflict_page(
    request: SignedInRequest, line: Line, typed: str, conflict: publishing.DraftConflict
) -> HttpResponse:
    """Show the typed text, which is not lost, beside the stored one; saving again from here is a decision,
    not an accident."""
    # Read anew: `line` is what it was before somebody else saved
    stored = access.line_of_permitted_project(line.project, line.key)
    return show_line(
        request,
        "lines/conflict.html",
        line,
        status=409,
        line=stored,
        typed=typed,
        stored=draft_text(stored),
        conflict=conflict,
    )


def _problems_with_text_lines(text: str, problems: Sequence[Problem]) -> Sequence[Problem]:
    """Return the problems with the line of the text for each. A text that cannot be read names its own line
    already."""
    if not problems or any(problem.line for problem in problems):
        return problems
    return native.problems_with_places(text, problems)


def _stored_draft_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """The page of the draft as it is stored, with what lint says of it."""
    text = draft_text(line)
    return _edit_page(request, line, text, publishing.check_draft(line, text), line.draft)


def _edit_page(
    request: SignedInRequest,
    line: Line,
    text: str,
    examined: Examination,
    document: object = None,
    status: int = 200,
    unsaved: bool = False,
) -> HttpResponse:
    findings = examined.findings
    context: dict[str, Any] = {
        "line": line,
        "text": text,
        "findings": finding_views(findings, document, examined.line),
        "more_findings": max(len(findings) - MOST, 0),
        "errors": [finding for finding in findings if finding.severity == ERROR],
        "warnings": [finding for finding in findings if finding.severity == WARNING],
        "notes": [finding for finding in findings if finding.severity == INFO],
        "unsaved": unsaved,
        "draft_differs": lines.does_draft_differ_from_live(line),
    }
    return show_line(
        request,
        "lines/edit.html",
        line,
        status=status,
        **context,
    )
