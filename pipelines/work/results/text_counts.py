"""Counts of tests that passed, by what pytest, jest, vitest, mocha, `node --test` and `go test` print at their end. It
is a word for people: no rule goes by it, since any program may print such a line. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from pipelines.routing.basics.plural import singular_or_plural
from pipelines.work.results.text import ESCAPE

TAIL: Final = 16 * 1024
"""Bytes at the end of a stream that are searched."""
_COUNT: Final = re.compile(r"(\d{1,9}) (passed|skipped)\b")
_SUMMARIES: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # pytest: ==== 167 passed, 2 skipped in 1.20s ====
        r"^=* ?(\d+ (?:passed|skipped|deselected|x?failed|xpassed)\b.*) in [\d.]+s\b",
        # jest: Tests:       2 skipped, 167 passed, 169 total
        r"^Tests: +(.+), \d+ total$",
        # vitest:      Tests  167 passed | 2 skipped (169)
        r"^ +Tests +(.+) \(\d+\)$",
    )
)
# What `node --test` ends with, as TAP or for people; of tape the first lines; then mocha.
_COUNT_PAIRS: Final = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^[#ℹ] tests +\d+\n(?:[#ℹ] suites \d+\n)?[#ℹ] pass +(\d{1,9})$"
        r"(?:\n[#ℹ] fail +\d+)?(?:\n[#ℹ] cancelled \d+)?(?:\n[#ℹ] skipped (\d{1,9})$)?",
        r"^ +(\d{1,9}) passing \([\d.]+m?s\)$(?:\n +(\d{1,9}) pending$)?",
    )
)
# With -v go prints its tests, without only its packages
_GO_TEST: Final = re.compile(r"^--- PASS: ", re.MULTILINE)
_GO_PACKAGE: Final = re.compile(r"^ok  ?\t\S+\t(?:[\d.]+s|\(cached\))", re.MULTILINE)


def passed_tests_text(*streams: bytes) -> str:
    """Return `167 tests passed, 2 skipped`, "" where nothing of it was printed."""
    text = "\n".join(stream.decode(errors="replace") for stream in streams)
    text = ESCAPE.sub("", text).replace("\r\n", "\n")
    counts: Counter[str] = Counter()
    for summary in _SUMMARIES:
        for line in summary.findall(text):
            counts.update({word: int(number) for number, word in _COUNT.findall(line)})
    for summary in _COUNT_PAIRS:
        for passed, skipped in summary.findall(text):
            counts.update({"passed": int(passed), "skipped": int(skipped or 0)})
    counts["passed"] += len(_GO_TEST.findall(text))
    if not counts["passed"]:
        packages = len(_GO_PACKAGE.findall(text))
        return (
            singular_or_plural("%(n)s package passed", "%(n)s packages passed", packages) % {"n": packages}
            if packages
            else ""
        )
    words = [
        singular_or_plural("%(n)s test passed", "%(n)s tests passed", counts["passed"])
        % {"n": counts["passed"]}
    ]
    if counts["skipped"]:
        words.append(f"{counts['skipped']} skipped")
    return ", ".join(words)
