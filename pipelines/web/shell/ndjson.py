"""An answer of many lines, sent as they come: one JSON object each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from pipelines.routing.basics.hidden_characters import escape_hidden_json

LINES_AT_ONCE = 200
MEDIA = "application/x-ndjson"


def ndjson_response(rows: Iterator[dict[str, Any]], name: str = "") -> StreamingHttpResponse:
    """`rows` is read while it is sent, in the request's own thread, as its connection is; an iterator that is not
    asynchronous would be collected whole before the first line is sent. `name`: of the file that a browser saves."""
    response = StreamingHttpResponse(_encoded_chunks(rows), content_type=MEDIA)
    # Its lines hold texts of others, which no browser is to take for a page
    response["X-Content-Type-Options"] = "nosniff"
    # Else nginx collects the answer before it sends it on.
    response["X-Accel-Buffering"] = "no"
    if name:
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


async def _encoded_chunks(rows: Iterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    step = sync_to_async(lambda: list(islice(rows, LINES_AT_ONCE)))
    while some := await step():
        yield "".join(ndjson_line(row) for row in some).encode()


def ndjson_line(row: dict[str, Any]) -> str:
    return escape_hidden_json(json.dumps(row, ensure_ascii=False)) + "\n"
