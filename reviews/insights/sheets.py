"""A table of figures as the page shows it, a chart draws it and a CSV file has it: one list of values for all three."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from io import StringIO
from typing import Final, Literal

from pipelines.queries.usage import dollars_text
from pipelines.routing.basics.wording import percent_text
from pipelines.templatetags.gateline import duration

Unit = Literal["count", "seconds", "usd", "share", "minutes", "text"]
Value = float | int | str | Decimal | None
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet computes what a text begins with one of these."""
HEADS: Final[dict[Unit, str]] = {"seconds": " (seconds)", "usd": " (US dollars)", "minutes": " (minutes)"}


def minutes_text(value: float) -> str:
    return f"{value:.1f} min" if value < 60 else duration(value * 60)


TEXTS: Final[dict[Unit, Callable[..., str]]] = {
    "count": lambda value: f"{value:,}",
    "seconds": duration,
    "usd": lambda value: dollars_text(Decimal(value)),
    "share": lambda value: percent_text(value * 100, 0),
    "minutes": minutes_text,
    "text": str,
}


def value_text_or_dash(value: Value, unit: Unit) -> str:
    return "–" if value is None else TEXTS[unit](value)


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """`series`: how a chart draws it, as kind and tone; "" where it does not. `wide`: not on a phone."""

    label: str
    unit: Unit = "count"
    series: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class SheetCell:
    value: Value
    text: str
    column: SheetColumn

    @property
    def data(self) -> str:
        """Value as a chart reads it."""
        return "" if self.value is None else str(self.value)


@dataclass(frozen=True, slots=True)
class SheetRow:
    """`bars`: lengths of a row's own bars, as parts of the longest."""

    label: str
    values: Sequence[Value]
    note: str = ""
    href: str = ""
    icon: str = ""
    bars: tuple[float, float] | None = None


@dataclass(frozen=True)
class Sheet:
    """`counts`: the sentence that says what is counted. Columns without a value in any row are left out, unless a
    chart draws them."""

    key: str
    title: str
    counts: str
    first: str
    columns: Sequence[SheetColumn]
    rows: Sequence[SheetRow]
    total: SheetRow | None = None
    bar_legend: Sequence[tuple[str, str]] = ()

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def chart(self) -> str:
        """Kind of the chart: "bars", "lines", or "" for a table alone."""
        return next((column.series.split()[0] + "s" for column in self.columns if column.series), "")

    @property
    def has_bars(self) -> bool:
        return any(row.bars for row in self.rows)

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """Names and looks of what is drawn, in a chart or beside each row."""
        return self.bar_legend or [(column.label, column.series) for column in self.columns if column.series]

    @cached_property
    def _used(self) -> list[int]:
        rows = [*self.rows, *([self.total] if self.total else [])]
        return [
            place
            for place, column in enumerate(self.columns)
            if column.series or any(row.values[place] for row in rows)
        ]

    @property
    def used_columns(self) -> list[SheetColumn]:
        return [self.columns[place] for place in self._used]

    @property
    def rows_with_cells(self) -> list[tuple[SheetRow, list[SheetCell]]]:
        return [(row, self._cells(row)) for row in self.rows]

    @property
    def total_cells(self) -> list[SheetCell]:
        return self._cells(self.total) if self.total else []

    def _cells(self, row: SheetRow) -> list[SheetCell]:
        return [
            SheetCell(
                row.values[place],
                value_text_or_dash(row.values[place], self.columns[place].unit),
                self.columns[place],
            )
            for place in self._used
        ]

    def csv_text(self) -> str:
        """Write all columns with their values as they are, as RFC 4180 has it."""
        text = StringIO()
        writer = csv.writer(text)
        noted = any(row.note for row in self.rows)
        heads = [column.label + HEADS.get(column.unit, "") for column in self.columns]
        writer.writerow([self.first, *([("Published" if self.chart else "Line")] if noted else []), *heads])
        for row in (*self.rows, *([self.total] if self.total else [])):
            names = [row.label, *([row.note] if noted else [])]
            # A spreadsheet would take a text that begins with “=” for a formula
            writer.writerow([_value_safe_in_spreadsheet(value) for value in (*names, *row.values)])
        return text.getvalue()


def _value_safe_in_spreadsheet(value: Value) -> Value:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return round(value, 6) if isinstance(value, float) else value
