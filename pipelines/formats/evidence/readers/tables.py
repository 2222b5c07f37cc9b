"""CSV, TSV and JSON lists as tables. No facts: what a column means only its station knows."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from pipelines.formats.evidence.readers.json_text import parsed_json
from pipelines.formats.evidence.readers.report import (
    MOST_BYTES,
    MOST_ROWS,
    ReadReport,
    UnreadableReport,
    shortened_text,
)

KIND = "table"
MOST_COLUMNS = 40
CELL = 300


def read_table(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    if len(data) > MOST_BYTES or b"\0" in data:
        raise UnreadableReport("no table")
    # EF BB BF is the byte order mark of UTF-8.
    lead = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return _read_json_table(parsed_json(data)) if lead in (b"[", b"{") else _table_of_csv(data)


def _read_json_table(value: Any) -> ReadReport:
    if isinstance(value, dict):
        lists = [
            member
            for member in value.values()
            if isinstance(member, list) and member and isinstance(member[0], dict)
        ]
        value = lists[0] if lists else [{"key": key, "value": member} for key, member in value.items()]
    if not isinstance(value, list):
        raise UnreadableReport("no table")
    listed = value[:MOST_ROWS]
    left = len(value) - len(listed)
    keys = list(dict.fromkeys(key for row in listed if isinstance(row, dict) for key in row))
    header = keys[:MOST_COLUMNS]
    if not header:
        rows = [(_cell_text(row),) for row in listed]
        return ReadReport(KIND, header=("value",), rows=rows, left=left)
    rows_of = [
        tuple(_cell_text(row.get(key)) if isinstance(row, dict) else "" for key in header) for row in listed
    ]
    return ReadReport(
        KIND,
        header=[shortened_text(key, 100) for key in header],
        rows=rows_of,
        left=left,
        hidden_columns=len(keys) - len(header),
    )


def _cell_text(value: Any) -> str:
    if isinstance(value, dict | list):
        return shortened_text(json.dumps(value, ensure_ascii=False), CELL)
    return "" if value is None else shortened_text(value, CELL)


def _table_of_csv(data: bytes) -> ReadReport:
    text = data.decode("utf-8-sig", "replace")
    first = text.partition("\n")[0]
    # What the first line has most of; the comma where it has none of these
    delimiter = max(",;\t|", key=first.count)
    rows: list[tuple[str, ...]] = []
    left = columns = 0
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            # The first row is the header, and does not count.
            if len(rows) > MOST_ROWS:
                left += 1
                continue
            columns = max(columns, len(row))
            rows.append(tuple(shortened_text(cell, CELL) for cell in row[:MOST_COLUMNS]))
    except csv.Error as error:
        raise UnreadableReport("no table") from error
    if not rows:
        raise UnreadableReport("an empty table")
    return ReadReport(
        KIND, header=rows[0], rows=rows[1:], left=left, hidden_columns=max(0, columns - MOST_COLUMNS)
    )
