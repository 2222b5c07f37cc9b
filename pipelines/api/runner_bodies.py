"""JSON bodies that runners send: read and checked."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from django.http import HttpRequest

from pipelines.api.runner_reports import FaultyReport, SentReport
from pipelines.engine.commands.report import LARGEST_BATCH
from pipelines.errors import Invalid
from pipelines.work.file_measure import PIECE
from pipelines.work.transport.http import wire_format

# Ids are bigints: a larger number would be an error of the database, and a 500 to the runner
MOST_JOB = 2**63
HALVES = re.compile(r"\\u[dD][89a-fA-F]")
"""What may be half a sign, which no text of ours can hold."""


def read_document(request: HttpRequest) -> dict[str, Any]:
    """A JSON object that may be larger than the body of a form."""
    room, pieces = wire_format.MOST_DOCUMENT, []
    while piece := request.read(PIECE):
        room -= len(piece)
        if room < 0:
            raise Invalid.at("", f"is larger than {wire_format.MOST_DOCUMENT // 1024**2} MB")
        pieces.append(piece)
    try:
        text = b"".join(pieces).decode()
        # Python reads NaN and Infinity, which are no JSON.
        body = json.loads(text, parse_constant=_refuse_constant)
        if HALVES.search(text):
            # Fails only where half a sign stands alone: two halves together are one.
            json.dumps(body, ensure_ascii=False).encode()
    # Python reads nested JSON by recursion, so a document that is deep enough exhausts its stack
    except (ValueError, RecursionError) as error:
        raise Invalid.at("", "is not JSON") from error
    if not isinstance(body, dict):
        raise Invalid.at("", "is no object")
    return body


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def checked_job_id(job: int) -> int:
    if not 0 < job < MOST_JOB:
        raise Invalid.at("job", "not the number of a job")
    return job


def read_job_id_and_lease(place: str, entry: Any) -> tuple[int, uuid.UUID]:
    """The job and the lease that it names."""
    if not isinstance(entry, dict):
        raise Invalid.at(place, "is no object")
    job, lease = entry.get("job"), entry.get("lease")
    # Not isinstance: to Python true is an int, too.
    if type(job) is not int or not 0 < job < MOST_JOB:
        raise Invalid.at(f"{place}.job", "not the number of a job")
    try:
        return job, uuid.UUID(lease if isinstance(lease, str) else "")
    except ValueError as error:
        raise Invalid.at(f"{place}.lease", "not the key of a lease") from error


def read_report(job: int, lease: uuid.UUID, plain: dict[str, Any], place: str = "") -> SentReport:
    """:raises Invalid"""
    attempt, outcome = plain.get("attempt"), plain.get("outcome")
    # As for the job, true is an int to Python; and the column of the attempt has 32 bits
    if type(attempt) is not int or not 0 < attempt < 2**31:
        raise Invalid.at(f"{place}attempt", "not the number of an attempt")
    if not isinstance(outcome, dict):
        raise Invalid.at(f"{place}outcome", "is no object")
    return SentReport(job, lease, attempt, outcome, plain.get("go_on") is True)


def read_single_report(request: HttpRequest, job: int, lease: uuid.UUID) -> SentReport | FaultyReport:
    """Return the report of a call about one job."""
    try:
        return read_report(job, lease, read_document(request))
    except Invalid as error:
        return FaultyReport(job, error)


def read_reports(request: HttpRequest) -> tuple[SentReport | FaultyReport, ...]:
    """Return the reports of a call about several jobs. :raises Invalid: not even the jobs can be read"""
    plain = read_document(request).get("reports")
    if not isinstance(plain, list) or len(plain) > LARGEST_BATCH:
        raise Invalid.at("reports", f"is no list of up to {LARGEST_BATCH} reports")
    # Of all first whose jobs they are: what else is wrong with one is told to that runner alone
    fences = [read_job_id_and_lease(f"reports[{at}]", report) for at, report in enumerate(plain)]
    return tuple(
        _read_report_or_fault(f"reports[{at}].", job, lease, report)
        for at, ((job, lease), report) in enumerate(zip(fences, plain, strict=True))
    )


def _read_report_or_fault(
    place: str, job: int, lease: uuid.UUID, plain: dict[str, Any]
) -> SentReport | FaultyReport:
    try:
        return read_report(job, lease, plain, place)
    except Invalid as error:
        return FaultyReport(job, error)
