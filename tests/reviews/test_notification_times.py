"""When a person is told: after their quiet hours, and at the hour of their digest, by the clock where they are."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime
from typing import Any

import pytest

from reviews.notifications.recipients import Recipient


@pytest.mark.parametrize(
    ("hour", "quiet", "zone", "waits_until"),
    [
        (23, (22, 7), "UTC", "2026-03-03T07:00+00:00"),
        (3, (22, 7), "UTC", "2026-03-02T07:00+00:00"),
        (7, (22, 7), "UTC", None),
        (12, (22, 7), "UTC", None),
        (12, (12, 14), "UTC", "2026-03-02T14:00+00:00"),
        (12, (5, 5), "UTC", None),
        (12, None, "UTC", None),
        (12, (22, 7), "Asia/Tokyo", None),
        (14, (22, 7), "Asia/Tokyo", "2026-03-02T22:00+00:00"),
        (12, (22, 7), "Nowhere/Else", None),
    ],
)
def test_quiet_hours_end_where_the_person_is(
    hour: int, quiet: tuple[int, int] | None, zone: str, waits_until: str | None
) -> None:
    start, end = quiet or (None, None)
    person = Recipient.recipient_from_row((1, "a@example.com", zone, {}, 8, start, end))
    at = datetime(2026, 3, 2, hour, 30 if hour != 7 else 0, tzinfo=UTC)
    assert person.time_after_quiet_hours(at) == (datetime.fromisoformat(waits_until) if waits_until else at)


@pytest.mark.parametrize(
    ("at", "quiet", "due"),
    [
        ("2026-03-02T06:00+00:00", (None, None), "2026-03-02T07:00+00:00"),
        ("2026-03-02T06:50+00:00", (None, None), "2026-03-03T07:00+00:00"),
        ("2026-03-02T07:30+00:00", (None, None), "2026-03-03T07:00+00:00"),
        ("2026-03-02T06:00+00:00", (22, 10), "2026-03-02T09:00+00:00"),
        # The clocks go forward on this day: eight o'clock comes an hour sooner.
        ("2026-03-28T20:00+00:00", (None, None), "2026-03-29T06:00+00:00"),
    ],
)
def test_the_digest_goes_out_at_the_hour_of_the_person(at: str, quiet: Any, due: str) -> None:
    person = Recipient.recipient_from_row((1, "a@example.com", "Europe/Berlin", {}, 8, *quiet))
    found = person.time_of_next_digest(datetime.fromisoformat(at))
    assert found == datetime.fromisoformat(due) and found.tzinfo == zoneinfo.ZoneInfo("UTC")
