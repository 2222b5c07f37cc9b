"""Medians of how long things usually take, of the last days, by the database. A bounded number of rows is
read."""

from __future__ import annotations

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.queries.statements import GATE_MEDIANS, LINE_MEDIAN, STATION_MEDIANS

DAYS = 7


def median_seconds_by_station(line_id: int) -> dict[str, float]:
    """Median seconds from start to end of the jobs of each station, over the last days."""
    return _median_by_key(STATION_MEDIANS, line_id)


def median_seconds_by_gate(line_id: int) -> dict[str, float]:
    """Median seconds from opening to decision of each gate."""
    return _median_by_key(GATE_MEDIANS, line_id)


def median_seconds_of_line_or_none(line_id: int) -> float | None:
    """Median seconds from start to a completed end with nothing left unmerged; None without one lately."""
    return _median_by_key(LINE_MEDIAN, line_id).get("line")


def _median_by_key(sql: str, line_id: int) -> dict[str, float]:
    return {
        key: float(value) for key, value in fetch(sql, {"line": line_id, "days": DAYS}) if value is not None
    }
