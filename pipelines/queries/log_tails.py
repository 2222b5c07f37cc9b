"""Logs that cards and pages read beside `pipelines.work.logs`: the last line of many jobs at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from pipelines.models import LogChunk

LONGEST = 200


def last_log_line_by_job(job_ids: Iterable[int]) -> dict[int, str]:
    """The last line of each of these jobs that says something to a reader, by one query."""
    ids = list(job_ids)
    if not ids:
        return {}
    chunks = LogChunk.objects.filter(job__in=ids).order_by("job_id", "-attempt", "-number").distinct("job_id")
    last_by_job = {chunk.job_id: _last_line_of_log(bytes(chunk.data)) for chunk in chunks}
    return {job_id: line for job_id, line in last_by_job.items() if line}


def _last_line_of_log(data: bytes) -> str:
    """Lines are `seconds<TAB>text` (pipelines.work.logs). What a program says to programs, an event as JSON, is left
    out: coding agents write one for each step."""
    lines = (line.partition("\t")[2].strip() for line in reversed(zlib.decompress(data).decode().split("\n")))
    return next((line[:LONGEST] for line in lines if line and not line.startswith('{"')), "")
