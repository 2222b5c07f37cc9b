"""Due times that count only the working time of a project: weekends, days off, clocks that change (law §6)."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.engine.core.working_time import WorkingTime

BERLIN = ZoneInfo("Europe/Berlin")
WEEK = frozenset({1, 2, 3, 4, 5})
OFFICE = WorkingTime(BERLIN, WEEK, time(9), time(17))
NIGHTS = WorkingTime(BERLIN, frozenset(range(1, 8)), time(0), time(0))
HOUR = 3600


def at(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("start", "hours", "due"),
    [
        ("2026-11-23T10:00", 4, "2026-11-23T14:00"),
        ("2026-11-23T16:00", 4, "2026-11-24T12:00"),  # over night
        ("2026-11-20T15:00", 4, "2026-11-23T11:00"),  # over a weekend, from a Friday
        ("2026-11-21T12:00", 4, "2026-11-23T13:00"),  # from a Saturday
        ("2026-11-23T06:00", 1, "2026-11-23T10:00"),  # before work
        ("2026-11-23T09:00", 8, "2026-11-23T17:00"),  # to the end of a day
        ("2026-11-23T17:00", 1, "2026-11-24T10:00"),
        ("2026-11-20T09:00", 40, "2026-11-26T17:00"),
        ("2026-03-27T16:00", 4, "2026-03-30T12:00"),  # the clock went forward on Sunday
        ("2026-10-23T16:00", 4, "2026-10-26T12:00"),  # and back
    ],
)
def test_only_working_time_counts(start: str, hours: int, due: str) -> None:
    assert OFFICE.end_after_working_seconds(at(start), hours * HOUR) == at(due)


def test_a_weekend_with_a_change_of_the_clock_is_an_hour_shorter_or_longer() -> None:
    spring = OFFICE.end_after_working_seconds(at("2026-03-27T16:00"), 2 * HOUR) - at(
        "2026-03-27T16:00"
    ).astimezone(ZoneInfo("UTC"))
    autumn = OFFICE.end_after_working_seconds(at("2026-10-23T16:00"), 2 * HOUR) - at(
        "2026-10-23T16:00"
    ).astimezone(ZoneInfo("UTC"))
    assert (spring, autumn) == (timedelta(hours=65), timedelta(hours=67))


def test_hours_that_the_clock_skips_or_repeats_count_as_they_pass() -> None:
    # 2026-03-29 has 23 hours, 2026-10-25 has 25.
    assert NIGHTS.end_after_working_seconds(at("2026-03-29T00:00"), 23 * HOUR) == at("2026-03-30T00:00")
    assert NIGHTS.end_after_working_seconds(at("2026-10-25T00:00"), 25 * HOUR) == at("2026-10-26T00:00")


@pytest.mark.parametrize(
    ("zone", "start", "opens", "closes", "begins"),
    [
        # From 02:00 to 03:00, at 01:00 UTC.
        ("Europe/Berlin", "2026-03-28T12:00+00:00", "02:30", "12:00", "2026-03-29T01:00+00:00"),
        ("Europe/Berlin", "2026-03-28T12:00+00:00", "02:00", "12:00", "2026-03-29T01:00+00:00"),
        ("Europe/Berlin", "2026-03-28T12:00+00:00", "03:00", "12:00", "2026-03-29T01:00+00:00"),
        # By half an hour, from 02:00 to 02:30.
        ("Australia/Lord_Howe", "2026-10-03T06:00+00:00", "02:10", "12:00", "2026-10-03T15:30+00:00"),
        # At midnight, from 00:00 to 01:00.
        ("America/Santiago", "2026-09-05T23:00+00:00", "00:30", "12:00", "2026-09-06T04:00+00:00"),
        # A whole day that was not: there was no 30 December 2011.
        ("Pacific/Apia", "2011-12-30T06:30+00:00", "09:00", "17:00", "2011-12-30T19:00+00:00"),
    ],
)
def test_an_opening_that_the_clock_skips_begins_once_it_has_passed_it(
    zone: str, start: str, opens: str, closes: str, begins: str
) -> None:
    hours = (time.fromisoformat(opens), time.fromisoformat(closes))
    office = WorkingTime(ZoneInfo(zone), frozenset(range(1, 8)), *hours)
    due = office.end_after_working_seconds(datetime.fromisoformat(start), HOUR)
    assert due == datetime.fromisoformat(begins) + timedelta(hours=1)


def test_a_closing_that_the_clock_skips_has_come_once_it_has_passed_it() -> None:
    office = WorkingTime(BERLIN, frozenset(range(1, 8)), time(1), time(2, 30))
    # On 2026-03-29 an hour, from 01:00 to the jump; the next half hour is that of the day after.
    assert office.end_after_working_seconds(at("2026-03-29T00:00"), 1.5 * HOUR) == at("2026-03-30T01:30")


def test_a_day_off_counts_nothing() -> None:
    free = WorkingTime(BERLIN, WEEK, time(9), time(17), frozenset({date(2026, 12, 25)}))
    assert free.end_after_working_seconds(at("2026-12-24T16:00"), 2 * HOUR) == at("2026-12-28T10:00")


def test_the_day_is_that_of_the_time_zone() -> None:
    tokyo = WorkingTime(ZoneInfo("Asia/Tokyo"), WEEK, time(9), time(17))
    # Sunday night in Berlin is Monday morning in Tokyo.
    assert tokyo.end_after_working_seconds(at("2026-11-22T23:30"), HOUR) == at(
        "2026-11-23T10:00", ZoneInfo("Asia/Tokyo")
    )


@pytest.mark.wide
@given(
    st.integers(0, 730 * 86_400),
    st.integers(1, 400_000),
    st.integers(1, 400_000),
)
def test_a_wait_in_two_parts_is_due_when_the_whole_is(since: int, first: int, second: int) -> None:
    start = at("2026-01-01T00:00") + timedelta(seconds=since)
    halfway = OFFICE.end_after_working_seconds(start, first)
    assert OFFICE.end_after_working_seconds(halfway, second) == OFFICE.end_after_working_seconds(
        start, first + second
    )
    assert start < halfway
