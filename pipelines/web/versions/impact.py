"""Impact and migration of running tasks: Versions › Impact (docs/versions.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from pipelines import access
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.lines import line_migration
from pipelines.lines.line_migration import Impact
from pipelines.models import Line, LineVersion, Migration, MigrationEntry, VersionStation
from pipelines.queries import versions as parsed_versions
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences import impacts
from pipelines.web.shell import errors
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line

MAX_TASKS = 200
PAST = 20
LOOKS = {
    "stuck": ("danger", "danger"),
    "approve_again": ("attention", "status-awaiting_review"),
    "moves": ("active", "chevron-right"),
    "stays": ("neutral", "check"),
}
DRAFT = "draft"


@line_required("view")
@costly_view
@require_safe
def impact_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?to=7|draft&map:old=new`: what it would do to every running task; nothing is changed."""
    return _impact_page(request, line, request.GET)


@line_required("publish")
@costly_view
@require_POST
def migrate_tasks(request: SignedInRequest, line: Line) -> HttpResponse:
    form_data = request.POST
    to = _target_version_or_none_for_draft(line, form_data.get("to", ""))
    if to is None or not form_data.get("digest"):
        return errors.bad_request(request)
    try:
        made = line_migration.migrate_line(
            line,
            user=request.user,
            to=to,
            digest=form_data["digest"],
            reason=form_data.get("reason", ""),
            mapping=chosen_mapping(form_data),
        )
    except (Conflict, Forbidden, Invalid) as refused:
        return _impact_page(request, line, form_data, refused=refused)
    _report_results(request, made)
    return redirect(_impact_url(line, to))


@line_required("publish")
@require_POST
def undo_migration(request: SignedInRequest, line: Line, migration: UUID) -> HttpResponse:
    made = _get_migration(line, migration)
    try:
        undone = line_migration.undo_migration(made, user=request.user, reason=request.POST.get("reason", ""))
    except (Conflict, Forbidden, Invalid) as refused:
        return _impact_page(request, line, QueryDict(), refused=refused)
    _report_results(request, undone)
    return redirect(_impact_url(line, made.to))


@line_required("publish")
@require_POST
def continue_migration(request: SignedInRequest, line: Line, migration: UUID) -> HttpResponse:
    made = line_migration.finish_migration(_get_migration(line, migration))
    _report_results(request, made)
    return redirect(_impact_url(line, made.to))


def _impact_page(
    request: SignedInRequest,
    line: Line,
    form_data: QueryDict,
    refused: Conflict | Forbidden | Invalid | None = None,
) -> HttpResponse:
    requested = form_data.get("to", "")
    to = _target_version_or_none_for_draft(line, requested)
    mapping, context = (
        chosen_mapping(form_data),
        {"wanted": requested or (line.live.number if line.live else DRAFT)},
    )
    try:
        migration_impact: Impact | None = line_migration.migration_impact_of(line, to, mapping)
    except Invalid as fault:
        # A mapping that does not fit: said at its place, and the impact shown without it.
        refused, migration_impact = refused or fault, line_migration.migration_impact_of(line, to)
    except Conflict as fault:
        refused, migration_impact = refused or fault, None
    status = {Forbidden: 403, Invalid: 422}.get(type(refused), 409) if refused else 200
    return show_line(
        request,
        "versions/impact.html",
        line,
        status=status,
        to=to,
        choices=_target_choices(line),
        impact=migration_impact,
        rows=position_rows(migration_impact) if migration_impact else [],
        counts=effect_counts(migration_impact) if migration_impact else [],
        selects=mapping_selects(line, migration_impact, mapping) if migration_impact else [],
        refused=refused,
        reason=form_data.get("reason", ""),
        shown=MAX_TASKS,
        past=_past_migrations(line),
        **context,
    )


def _target_version_or_none_for_draft(line: Line, requested: str) -> LineVersion | None:
    """The version that is asked for; the live one where nothing is said, None for the draft."""
    if not requested and line.live:
        return line.live
    return None if requested in ("", DRAFT) else access.version_of_permitted_line(line, requested)


def chosen_mapping(form_data: QueryDict) -> dict[str, str]:
    """Fields `map:old` with a station chosen."""
    chosen = {key.removeprefix("map:"): form_data.get(key, "") for key in form_data if key.startswith("map:")}
    return {old: str(new) for old, new in chosen.items() if new}


def _target_choices(line: Line) -> list[tuple[str, str]]:
    numbers = line.versions.order_by("-number").values_list("number", "name")[:50]
    choices = [(str(number), f"v{number}" + (f" · {name}" if name else "")) for number, name in numbers]
    return [*choices, (DRAFT, "The draft")]


def position_rows(migration_impact: Impact) -> list[dict[str, Any]]:
    """Return a row for each position, the worst first."""
    # `counts` names the effects from the worst on.
    order = list(migration_impact.counts)
    tasks = sorted(migration_impact.tasks, key=lambda task_impact: order.index(task_impact.worst_effect))
    return [
        {
            "task": task_impact.task,
            "status": token.status,
            "label": impacts.effect_label(effect.effect),
            "tone": LOOKS[effect.effect][0],
            "icon": LOOKS[effect.effect][1],
            "words": words,
            "error": effect.error,
        }
        for task_impact in tasks[:MAX_TASKS]
        for token, effect, words in task_impact.positions
    ]


def effect_counts(migration_impact: Impact) -> list[tuple[int, str, str]]:
    return [
        (n, impacts.effect_label(effect), LOOKS[effect][0])
        for effect, n in migration_impact.counts.items()
        if n
    ]


def mapping_selects(line: Line, migration_impact: Impact, mapping: dict[str, str]) -> list[dict[str, Any]]:
    """A choice for every station that is gone and matters, and for those that were mapped already."""
    names = _station_names(line, migration_impact.versions)
    keys = dict.fromkeys(
        [*migration_impact.unmapped_stations, *mapping, *migration_impact.task_counts_by_gone_next_station]
    )
    options = [
        ("", "Choose a station"),
        *((station.key, station.name) for station in migration_impact.parsed.stations),
    ]
    return [
        {
            "name": f"map:{key}",
            "label": names.get(key, key),
            "value": mapping.get(key, ""),
            "options": options,
            "help": _mapping_help_or_empty(migration_impact, key),
        }
        for key in keys
    ]


def _mapping_help_or_empty(migration_impact: Impact, key: str) -> str:
    if key in migration_impact.unmapped_stations:
        n = migration_impact.unmapped_stations[key]
        return singular_or_plural("%(n)s task is there.", "%(n)s tasks are there.", n) % {"n": n}
    if key in migration_impact.task_counts_by_gone_next_station:
        n = migration_impact.task_counts_by_gone_next_station[key]
        text = singular_or_plural(
            "The work of %(n)s task may lead there.", "The work of %(n)s tasks may lead there.", n
        )
        return text % {"n": n}
    return ""


def problem_text(line: Line, problem: Problem) -> str:
    """Describe a problem with the name of the station that a mapping is about in place of its key."""
    message = people_text(problem.message)
    kind, _dot, key = problem.path.partition(".")
    if kind != "mapping" or not key:
        return f"{problem.path}: {message}" if problem.path else message
    known = VersionStation.objects.filter(version__line=line, key=key).order_by("-version__number")
    name = known.values_list("name", flat=True).first() or key
    return f"“{name}” {message}"


def _station_names(line: Line, numbers: Iterable[int]) -> dict[str, str]:
    # By number, so that the newest name of a station counts.
    known = line.versions.filter(number__in=list(numbers)).order_by("number")
    parsed: list[ParsedLine] = [
        parsed_versions.parsed_line_by_version_id(pk) for pk in known.values_list("pk", flat=True)
    ]
    return {station.key: station.name for version in parsed for station in version.stations}


def _past_migrations(line: Line) -> list[dict[str, Any]]:
    """The newest migrations, each with what became of its tasks."""
    rows = line_migration.migrations_newest_first(line)[:PAST]
    undone = set(Migration.objects.filter(undoes__line=line).values_list("undoes_id", flat=True))
    return [
        {
            "migration": migration,
            "sums": _result_summary(migration),
            "others": migration.entries.exclude(
                result__in=("migrated", "restored", "planned")
            ).select_related("task__project")[:50],
            "undoable": migration.to_id and migration.finished_at and migration.pk not in undone,
            "undone": migration.pk in undone,
        }
        for migration in rows
    ]


def _result_summary(made: Migration) -> str:
    counts = line_migration.task_count_by_result(made)
    return ", ".join(
        f"{n} {MigrationEntry.Result(result).label}".lower() for result, n in sorted(counts.items())
    )


def _get_migration(line: Line, migration: UUID) -> Migration:
    stored_migration = get_object_or_404(line_migration.migrations_newest_first(line).filter(pk=migration))
    # Loaded already, with its project
    stored_migration.line = line
    return stored_migration


def _report_results(request: SignedInRequest, made: Migration) -> None:
    messages.success(request, _result_summary(made).capitalize() or "No task was left to do.")


def _impact_url(line: Line, to: LineVersion | None) -> str:
    address = reverse("line-impact", args=[line.project.owner.key, line.project.key, line.key])
    return f"{address}?to={to.number}" if to else address
