"""One format for times, said twice: by the server in Python, and by the page while it ticks (static/ts/time.test.ts
reads the same table)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.templatetags.gateline import NBSP, duration, relative

CASES = json.loads(Path(__file__).with_name("durations.json").read_text("utf-8"))


@pytest.mark.parametrize(("seconds", "said"), CASES["durations"])
def test_a_duration_has_two_units_at_most(seconds: float, said: str) -> None:
    assert duration(seconds).replace(NBSP, " ") == said
    assert duration(timedelta(seconds=seconds)).replace(NBSP, " ") == said


@pytest.mark.parametrize(("ahead", "said"), CASES["ages"])
def test_an_age_says_its_direction(ahead: float, said: str) -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    assert relative(now + timedelta(seconds=ahead), now).replace(NBSP, " ") == said


def test_nothing_is_said_of_no_time() -> None:
    assert (duration(None), relative(None)) == ("", "")
