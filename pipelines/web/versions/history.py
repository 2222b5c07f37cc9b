"""The versions of a line: what each changed, on the canvas and in words; restoring one as a draft, and naming it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pipelines import access
from pipelines.errors import Invalid
from pipelines.formats import native
from pipelines.lines import publish_review, publishing, version_comparison
from pipelines.lines import version_history as operations
from pipelines.models import Line, LineEvent, LineVersion
from pipelines.queries import versions as parsed_versions
from pipelines.queries.workers import unenforced_networks_of_project
from pipelines.routing.basics.problems import Problem
from pipelines.routing.document.networks import published_document
from pipelines.routing.sentences.sampling import fallback_cause
from pipelines.web.lines import lines
from pipelines.web.lines.change_groups import (
    change_legend,
    change_totals,
    group_changes,
    stored_svg_of_comparison,
)
from pipelines.web.lines.drawing import drawing_of_version
from pipelines.web.lines.findings import readable_problems
from pipelines.web.lines.overview import gate_summaries, station_summaries
from pipelines.web.shell import errors
from pipelines.web.shell.forms import RestoreForm, VersionNameForm
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line

LISTED = 200
PUT_ASIDE = 20


@dataclass(frozen=True)
class VersionEntry:
    """Entry of the list: a version, the draft, or a draft that was put aside. `side`: its name in addresses."""

    side: str
    title: str
    name: str = ""
    who: str = ""
    at: datetime | None = None
    live: bool = False
    aside: bool = False


@line_required("view")
@costly_view
@require_safe
def versions_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?to=`: what is looked at; `?from=`: what it is compared with, the version before it unless told."""
    return _versions_page(request, line)


@line_required("view")
@costly_view
@require_safe
def version_page(request: SignedInRequest, line: Line, number: int) -> HttpResponse:
    line_version = access.version_of_permitted_line(line, number)
    parsed = parsed_versions.parsed_version(line_version)
    return show_line(
        request,
        "versions/version.html",
        line,
        version=line_version,
        text=native.dumps(published_document(line_version.document, line_version.revision)),
        drawing=drawing_of_version(line_version, line.project_id),
        stations=station_summaries(parsed, unenforced_networks_of_project(timezone.now(), line.project_id)),
        gates=gate_summaries(parsed),
        parsed=parsed,
    )


@line_required("design")
@costly_view
@require_POST
def restore_version(request: SignedInRequest, line: Line) -> HttpResponse:
    """302 to the canvas · 400 no form of the page · 404 no such version · 409 the draft was saved meanwhile."""
    form = RestoreForm(request.POST)
    if not form.is_valid():
        return errors.bad_request(request)
    source = form.cleaned_data["source"]
    try:
        stored = operations.restore_as_draft(line, source, request.user, form.cleaned_data["based_on"])
    except publishing.DraftConflict as conflict:
        return _versions_page(request, line, source, conflict, status=409)
    except operations.NothingToRestore as refused:
        messages.info(request, refused.detail)
        return redirect("line-draw", line.project.owner.key, line.project.key, line.key)
    aside = stored.record.filter(kind=LineEvent.RecordKind.RESTORED).order_by("-pk").first()
    message = f"{_side_title(source)} is now the draft."
    if aside and aside.draft is not None:
        message += " " + f"Draft {aside.data['draft']} is kept among the versions."
    messages.success(request, message)
    return redirect("line-draw", line.project.owner.key, line.project.key, line.key)


@line_required("design")
@require_POST
def rename_version(request: SignedInRequest, line: Line, number: int) -> HttpResponse:
    line_version = access.version_of_permitted_line(line, number)
    form = VersionNameForm(request.POST)
    if not form.is_valid():
        return errors.bad_request(request)
    try:
        operations.name_version(line_version, form.cleaned_data["name"], request.user)
    except Invalid as fault:
        return _versions_page(request, line, str(number), problem=fault.problems[0], status=422)
    return redirect(f"{_versions_url(line)}?to={number}")


def _versions_page(
    request: SignedInRequest,
    line: Line,
    to: str = "",
    conflict: publishing.DraftConflict | None = None,
    problem: Problem | None = None,
    status: int = 200,
) -> HttpResponse:
    # After a conflict the line in hand is older than what is stored.
    stored = access.line_of_permitted_project(line.project, line.key) if conflict else line
    # Large, and of no use in a list
    rows = list(stored.versions.select_related("published_by").defer("document").order_by("-number")[:LISTED])
    differs = lines.does_draft_differ_from_live(stored)
    entries = _version_entries(stored, rows, differs)
    to = to or request.GET.get("to") or entries[0].side
    before = request.GET.get("from") or _default_side_or_empty(stored, to, rows)
    return show_line(
        request,
        "versions/versions.html",
        line,
        status=status,
        line=stored,
        versions=rows,
        entries=entries,
        to=to,
        before=before,
        choices=[
            (entry.side, entry.title) for entry in [*entries, *_draft_entry_unless_different(stored, differs)]
        ],
        current=next((entry for entry in entries if entry.side == to), None),
        chosen=next((row for row in rows if str(row.number) == to), None),
        unpublished=differs,
        conflict=conflict,
        problem=problem,
        # The first version has nothing beside it, so no sign of a change either
        legend=change_legend() if before else (),
        picture_url=f"{reverse('api-1:line-picture', args=_line_keys(stored))}?from={before or to}&to={to}",
        still=stored_svg_of_comparison(stored, before or to, to),
        record=_record_rows(stored),
        rail=True,
        **{**NOT_COMPARED, **_comparison_context(stored, before, to)},
    )


NOT_COMPARED: Mapping[str, Any] = {"first": False, "groups": (), "totals": None, "problems": ()}


def _comparison_context(line: Line, before: str, to: str) -> dict[str, Any]:
    """Raises NotFound: no such version."""
    new = version_comparison.comparison_side(line, to)
    if not before:
        return {"first": True}
    old = version_comparison.comparison_side(line, before)
    try:
        apart = version_comparison.compare_documents(old, new)
    except Invalid as fault:
        return {"problems": readable_problems(fault.problems, line.draft)}
    # Who made a change is known of those since the live version alone.
    of_the_draft = (
        to == version_comparison.DRAFT and line.live is not None and before in ("live", str(line.live.number))
    )
    hands = (
        (lambda change: publish_review.change_authors_oldest_first(line, change))
        if of_the_draft
        else (lambda _change: ())
    )
    change_groups = group_changes(apart, hands)
    return {"groups": change_groups, "totals": change_totals(change_groups)}


def _version_entries(line: Line, rows: list[LineVersion], differs: bool) -> list[VersionEntry]:
    """Newest first, the draft on top where it says anything else than what is live."""
    entries = [
        VersionEntry(
            str(row.number),
            f"v{row.number}",
            row.name,
            str(row.published_by or "Gateline"),
            row.published_at,
            live=row.pk == line.live_id,
        )
        for row in rows
    ]
    draft_events = (
        line.record.filter(draft__isnull=False).order_by("-pk").defer("draft", "draft_text")[:PUT_ASIDE]
    )
    entries += [
        VersionEntry(
            f"{version_comparison.ASIDE}{event.pk}",
            f"Draft {event.data.get('draft', '')}",
            who=event.data.get("by", ""),
            at=datetime.fromisoformat(event.data["saved"]) if event.data.get("saved") else event.at,
            aside=True,
        )
        for event in draft_events
    ]
    entries.sort(key=lambda entry: entry.at.timestamp() if entry.at else 0, reverse=True)
    return [_draft_entry(line), *entries] if differs else entries


def _draft_entry(line: Line) -> VersionEntry:
    title = f"Draft {line.draft_number}"
    return VersionEntry(version_comparison.DRAFT, title, who=str(line.draft_by or ""), at=line.draft_at)


def _draft_entry_unless_different(line: Line, differs: bool) -> list[VersionEntry]:
    return [] if differs else [_draft_entry(line)]


def _default_side_or_empty(line: Line, to: str, rows: list[LineVersion]) -> str:
    """Return the default side of a comparison: for a version the one before it, for a draft the live version."""
    # `draft`, `live`, or a draft that was put aside
    if not (to.isascii() and to.isdigit() and len(to) < 10):
        return str(line.live.number) if line.live else ""
    return next((str(row.number) for row in rows if row.number < int(to)), "")


def _record_rows(line: Line) -> list[dict[str, Any]]:
    rows = line.record.select_related("version", "by").defer("version__document", "draft", "draft_text")
    return [
        {"sentence": _event_sentence(event), "by": event.by or "Gateline", "at": event.at}
        for event in rows.order_by("-pk")[:50]
    ]


def _event_sentence(event: LineEvent) -> str:
    number = event.version.number if event.version else 0
    match event.kind:
        case LineEvent.RecordKind.NAMED:
            return f"Named v{number} “{event.data.get('name', '')}”"
        case LineEvent.RecordKind.RESTORED:
            return f"Restored {_side_title(event.data.get('source', ''))} as the draft"
        case LineEvent.RecordKind.NOT_MIGRATED:
            return f"Running tasks were not migrated to v{number}: {event.data.get('why', '')}"
        case LineEvent.RecordKind.REREAD:
            refuted = event.data.get("refuted", ())
            sentence = "Guarantees of v%(n)s read anew: all that were proved hold"
            if refuted:
                sentence = "Guarantees of v%(n)s read anew: %(refuted)s do not hold"
            return sentence % {"n": number, "refuted": ", ".join(refuted)}
        case LineEvent.RecordKind.ASKS_ALL:
            cause = fallback_cause(event.data["cause"], event.data["task"])
            return f"{event.data['name']} asks about all again: {cause}"
        case LineEvent.RecordKind.SAMPLES:
            return f"{event.data['name']} asks about a sample again"
    accepted = len(event.data.get("warnings", ()))
    sentence = f"Published v{number}"
    return sentence + (f", {accepted} warnings accepted" if accepted else "")


def _side_title(side: str) -> str:
    return "A draft that was put aside" if side.startswith(version_comparison.ASIDE) else f"v{side}"


def _line_keys(line: Line) -> list[str]:
    return [line.project.owner.key, line.project.key, line.key]


def _versions_url(line: Line) -> str:
    return reverse("line-versions", args=_line_keys(line))
