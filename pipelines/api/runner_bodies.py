"""What runners send as JSON: read and checked."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from pipelines.errors import Invalid
from pipelines.models import Job, Worker
from pipelines.work.measuring import PIECE
from pipelines.work.runners.presence import claim_of
from pipelines.work.runners.reports import Told
from pipelines.work.transport.http import wire

MOST_JOB = 2**63
HALVES = re.compile(r"\\u[dD][89a-fA-F]")
"""What may be half a sign, which no text of ours can hold."""


def document(request: HttpRequest) -> dict[str, Any]:
    """A JSON object that may be larger than the body of a form."""
    room, pieces = wire.MOST_DOCUMENT, []
    while piece := request.read(PIECE):
        room -= len(piece)
        if room < 0:
            raise Invalid.at("", _("is larger than %d MB") % (wire.MOST_DOCUMENT // 1024**2))
        pieces.append(piece)
    try:
        text = b"".join(pieces).decode()
        found = json.loads(text, parse_constant=_no_number)
        if HALVES.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Invalid.at("", _("is not JSON")) from error
    if not isinstance(found, dict):
        raise Invalid.at("", _("is no object"))
    return found


def _no_number(word: str) -> None:
    raise ValueError(word)


def job_id(job: int) -> int:
    if not 0 < job < MOST_JOB:
        raise Invalid.at("job", _("not the number of a job"))
    return job


def fence(place: str, said: Any) -> tuple[int, uuid.UUID]:
    """The job and the lease that it names."""
    if not isinstance(said, dict):
        raise Invalid.at(place, _("is no object"))
    job, lease = said.get("job"), said.get("lease")
    if type(job) is not int or not 0 < job < MOST_JOB:
        raise Invalid.at(f"{place}.job", _("not the number of a job"))
    try:
        return job, uuid.UUID(lease if isinstance(lease, str) else "")
    except ValueError as error:
        raise Invalid.at(f"{place}.lease", _("not the key of a lease")) from error


def told(runner: Worker, job: Job, lease: uuid.UUID, said: dict[str, Any], place: str = "") -> Told:
    attempt, outcome = said.get("attempt"), said.get("outcome")
    if type(attempt) is not int or not 0 < attempt < 2**31:
        raise Invalid.at(f"{place}attempt", _("not the number of an attempt"))
    if not isinstance(outcome, dict):
        raise Invalid.at(f"{place}outcome", _("is no object"))
    more = said.get("go_on") is True and not runner.stopping
    return Told(job, attempt, lease, outcome, claim_of(runner) if more else None)
