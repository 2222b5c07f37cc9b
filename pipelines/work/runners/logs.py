"""The log of a job on another machine, as it comes: whole lines with their time, in bounds, and without the secrets of
the line, most of which its runner does not know (house §5)."""

from __future__ import annotations

import re
import zlib
from typing import Final

from pipelines.errors import Invalid
from pipelines.models import Job, LogChunk
from pipelines.work import logs
from pipelines.work.results.text import SURROGATES
from pipelines.work.transport.local import jobs
from pipelines.work.transport.local.station_values import task_masker

MOST_AT_ONCE: Final = 1024**2
MOST: Final = 12 * 1024**2
"""Bytes of one attempt; a runner cuts it before, and says so in the last line."""
# `12.345<TAB>text`, and the end of the line
LINE: Final = re.compile(r"\d{1,9}(\.\d{1,6})?\t[^\n\x00]*\n")


def append_to_log(job: Job, text: str, *, again: bool) -> None:
    """`again`: this call may have come before, and its answer got lost. :raises Invalid: it is no piece of a log"""
    if not text:
        return
    # JSON may spell lone surrogates, which UTF-8 has not
    if len(text.encode(errors="surrogatepass")) > MOST_AT_ONCE:
        raise Invalid.at("text", f"is longer than {MOST_AT_ONCE // 1024} KiB")
    end = 0
    for match in LINE.finditer(text):
        if match.start() != end:
            break
        end = match.end()
    if end != len(text):
        raise Invalid.at("text", "is not whole lines, each of seconds, a tab and text")
    text = _masked_lines(job, text)
    size = len(text.encode())
    chunks = LogChunk.objects.filter(job=job, attempt=job.attempt)
    last = chunks.order_by("-number").first()
    if last is not None:
        before = zlib.decompress(bytes(last.data))
        # It came, and only its answer got lost
        if again and before == text.encode():
            return
        if last.position + len(before) + size > MOST:
            raise Invalid.at("text", "is more than the log of one run may have")
        writer = logs.Writer(
            job.pk,
            job.attempt,
            last.number + 1,
            last.position + len(before),
            last.lines_before + before.count(b"\n"),
        )
    else:
        writer = logs.Writer(job.pk, job.attempt)
    jobs.append_log(writer, text)


def _masked_lines(job: Job, text: str) -> str:
    """Mask the text behind the time of each line, which a secret of digits may not touch."""
    masker = task_masker(job.task)
    cut = (line.partition("\t") for line in SURROGATES.sub("\ufffd", text).split("\n"))
    return "\n".join(f"{at}{tab}{masker.masked_text(message)}" for at, tab, message in cut)
