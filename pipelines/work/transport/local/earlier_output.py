"""Output of earlier stations, for templates that use it: `{{.previous_output}}`, `{{.last_error}}`, `{{.<station>}}`
and `{{.<station>_error}}` (dialect B, B16). Read from the database only where a template asks for it."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from pipelines.models import Job, Purpose, Token
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.document.templates import ERROR, LAST_ERROR, PREVIOUS
from pipelines.routing.document.templates import work_lookups as wanted_by

FAILED = ("failure", "cancelled")


def earlier_outputs_and_errors(job: Job, line: ParsedLine, station: Station) -> dict[str, Any]:
    """Return {name: value} of the earlier outputs and errors that the templates of this station use, as far as
    they exist."""
    names = {name for family, name in wanted_by(station.work) if not family}
    # A key may have dots: flat first, as every look-up.
    requested = {name if _is_output_name(name, line) else name.partition(".")[0] for name in names}
    requested = {name for name in requested if _is_output_name(name, line)}
    if not requested:
        return {}
    before = Job.objects.filter(
        task_id=job.task_id, state=Job.State.DONE, purpose=Purpose.STATION, pk__lt=job.pk
    ).order_by("-pk")
    values = {name: _list_of_named_value(name, job, line, before) for name in requested}
    return {name: value[0] for name, value in values.items() if value}


def _is_output_name(name: str, line: ParsedLine) -> bool:
    return name in (PREVIOUS, LAST_ERROR) or _station_key_or_none(name, line) is not None


def _station_key_or_none(name: str, line: ParsedLine) -> str | None:
    """The station whose output or error a name is."""
    if name in line.stations_by_key:
        return name
    key = name.removesuffix(ERROR)
    return key if key != name and key in line.stations_by_key else None


def _list_of_named_value(name: str, job: Job, line: ParsedLine, before: QuerySet[Job]) -> list[Any]:
    """None or one."""
    if name == PREVIOUS:
        return _list_of_job_output(_previous_job_or_none(job, before))
    if name == LAST_ERROR:
        return _error_texts_of_job(before.filter(result__in=FAILED).first())
    key = _station_key_or_none(name, line)
    if name == key:
        return _list_of_job_output(before.filter(station=key, outcome__has_key="output").first())
    return _error_texts_of_job(before.filter(station=key, result__in=FAILED).first())


def _previous_job_or_none(job: Job, before: QuerySet[Job]) -> Job | None:
    """The job whose outcome led here: of this branch, else of the one that it left."""
    token_id: int | None = job.token_id
    while token_id is not None:
        previous = before.filter(token_id=token_id).first()
        if previous is not None:
            return previous
        # A branch that has done nothing yet goes on from what its fork left
        token_id = Token.objects.values_list("parent_id", flat=True).get(pk=token_id)
    return before.first()


def _list_of_job_output(job: Job | None) -> list[Any]:
    outcome = job.outcome if job else None
    return [outcome["output"]] if outcome and "output" in outcome else []


def _error_texts_of_job(job: Job | None) -> list[Any]:
    if job is None:
        return []
    outcome = job.outcome or {}
    code = f"exit code {job.exit_code}" if job.exit_code is not None else job.result
    return [job.summary or outcome.get("failure_type") or outcome.get("reason") or code]
