"""The tests of a line: its scenarios with their last runs, and what they cover (docs/testing.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pipelines.errors import Invalid, Refused
from pipelines.formats import scenarios as texts
from pipelines.lines import scenarios
from pipelines.lines.scenarios import DRAFT, LIVE, DraftUnreadable, LastRun, ScenarioSubject
from pipelines.models import Line, Scenario, Task
from pipelines.queries.scenario_recording import scenario_recorded_from_task
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import Problem
from pipelines.routing.sentences import part_names
from pipelines.routing.simulate.coverage import Coverage
from pipelines.routing.simulate.scenario_generation import MissingScenario
from pipelines.web.lines.findings import readable_problems
from pipelines.web.shell.page import SignedInRequest, costly_view, line_required, show_line, task_required

MAX_ROWS = 500
"""Scenarios on the page; the file has them all."""
MISSING_SHOWN = 100
"""Rules without a scenario on the page; the command line names them all."""


@dataclass(frozen=True, slots=True)
class RunView:
    """A cell: of which draft or version the last run was, and how it went."""

    run: LastRun
    at: datetime


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    scenario: Scenario
    live: RunView | None
    draft: RunView | None


@dataclass(frozen=True, slots=True)
class RuleCoverageRow:
    """`state`: taken, tested or never."""

    name: str
    station: str
    state: str


@line_required("view")
@costly_view
@require_safe
def scenarios_page(request: SignedInRequest, line: Line) -> HttpResponse:
    """`?against=live` or `draft`: of which one the coverage is shown."""
    return _scenarios_page(request, line, request.GET.get("against", ""))


@line_required("view")
@partial(costly_view, saves=False)
@require_POST
def run_scenarios(request: SignedInRequest, line: Line) -> HttpResponse:
    against = _requested_subject_or_empty(request)
    try:
        report = scenarios.run_stored_scenarios(line, against, now=timezone.now())
    except (DraftUnreadable, Refused) as refused:
        return _scenarios_page(request, line, against, refused=refused)
    failed = report.failed_count
    message = singular_or_plural(
        "%(failed)d of %(all)d scenario failed", "%(failed)d of %(all)d scenarios failed", len(report.results)
    )
    if not report.results:
        messages.warning(request, "There are no scenarios to run. Record one, or generate one for each rule.")
    elif failed:
        messages.warning(request, message % {"failed": failed, "all": len(report.results)})
    else:
        messages.success(request, "All scenarios passed")
    return _redirect_to_scenarios(line, against)


@line_required("design")
@costly_view
@require_POST
def generate_scenarios(request: SignedInRequest, line: Line) -> HttpResponse:
    """Generate scenarios in place of those generated before, and run them at once. Answers the page when
    rules are left out."""
    against = _requested_subject_or_empty(request)
    try:
        # Bounded in time; the rules that are left out are named.
        going = scenarios.condition_until_generating_time_ends()
        rows, generated = scenarios.stored_and_generated_scenarios(
            line, request.user, timezone.now(), against, going
        )
        scenarios.run_stored_scenarios(line, against, [row.key for row in rows], now=timezone.now())
    except (DraftUnreadable, Refused) as refused:
        return _scenarios_page(request, line, against, refused=refused)
    message = singular_or_plural("%d scenario generated", "%d scenarios generated", len(rows)) % len(rows)
    if generated.missing:
        return _scenarios_page(
            request, line, against, missing=generated.missing, stopped=generated.stopped, message=message
        )
    messages.success(request, message)
    return _redirect_to_scenarios(line, against)


@task_required("design")
@costly_view
@require_POST
def record_task(request: SignedInRequest, task: Task) -> HttpResponse:
    """Record what happened to the task as a test of its line, opened on the canvas."""
    keys = (task.project.owner.key, task.project.key)
    if not request.POST.get("record"):
        messages.warning(request, "Nothing was recorded.")
        return redirect(reverse("task", args=[*keys, task.name]))
    made = scenario_recorded_from_task(task, scenarios.unused_scenario_key(task.line, task.name))
    try:
        row = scenarios.store_scenario(
            task.line, made.scenario.to_dict(), request.user, timezone.now(), source=Scenario.Source.RECORDED
        )
    except Refused as refused:
        messages.warning(request, str(refused))
        return redirect(reverse("task", args=[*keys, task.name]))
    # What was recorded up to there is a scenario all the same
    if made.rest:
        messages.warning(request, made.rest)
    messages.success(request, f"Scenario created from {task.name}")
    address = reverse("line-draw", args=[*keys, task.line.key])
    return redirect(f"{address}?{urlencode({'test': row.key})}")


@line_required("design")
@require_POST
def delete_scenario(request: SignedInRequest, line: Line) -> HttpResponse:
    key = request.POST.get("key", "")
    if not key:
        return _scenarios_page(request, line, refused=Invalid.at("key", "Choose a scenario."))
    scenarios.delete_scenario(line, key, request.user)
    messages.success(request, "Scenario deleted")
    return _redirect_to_scenarios(line, _requested_subject_or_empty(request))


@line_required("view")
@require_safe
def export_scenarios(request: SignedInRequest, line: Line) -> HttpResponse:
    """The file that `python -m pipelines.routing simulate` reads."""
    rows = line.scenarios.order_by("key").values_list("document", flat=True)
    response = HttpResponse(
        texts.dumps(scenarios.read_script(document) for document in rows),
        content_type="application/yaml; charset=utf-8",
    )
    response["Content-Disposition"] = f'attachment; filename="{line.key}-scenarios.yaml"'
    return response


def _requested_subject_or_empty(request: SignedInRequest) -> str:
    value = request.POST.get("against", "")
    return value if value in (DRAFT, LIVE) else ""


def _redirect_to_scenarios(line: Line, against: str) -> HttpResponse:
    address = reverse("line-tests", args=[line.project.owner.key, line.project.key, line.key])
    return redirect(address + (f"?{urlencode({'against': against})}" if against else ""))


def _scenarios_page(
    request: SignedInRequest,
    line: Line,
    against: str = "",
    *,
    refused: Refused | None = None,
    missing: Sequence[MissingScenario] = (),
    stopped: bool = False,
    message: str = "",
) -> HttpResponse:
    subject, problems = _coverage_subject_and_problems(line, against)
    rows = line.scenarios.select_related("made_by").order_by("key")
    live = line.live.number if line.live else None
    return show_line(
        request,
        "lines/scenarios.html",
        line,
        status=422 if refused else 200,
        rows=[
            ScenarioRow(
                row,
                _last_run_view_or_none(row, LIVE, live),
                _last_run_view_or_none(row, DRAFT, line.draft_number),
            )
            for row in rows[:MAX_ROWS]
        ],
        total=rows.count(),
        subject=subject,
        marks=_subject_choices(line),
        problems=readable_problems(problems, line.draft),
        # The problems of an unreadable draft stand on the page already.
        refused="" if isinstance(refused, DraftUnreadable) else refused,
        coverage=_coverage_context_or_none(line, subject),
        missing=[_row_of_rule_without_scenario(gap, subject) for gap in missing[:MISSING_SHOWN]],
        more_missing=max(0, len(missing) - MISSING_SHOWN),
        stopped=stopped,
        said=message,
    )


def _coverage_subject_and_problems(line: Line, against: str) -> tuple[ScenarioSubject | None, list[Problem]]:
    """Return the subject of the coverage; None where the draft cannot be read."""
    mark = LIVE if against == LIVE and line.live else DRAFT if against == DRAFT else ""
    try:
        return scenarios.scenario_subject(line, mark), []
    except DraftUnreadable as fault:
        return None, list(fault.problems)


def _subject_choices(line: Line) -> list[tuple[str, str]]:
    """Return what scenarios can be run against: mark and words."""
    live = [(LIVE, f"live, v{line.live.number}")] if line.live else []
    return [*live, (DRAFT, f"draft {line.draft_number}")]


def _last_run_view_or_none(row: Scenario, mark: str, number: int | None) -> RunView | None:
    last_run = scenarios.last_run_against_or_none(row, mark, number)
    return RunView(last_run, datetime.fromisoformat(last_run.at)) if last_run else None


def _coverage_context_or_none(line: Line, subject: ScenarioSubject | None) -> dict[str, object] | None:
    if subject is None:
        return None
    coverage = scenarios.stored_coverage(line, subject)
    totals = coverage.to_dict()
    stations = subject.parsed.stations_by_key
    return {
        "rules": [_rule_coverage_row(rule, coverage, subject) for rule in coverage.rules],
        "taken": len(totals["rules"]["taken"]),
        "all": totals["rules"]["all"],
        "percent": totals["percent"],
        "never_visited": [stations[key].name for key in totals["stations"]["never_visited"]],
        "never_opened": [subject.parsed.gate(key).name for key in totals["gates"]["never_opened"]],
        "policy": totals["policy"],
    }


def _row_of_rule_without_scenario(
    missing: MissingScenario, subject: ScenarioSubject | None
) -> dict[str, str]:
    """A rule without a scenario, by its name, and why."""
    name = part_names.rules_phrase(subject.parsed, [missing.rule]).people_text() if subject else missing.rule
    return {"name": name, "why": people_text(missing.why)}


def _rule_coverage_row(rule: str, coverage: Coverage, subject: ScenarioSubject) -> RuleCoverageRow:
    station, parsed_rule = subject.parsed.rules_by_id[rule]
    covered = coverage.shown
    state = "taken" if rule in covered.taken else "tested" if rule in covered.tested else "never"
    number = station.rules.index(parsed_rule) + 1
    return RuleCoverageRow(parsed_rule.label or f"Rule {number}", station.name, state)
