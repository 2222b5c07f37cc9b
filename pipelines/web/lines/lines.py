"""Lines of a project: import, overview, versions, export. Changing one: `edit`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_safe

from pipelines import access
from pipelines.errors import Conflict, Invalid
from pipelines.formats import native
from pipelines.formats.foreign import document_import
from pipelines.formats.foreign.document_export import document_dialect, export_document
from pipelines.formats.foreign.known_systems import systems_by_key, written_systems
from pipelines.lines import publish_review, publishing
from pipelines.lines.starters.catalogue import BY_KEY, STARTERS, Starter
from pipelines.lines.starters.commands import StationCommands, template_with_commands
from pipelines.models import Line, Pause, Project, Repository
from pipelines.people.repositories import corrected_proposal
from pipelines.queries import line_stats, unclaimable_jobs
from pipelines.queries import versions as parsed_versions
from pipelines.queries.pauses import pause_views_of_line, paused_stations
from pipelines.queries.workers import unenforced_networks_of_project
from pipelines.routing.analysis.lint.guarantee_findings import REFUTED
from pipelines.routing.basics.keys import first_unused_key
from pipelines.routing.basics.wording import as_sentence, people_text
from pipelines.routing.document.line import DocumentError, ParsedLine, Problem, read_line
from pipelines.routing.document.networks import document_to_publish, published_document
from pipelines.web.lines.document_paths import path_text
from pipelines.web.lines.drawing import (
    LineDrawing,
    drawing_of_live_version_or_draft,
    drawing_with_stored_svg,
    picture_of,
)
from pipelines.web.lines.findings import place_text, readable_problems
from pipelines.web.lines.guarantees import (
    first_gate_guarantee_id_or_empty,
    own_and_required_guarantee_views,
    proved_count,
)
from pipelines.web.lines.images import hand_over_url_or_empty
from pipelines.web.lines.marks import path_marking_paused_stations_or_empty
from pipelines.web.lines.overview import gate_summaries, input_summaries, station_summaries, trigger_summaries
from pipelines.web.shell.forms import EmptyLineForm, ImportForm
from pipelines.web.shell.page import (
    SignedInRequest,
    costly_view,
    line_required,
    project_breadcrumb,
    project_required,
    render_in_shell,
    show_line,
)

EXAMPLE = """\
gateline: 1
key: my-line
name: My line
stations:
  - key: prepare
    work: {kind: manual, instructions: "Say what is to be done."}
    rules:
      - {id: prepared, when: {result: success}, to: completed, gates: [review]}
gates:
  - {key: review, name: Review}
"""
MEDIA = {"yaml": "application/yaml", "json": "application/json"}


@project_required("design")
@costly_view
@require_http_methods(["GET", "HEAD", "POST"])
def new_line(request: SignedInRequest, project: Project) -> HttpResponse:
    """A new line: an empty one, one like a template, or one from a document, pasted or as a file."""
    made: Line | None
    if starter := BY_KEY.get(request.POST.get("starter", "")):
        made = _create_line(
            request, project, starter.key, starter.line.name, _starter_document(project, starter)
        )
        return redirect("line-draw", project.owner.key, project.key, made.key)
    empty = EmptyLineForm(request.POST if "empty" in request.POST else None)
    if empty.is_valid():
        made = _create_empty_line(request, project, empty.cleaned_data["name"])
        return redirect("line-draw", project.owner.key, project.key, made.key)
    # The page has two forms; the one that was not sent stays fresh.
    form = ImportForm(None if empty.is_bound else request.POST or None, request.FILES or None)
    problems: list[Problem] = []
    converted: document_import.ImportedDocument | None = None
    if form.is_valid():
        made, problems, converted = _import_line(request, project, form)
        if made:
            return redirect("line-draw", project.owner.key, project.key, made.key)
    return render_in_shell(
        request,
        "lines/new.html",
        project=project,
        section="lines",
        trail=project_breadcrumb(project, "New line"),
        status=422 if empty.is_bound or (form.is_bound and not converted) else 200,
        converted=_conversion_context(converted, project) if converted else None,
        empty=empty,
        form=form,
        problems=problems,
        example=EXAMPLE,
        starters=starter_drawings(),
        text=converted.text if converted else form.submitted_text(),
    )


def _conversion_context(opened: document_import.ImportedDocument, project: Project) -> dict[str, Any]:
    """Return the result of a conversion, in numbers, and what differs."""
    stations = opened.document["stations"]
    try:
        parsed = read_line(opened.document, keep_faulty_rules=True)
        drawing = drawing_with_stored_svg(picture_of(parsed), project.pk)
    except DocumentError:
        drawing = None
    return {
        "drawing": drawing,
        "system": opened.system_name,
        "name": opened.document["name"],
        "stations": len(stations),
        "rules": sum(len(station["rules"]) for station in stations),
        "gates": len(opened.document.get("gates", ())),
        "different": len(opened.losses),
        "losses": _losses_by_message(opened),
    }


def _losses_by_message(opened: document_import.ImportedDocument) -> list[dict[str, Any]]:
    """Return each difference once, with all of its places."""
    by_message: dict[tuple[str, str], list[Problem]] = {}
    for loss in opened.losses:
        by_message.setdefault((str(loss.message), str(loss.hint)), []).append(loss)
    return [
        {"said": places[0], "places": [_place_of_loss_text(problem, opened.given) for problem in places]}
        for places in by_message.values()
    ]


def _place_of_loss_text(problem: Problem, document: object) -> str:
    line = f"line {problem.line}" if problem.line else ""
    return " · ".join(filter(None, (path_text(document, problem.path), line)))


def _create_line(
    request: SignedInRequest,
    project: Project,
    stem: str,
    name: str,
    document_with_key: Callable[[str], str | dict[str, Any]],
) -> Line:
    """A line under a key that is free: `document_with_key` makes it. Raises Conflict: others are faster."""
    used_keys = set(project.lines.filter(key__startswith=stem).values_list("key", flat=True))
    # Somebody else may take it before this is written: the constraint refuses the second
    key = first_unused_key(stem, used_keys)
    return publishing.create_line(project, key, name, document_with_key(key), request.user)


def proposed_commands_or_none(repository: Repository) -> StationCommands | None:
    """Return the commands that the files of the repository propose; None where nothing is known of it."""
    proposal = corrected_proposal(repository)
    if not proposal.ecosystem:
        return None
    return StationCommands.from_typed_texts(
        proposal.lint,
        proposal.tests,
        proposal.audit,
        update=proposal.update,
        version=proposal.version,
        publish=proposal.publish,
    )


def _starter_document(project: Project, starter: Starter) -> Callable[[str], str | dict[str, Any]]:
    """Return the starter's document with the commands of the repository connected last, where its files
    propose some."""
    latest = project.repositories.exclude(proposed=None).order_by("-connected_at").first()
    commands = proposed_commands_or_none(latest) if latest and starter.line.workspace else None
    return (
        starter.text_with_key
        if commands is None
        else lambda key: template_with_commands(starter.text_with_key(key), commands)
    )


def _create_empty_line(request: SignedInRequest, project: Project, name: str) -> Line:
    def empty_document(key: str) -> dict[str, Any]:
        return {"gateline": 1, "key": key, "name": name, "stations": []}

    # Of a name of signs alone nothing is left.
    return _create_line(request, project, slugify(name)[:40].strip("-_") or "line", name, empty_document)


def starter_drawings() -> tuple[tuple[Starter, LineDrawing], ...]:
    """The templates, each with the line drawn."""
    return tuple(
        (starter, drawing_with_stored_svg(drawing, None)) for starter, drawing in _starter_drawings()
    )


@cache
def _starter_drawings() -> tuple[tuple[Starter, LineDrawing], ...]:
    return tuple((starter, picture_of(starter.line)) for starter in STARTERS)


class ImportOutcome(NamedTuple):
    """Line that an import made; else what is wrong; else what a document of another system became."""

    line: Line | None
    problems: list[Problem]
    converted: document_import.ImportedDocument | None


def _import_line(request: SignedInRequest, project: Project, form: ImportForm) -> ImportOutcome:
    """Create the line of a document, unless it is wrong or has to be looked at first."""
    document: Mapping[str, Any] = {}
    try:
        opened = form.open_document()
        # Nothing is stored before somebody has seen what differs.
        if opened.dialect:
            return ImportOutcome(None, [], opened)
        document = opened.document
        key, name = document.get("key"), document.get("name") or document.get("key")
        if not isinstance(key, str) or not isinstance(name, str):
            hint = "A line is identified by its key, for example “key: my-line”."
            return ImportOutcome(
                None, readable_problems([Problem("key", "is missing", hint)], document), None
            )
        return ImportOutcome(publishing.create_line(project, key, name, opened.text, request.user), [], None)
    except (DocumentError, Invalid) as fault:
        # What could not be opened may be of another system, whose fields no form has.
        problems = (
            readable_problems(fault.problems, document)
            if document
            else list(map(_readable_problem, fault.problems))
        )
        return ImportOutcome(None, problems, None)
    except Conflict as conflict:
        hint = "Change the key, or edit the existing line."
        return ImportOutcome(None, [Problem("", conflict.detail, hint)], None)


def _readable_problem(problem: Problem) -> Problem:
    """Return the problem in words, for a document of which nothing but the place is known."""
    place = path_text(None, problem.path)
    message = f"{place}: {people_text(problem.message)}" if place else problem.message
    return replace(problem, path="", message=as_sentence(message), hint=as_sentence(problem.hint))


def live_line_or_draft_and_problems(line: Line) -> tuple[ParsedLine | None, list[Problem]]:
    """The live version as parsed; of a line without one, its draft, if that can be drawn."""
    if line.live_id:
        return parsed_versions.parsed_line_by_version_id(line.live_id), []
    try:
        return read_line(document_to_publish(line.draft), keep_faulty_rules=True), []
    except DocumentError as fault:
        return None, list(fault.problems)


@line_required("view")
@require_safe
def line_overview_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?part=draft`: how many problems the draft has, which comes after the page."""
    if request.GET.get("part") == "draft":
        return _draft_problems(request, line)
    parsed, problems = live_line_or_draft_and_problems(line)
    guarantees = own_and_required_guarantee_views(parsed, line.live_id, line.project) if parsed else []
    pauses = list(Pause.in_force_on(line)) if line.live_id else []
    drawing = drawing_of_live_version_or_draft(line, parsed)
    return show_line(
        request,
        "lines/line.html",
        line,
        pauses=pause_views_of_line(pauses, parsed),
        told=path_marking_paused_stations_or_empty(paused_stations(pauses)),
        parsed=parsed,
        problems=readable_problems(problems, line.draft),
        drawing=drawing,
        hand_over=hand_over_url_or_empty(drawing, line.project, request.user) if drawing else "",
        stations=station_summaries(parsed, unenforced_networks_of_project(timezone.now(), line.project_id))
        if parsed
        else [],
        gates=gate_summaries(parsed) if parsed else [],
        inputs=input_summaries(parsed) if parsed else [],
        guarantees=guarantees,
        proved=proved_count(guarantees),
        guarded=first_gate_guarantee_id_or_empty(parsed) if parsed else "",
        refuted_live=line.live_id is not None
        and any(guarantee.answer == REFUTED for guarantee in guarantees),
        draft_differs=does_draft_differ_from_live(line),
        triggers=trigger_summaries(line),
        lately=line_stats.line_stats(line.pk) if line.live_id else None,
        unclaimed=unclaimable_jobs.unclaimable_in_line(line.pk) if line.live_id else [],
    )


@costly_view
def _draft_problems(request: SignedInRequest, line: Line) -> HttpResponse:
    examination = publishing.check_draft(line)
    count = len(examination.errors) + len(publish_review.warning_findings(examination))
    return render(request, "lines/line/draft_problems.html", {"count": count})


def does_draft_differ_from_live(line: Line) -> bool:
    """Return whether the draft differs from the live version. Positions on the canvas, and notes there, mean
    nothing to a task."""
    if line.live is None:
        return True
    try:
        parsed = read_line(line.draft)
    except DocumentError:
        return True
    draft = _document_without_drawing(document_to_publish(parsed.to_document()))
    # A line that says nothing of jumps allows none, and under revision 2 all (law §12).
    jumps_differ = parsed_versions.parsed_line_by_version_id(line.live.pk).jump_targets != parsed.jump_targets
    return jumps_differ or draft != _document_without_drawing(line.live.document)


def _document_without_drawing(document: Mapping[str, Any]) -> dict[str, Any]:
    # `extra.editor` is what the canvas keeps: positions and notes.
    extra = {key: value for key, value in document.get("extra", {}).items() if key != "editor"}
    bare = {key: value for key, value in document.items() if key != "extra"}
    return {**bare, "extra": extra} if extra else bare


@line_required("view")
@costly_view
@require_safe
def export_line(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?as=yaml|json`, `?version=n` or the live one, `?version=draft` for the draft as it was typed; `?dialect=` shows
    what the document of another system would lose."""
    kind = request.GET.get("as", "yaml")
    if kind not in MEDIA:
        raise Http404
    document, text, mark = exported_document(line, request.GET.get("version", ""))
    dialect = request.GET.get("dialect", "")
    # The form cannot know the preset of a draft
    if dialect == "own":
        dialect = document_dialect(document)
    if dialect in written_systems():
        return _dialect_page(request, line, document, dialect, mark)
    if kind == "json":
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    elif not text:
        text = native.dumps(document)
    response = HttpResponse(text, content_type=f"{MEDIA[kind]}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{line.key}-{mark}.{kind}"'
    return response


def _dialect_page(
    request: SignedInRequest, line: Line, document: Mapping[str, Any], dialect: str, mark: str
) -> HttpResponse:
    """Show what the document loses in another system's dialect, and with `?download` return the document."""
    try:
        made = export_document(document, dialect)
    except DocumentError as fault:
        raise Http404 from fault
    if "download" in request.GET:
        response = HttpResponse(made.text, content_type=f"{MEDIA[made.suffix]}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{line.key}-{mark}.{dialect}.{made.suffix}"'
        return response
    return show_line(
        request,
        "lines/dialect.html",
        line,
        made=made,
        losses=[
            {"message": loss.message, "hint": loss.hint, "place": place_text(document, loss.path)}
            for loss in made.losses
        ],
        system=systems_by_key()[dialect].name,
        systems={key: system.name for key, system in written_systems().items()},
        version=request.GET.get("version", ""),
    )


class ExportedDocument(NamedTuple):
    """Document of a line; `text` as somebody typed it, else ""; `file_mark`: part of the file's name, such as `v3`."""

    document: dict[str, Any]
    text: str
    file_mark: str


def exported_document(line: Line, requested_version: str) -> ExportedDocument:
    """Return a version of a line, or its draft, as it is downloaded. Raises NotFound."""
    if requested_version == "draft" or (not requested_version and line.live is None):
        return ExportedDocument(line.draft, line.draft_text, "draft")
    version = (
        access.version_of_permitted_line(line, requested_version)
        if requested_version or line.live is None
        else line.live
    )
    return ExportedDocument(published_document(version.document, version.revision), "", f"v{version.number}")
