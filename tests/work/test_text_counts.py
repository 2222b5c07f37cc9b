"""Tests that a program counted itself, in the words of its own summary."""

from __future__ import annotations

import pytest

from pipelines.work.results.text_counts import counted

PYTEST = b"....s\n297 passed, 3 skipped, 1 warning in 1.23s\n"
PYTEST_WIDE = b"\x1b[32m====== \x1b[1m12 passed\x1b[0m\x1b[32m in 0.05s =======\x1b[0m\n"
JEST = (
    b"Test Suites: 4 passed, 4 total\nTests:       2 skipped, 167 passed, 169 total\nSnapshots:   0 total\n"
)
VITEST = b" Test Files  4 passed (4)\n      Tests  167 passed | 2 skipped (169)\n   Start at  12:14:40\n"
GO = b"ok  \tgithub.com/gorilla/mux\t0.012s\nok  \tgithub.com/gorilla/mux/a\t(cached)\n?   \tb\t[no test files]\n"
GO_TESTS = b"=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\nPASS\nok  \tm\t0.01s\n"


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        (PYTEST, "297 tests passed, 3 skipped"),
        (PYTEST_WIDE, "12 tests passed"),
        (JEST, "167 tests passed, 2 skipped"),
        (VITEST, "167 tests passed, 2 skipped"),
        (VITEST.replace(b"\n", b"\r\n") + JEST, "334 tests passed, 4 skipped"),
        (GO, "2 packages passed"),
        (GO_TESTS, "1 test passed"),
        (b"5 passed the gate in 3 s\nTests: none\nok then\n", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_what_passed_is_counted_by_the_summary(printed: bytes, words: str) -> None:
    assert counted(printed) == words


def test_a_summary_on_either_stream_counts() -> None:
    assert counted(b"", JEST) == "167 tests passed, 2 skipped"
