"""Instants of cron expressions, over the days on which clocks change, and what the plain choices of the form write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.work.triggers import calendar
from pipelines.work.triggers.calendar import (
    Cadence,
    CronFault,
    checked_cron,
    plain_cadence_or_none,
    slots_after,
)

# Summer time begins on 2026-03-29 and ends on 2026-10-25 in Berlin, on 2026-03-08 and 2026-11-01 in New York, and on
# 2026-10-04 (by half an hour) and 2026-04-05 on Lord Howe.
CLOCK_CHANGES = [
    # A daily time in the hour that is left out counts once, right after it
    ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["29 03:00+02:00", "30 02:30+02:00"]),
    ("0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["29 03:00+02:00", "30 02:00+02:00", "30 02:30+02:00"]),
    ("30 2 * * *", "America/New_York", "2026-03-07T12:00", ["08 03:00-04:00", "09 02:30-04:00"]),
    ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", ["04 02:30+11:00", "05 02:15+11:00"]),
    # In the hour that comes twice it counts once
    ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["25 02:30+02:00", "26 02:30+01:00"]),
    ("30 1 * * *", "America/New_York", "2026-10-31T12:00", ["01 01:30-04:00", "02 01:30-05:00"]),
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", ["05 01:45+11:00", "06 01:45+10:30"]),
    # Every hour: each that passes, both of the same name
    ("5 * * * *", "Europe/Berlin", "2026-10-25T01:30", ["25 02:05+02:00", "25 02:05+01:00", "25 03:05+01:00"]),
    ("5 * * * *", "Europe/Berlin", "2026-03-29T00:30", ["29 01:05+01:00", "29 03:05+02:00", "29 04:05+02:00"]),
    # No zone, no change
    ("30 2 * * *", "UTC", "2026-03-28T12:00", ["29 02:30+00:00", "30 02:30+00:00"]),
    ("0 9 L * *", "Europe/Berlin", "2028-02-01T00:00", ["29 09:00+01:00", "31 09:00+02:00"]),
    ("0 9 * * 1-5", "Europe/Berlin", "2026-11-20T09:00", ["23 09:00+01:00", "24 09:00+01:00"]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "zone", "after", "expected"), CLOCK_CHANGES)
def test_slots_where_clocks_change(expression: str, zone: str, after: str, expected: list[str]) -> None:
    place = ZoneInfo(zone)
    start = datetime.fromisoformat(after).replace(tzinfo=place)
    found = islice(slots_after(expression, zone, start.astimezone(UTC)), len(expected))
    shown = [at.astimezone(place).isoformat(" ", "minutes")[8:] for at in found]
    assert shown == expected


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
@pytest.mark.parametrize("expression", ["30 2 * * *", "5 * * * *", "*/20 * * * *", "0,30 1-3 * * *"])
def test_slots_asked_one_by_one_are_those_asked_together(expression: str, zone: str) -> None:
    """A schedule asks for the next slot after each moment of its own, also in the second of two equal hours."""
    for day in (
        datetime(2026, 3, 29, tzinfo=UTC),
        datetime(2026, 10, 25, tzinfo=UTC),
        datetime(2026, 11, 1, tzinfo=UTC),
    ):
        start = day - timedelta(hours=18)
        together = list(islice(slots_after(expression, zone, start), 150))
        assert together == sorted(set(together))
        for moment in (start + timedelta(minutes=7 * step) for step in range(300)):
            after = [at for at in together if at > moment]
            if after:
                assert next(calendar.slots_after(expression, zone, moment), None) == after[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        ("61 * * * *", "The minute cannot be read"),
        ("0 24 * * *", "The hour cannot be read"),
        ("0 0 31 2 *", "The day of the month cannot be read"),
        ("0 0 * * 8", "The day of the week cannot be read"),
        ("0 0 * * monday", "The day of the week cannot be read"),
        ("٣ 0 * * *", "The minute cannot be read"),
        ("0 0 1-5,,7 * *", "The day of the month cannot be read"),
        ("*/0 * * * *", "The minute cannot be read"),
        ("0," * 80 + "0 * * * *", "five fields"),
    ],
)
def test_a_cron_expression_that_is_none_says_where(text: str, said: str) -> None:
    with pytest.raises(CronFault, match=said):
        checked_cron(text)


@given(st.text(alphabet="0123456789*/,-#LW \tMONJA", max_size=30))
def test_any_text_is_an_expression_or_a_fault(text: str) -> None:
    try:
        expression = checked_cron(text)
    except CronFault as fault:
        assert str(fault)
        return
    assert calendar.schedule_sentence(expression)
    for slot in islice(slots_after(expression, "Europe/Berlin", datetime(2026, 1, 1, tzinfo=UTC)), 2):
        assert slot.tzinfo is UTC


@pytest.mark.parametrize(
    ("cadence", "expression", "words"),
    [
        (Cadence("hour", "00:15"), "15 * * * *", "Every hour at :15"),
        (Cadence("day", "02:00"), "0 2 * * *", "Every day at 02:00"),
        (Cadence("weekday", "07:30"), "30 7 * * 1-5", "Every weekday at 07:30"),
        (Cadence("week", "09:00", weekday="0"), "0 9 * * 0", "Every Sunday at 09:00"),
        (Cadence("month", "23:59", day="15"), "59 23 15 * *", "Every month on day 15 at 23:59"),
        (Cadence("month", "06:00", day="L"), "0 6 L * *", "Every month on the last day at 06:00"),
    ],
)
def test_a_plain_choice_is_an_expression_and_comes_back(
    cadence: Cadence, expression: str, words: str
) -> None:
    assert cadence.expression() == checked_cron(expression) == expression
    assert plain_cadence_or_none(expression) == cadence
    assert calendar.schedule_sentence(expression) == words


@pytest.mark.parametrize(
    "expression", ["*/5 * * * *", "0 9,17 * * *", "0 9 1 1 *", "0 * 3 * *", "0 9 1 * 1", "0 9 * * 7"]
)
def test_another_expression_is_no_plain_choice_and_has_words(expression: str) -> None:
    assert plain_cadence_or_none(expression) is None
    assert calendar.schedule_sentence(expression)[0].isupper()
