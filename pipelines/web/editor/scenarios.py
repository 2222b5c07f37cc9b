"""The tests of a line beside its canvas: listed, run against the document that is drawn, generated, kept, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from pydantic import BaseModel, Field, ValidationError

from pipelines.engine.core import payload
from pipelines.errors import Invalid, NotFound, Refused
from pipelines.lines import scenarios
from pipelines.lines.scenarios import DRAFT, DraftUnreadable, ScenarioSubject
from pipelines.models import Line, Project, Scenario
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import Problem
from pipelines.routing.simulate.coverage import Coverage
from pipelines.routing.simulate.report import ScenarioReport
from pipelines.routing.simulate.run import ScenarioResult, expectation, run
from pipelines.web.editor.simulator import SimulationRequest, refused, scenario_of
from pipelines.web.editor.simulator import problem as first
from pipelines.web.lines import lines
from pipelines.web.shell.page import SignedIn, costly, in_project

SHOWN = 500


class DraftRequest(BaseModel):
    document: dict[str, Any]


class KeptScenarioRequest(SimulationRequest):
    """A walk to be kept. `key`: the scenario in whose place; none for a new one."""

    name: str = Field(min_length=1, max_length=200)
    key: str = Field(default="", max_length=64)


class DeletionRequest(BaseModel):
    key: str = Field(min_length=1, max_length=64)


@in_project("view")
@costly
@require_safe
def tests(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """With their last runs against the stored draft."""
    return JsonResponse(_listed(lines.get(request, project, line)))


@in_project("view")
@costly
@require_POST
def run_all(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """Against the document that is sent. 422: it is no line, or there are too many steps for one request."""
    found = lines.get(request, project, line)
    try:
        subject = _subject(found, request.body)
        told = scenarios.run_against(found, subject, now=timezone.now())
    except (ValidationError, Refused) as fault:
        return _refused(fault)
    return JsonResponse(_listed(found, subject, told))


@in_project("design")
@costly
@require_POST
def generate(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """One for each rule that can be taken, in the place of those generated before; all are run. `missing`: rules that
    have none, and why; `stopped`: the time was over before every rule was searched for to the end."""
    found = lines.get(request, project, line)
    now = timezone.now()
    try:
        subject = _subject(found, request.body)
        rows, made = scenarios.generate_for(found, subject, request.user, now, scenarios.for_seconds())
        told = scenarios.run_against(found, subject, now=now)
    except (ValidationError, Refused) as fault:
        return _refused(fault)
    more = {"missing": [each.to_dict() for each in made.missing], "stopped": made.stopped, "made": len(rows)}
    return JsonResponse({**_listed(found, subject, told), **more})


@in_project("design")
@costly
@require_POST
def keep(request: SignedIn, project: Project, line: str) -> HttpResponse:
    """The walk as a scenario that expects what it showed. 400: its steps cannot be walked to their end."""
    found = lines.get(request, project, line)
    try:
        asked = KeptScenarioRequest.model_validate_json(request.body)
        payload.accept(asked.document, "document")
        subject = scenarios.subject_of_document(found, asked.document)
        key = asked.key or scenarios.free_key(found, asked.name)
        result = run(subject.parsed, scenario_of(asked, asked.steps, key, asked.name))
        if result.failures and len(result.steps) <= len(asked.steps):
            raise Invalid.at(f"steps[{max(len(result.steps) - 1, 0)}]", result.failures[0].message)
        document = {**result.scenario.to_dict(), "expect": expectation(result).to_dict()}
        row = scenarios.put(found, document, request.user, timezone.now(), key=key)
    except Malformed as fault:
        return refused(400, [Problem(fault.path, fault.message)])
    except (ValidationError, Refused) as fault:
        return _refused(fault)
    return JsonResponse({"key": row.key, "name": row.name, **_listed(found)})


@in_project("design")
@require_POST
def delete(request: SignedIn, project: Project, line: str) -> HttpResponse:
    found = lines.get(request, project, line)
    try:
        scenarios.delete(found, DeletionRequest.model_validate_json(request.body).key, request.user)
    except NotFound as gone:
        return refused(404, [Problem("key", str(gone))])
    except ValidationError as fault:
        return _refused(fault)
    return JsonResponse(_listed(found))


def _subject(line: Line, body: bytes) -> ScenarioSubject:
    """Raises ValidationError, Invalid, DraftUnreadable."""
    drawn = DraftRequest.model_validate_json(body)
    payload.accept(drawn.document, "document")
    return scenarios.subject_of_document(line, drawn.document)


def _refused(fault: ValidationError | Refused) -> JsonResponse:
    if isinstance(fault, ValidationError):
        return refused(400, [first(fault)])
    if isinstance(fault, DraftUnreadable):
        return refused(422, fault.problems)
    if isinstance(fault, Invalid):
        return refused(400, fault.problems)
    return refused(422, [Problem("", str(fault))])


# What is answered


def _listed(
    line: Line, subject: ScenarioSubject | None = None, told: ScenarioReport | None = None
) -> dict[str, Any]:
    rows = list(line.scenarios.order_by("key")[:SHOWN])
    ran = {each.scenario.key: each for each in told.results} if told else {}
    coverage = told.coverage if told else _kept_coverage(line)
    return {
        "scenarios": [_row(line, row, ran.get(row.key)) for row in rows],
        "total": line.scenarios.count(),
        "coverage": coverage and _coverage(coverage),
        "failed": told.failed if told else None,
        "at": timezone.now().isoformat() if told else "",
    }


def _kept_coverage(line: Line) -> Coverage | None:
    try:
        subject = scenarios.subject_of(line, DRAFT)
    except DraftUnreadable:
        return None
    return scenarios.coverage(line, subject)


def _row(line: Line, row: Scenario, result: ScenarioResult | None) -> dict[str, Any]:
    return {
        "key": row.key,
        "name": row.name,
        "source": row.get_source_display(),
        "steps": len(row.document.get("steps", ())),
        "document": row.document,
        "run": _ran(result) if result else _last(line, row),
    }


def _ran(result: ScenarioResult) -> dict[str, Any]:
    failures = [str(each) for each in result.failures[: scenarios.SHOWN_FAILURES]]
    return {"holds": result.holds, "failures": failures, "current": True}


def _last(line: Line, row: Scenario) -> dict[str, Any] | None:
    """The last run against the stored draft; `current`: of the draft as it is now."""
    last = scenarios.last_run(row, DRAFT, line.draft_number)
    if last is None:
        return None
    return {"holds": last.holds, "failures": list(last.failures), "current": last.current}


def _coverage(coverage: Coverage) -> dict[str, Any]:
    """`rules`: what became of each in the tests."""
    shown = coverage.shown
    states = {
        rule: "taken" if rule in shown.taken else "tested" if rule in shown.tested else "never"
        for rule in coverage.rules
    }
    return {
        "rules": states,
        "taken": sum(state == "taken" for state in states.values()),
        "all": len(states),
        "percent": round(coverage.percent, 1),
        "words": _words(coverage),
    }


def _words(coverage: Coverage) -> Sequence[str]:
    told = coverage.to_dict()
    stations, gates = told["stations"]["never_visited"], told["gates"]["never_opened"]
    return [
        *(
            [_("Stations that no scenario visits: %(names)s") % {"names": ", ".join(stations)}]
            if stations
            else []
        ),
        *([_("Gates that no scenario opens: %(names)s") % {"names": ", ".join(gates)}] if gates else []),
    ]
