"""Cards of a board that its page shows already: it tells which they are, and they are not sent again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from pipelines.queries.board import PER_COLUMN

MOST_ROWS = 400
"""Cards of a column that are drawn, however far it is scrolled; beyond, its foot leads to the list of tasks."""
MOST_COLUMNS = 200
HEADER = "Gateline-Cards"


def requested_row_counts_by_column(request: HttpRequest) -> dict[str, int]:
    """Return how many cards the page asks for of its scrolled columns: `rows=60:station:build`."""
    rows: dict[str, int] = {}
    for text in request.GET.getlist("rows")[:MOST_COLUMNS]:
        number, _, column = text.partition(":")
        # `isdigit` alone takes digits that `int` does not
        if column and len(number) < 5 and number.isascii() and number.isdigit():
            rows[column] = min(max(int(number), PER_COLUMN), MOST_ROWS)
    return rows


def already_shown_cards_context(request: HttpRequest) -> Mapping[str, Any]:
    """Return what the cards of a board need to know of the page (pipelines/templatetags/task_cards.py)."""
    # In a header, and not in the address: a scrolled board names hundreds
    header = request.headers.get(HEADER, "")
    return {"shown_cards": frozenset(header.split(",")) if header else frozenset(), "most_rows": MOST_ROWS}
