"""A few tasks on a line with everything that can be waited for, a few kills: the short version of tests/soak."""

from __future__ import annotations

import json

from tests.soak.test_kills import kills


def test_tasks_end_although_their_workers_are_killed() -> None:
    words = [
        "--tasks",
        "4",
        "--kills",
        "2",
        "--postgres",
        "0",
        "--restarts",
        "0",
        "--workers",
        "2",
        "--every",
        "1.5",
    ]
    # Both workers may be dead at once, and a loaded machine takes its time to start one.
    words += ["--noticed", "60"]
    parts = [json.loads(line) for line in kills(*words, seconds=300).splitlines()]
    assert [part["part"] for part in parts] == ["killed"]
    assert all(part["violations of invariants"] == part["orphaned processes"] == 0 for part in parts)
    assert all(part["line"] == "whole-law" and part["joins"] and part["gates decided"] for part in parts)
