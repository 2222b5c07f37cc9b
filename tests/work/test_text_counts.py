"""Tests that a program counted itself, in the words of its own summary."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipelines.work.results.text_counts import passed_tests_text
from tests.design.typescript import NODE

PYTEST = b"....s\n297 passed, 3 skipped, 1 warning in 1.23s\n"
PYTEST_WIDE = b"\x1b[32m====== \x1b[1m12 passed\x1b[0m\x1b[32m in 0.05s =======\x1b[0m\n"
JEST = (
    b"Test Suites: 4 passed, 4 total\nTests:       2 skipped, 167 passed, 169 total\nSnapshots:   0 total\n"
)
VITEST = b" Test Files  4 passed (4)\n      Tests  167 passed | 2 skipped (169)\n   Start at  12:14:40\n"
MOCHA = b"\n  suite\n    \xe2\x9c\x94 works\n\n\n  31 passing (45ms)\n  1 pending\n\n"
TAPE = b"TAP version 13\n# adds\nok 1 one\n\n1..2\n# tests 2\n# pass  2\n\n# ok\n"
NODE_TESTS = """
const {test} = require("node:test");
test("adds", () => {});
test("takes away", () => {});
test("divides", {skip: true}, () => {});
"""
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
        (MOCHA, "31 tests passed, 1 skipped"),
        (TAPE, "2 tests passed"),
        (b"# pass 3\n", ""),
        (GO, "2 packages passed"),
        (GO_TESTS, "1 test passed"),
        (b"5 passed the gate in 3 s\nTests: none\nok then\n", ""),
        (b"\xff\xfe", ""),
    ],
)
def test_what_passed_is_counted_by_the_summary(printed: bytes, words: str) -> None:
    assert passed_tests_text(printed) == words


def test_a_summary_on_either_stream_counts() -> None:
    assert passed_tests_text(b"", JEST) == "167 tests passed, 2 skipped"


@pytest.mark.parametrize("reporter", ["tap", "spec"])
def test_what_node_says_of_its_own_tests_is_counted(reporter: str, tmp_path: Path) -> None:
    """The real program: a terminal gets `spec`, a pipe gets `tap` or `spec`, by its version."""
    (tmp_path / "sums.test.js").write_text(NODE_TESTS)
    assert NODE, "set-up brings node: run the tests by make test"
    argv = [NODE, "--test", f"--test-reporter={reporter}", "sums.test.js"]
    printed = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=True).stdout
    assert passed_tests_text(printed) == "2 tests passed, 1 skipped"
