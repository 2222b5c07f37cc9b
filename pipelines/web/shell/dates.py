"""Two days in an address (`since`, `until`); what is no day narrows nothing."""

from __future__ import annotations

from datetime import date

from django.http import HttpRequest
from django.utils.dateparse import parse_date

from pipelines.queries.dates import Dates


def dates_of(request: HttpRequest) -> Dates:
    return Dates(_day(request.GET.get("since", "")), _day(request.GET.get("until", "")))


def _day(text: str) -> date | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    # Days at the edge of the calendar have no next one, or none in another time zone.
    return day if day and date.min.year < day.year < date.max.year else None
