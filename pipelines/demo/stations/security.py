"""repository-security: bandit over the checked-out code. Bandit reads the code; it never runs it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import archive, sarif, tree
from .findings import Finding, Findings, acceptance
from .process import capture, environment
from .report import KEPT, Report, StationError, arguments
from .text import clean, clip, count, one_line

MOST_BYTES = 256 << 20  # of bandit's own report
REPORT = KEPT / "security.sarif"
UNREAD_LISTED = 50
ASSERT = "B101"  # what tests are made of: no finding there


def main() -> Report:
    given = arguments(
        "Look for security mistakes in the checked-out code with bandit.",
        tree={"required": True},
        triage={"default": "none"},
        limit={"type": float, "default": 900.0},
    )
    tree.checked(given.tree)
    with tempfile.TemporaryDirectory(dir=".", prefix=".security-") as folder:
        document = bandit(Path(folder).absolute(), given.limit)
    found = Findings(findings(document["results"]))
    sarif.write(REPORT, "bandit", found)
    totals = document["metrics"]["_totals"]
    unread = [clean(error["filename"].removeprefix("./")) for error in document["errors"]]
    suppressed = totals["nosec"] + totals["skipped_tests"]
    accepted = acceptance(given.triage, found.numbers["high"])
    return Report(
        f"Security: {found.words()}.{' Accepted in triage.' if accepted['accepted'] else ''}",
        output={
            **accepted,
            "suppressed": suppressed,
            "unread": unread[:UNREAD_LISTED],
            "lines": totals["loc"],
        },
        comment=" ".join(filter(None, (comment(suppressed, len(unread)), found.cut))),
        artifacts=[archive.artifact(REPORT, sarif.MEDIA_TYPE)],
    )


def comment(suppressed: int, unread: int) -> str:
    """What the numbers do not show."""
    notes = []
    if suppressed:
        notes.append(f"{count(suppressed, 'finding')} silenced by “nosec” in the code.")
    if unread:
        notes.append(f"{count(unread, 'file')} could not be parsed and was not looked at.")
    return " ".join(notes)


def bandit(folder: Path, limit: float) -> dict[str, Any]:
    """Bandit's own report. An `.ini` of ours keeps it from reading options out of the repository's `.bandit`."""
    settings, output = folder / "bandit.ini", folder / "report.json"
    settings.write_text("[bandit]\n")
    argv = [
        *(sys.executable, "-I", "-m", "bandit", "--quiet", "--recursive", "--exit-zero", "--format=json"),
        *(f"--ini={settings}", f"--output={output}", "."),
    ]
    code, _, errors = capture(argv, cwd=tree.TREE, env=environment(HOME=str(folder)), limit=limit)
    if code or not output.is_file():
        raise StationError(f"bandit could not run: {clip(one_line(errors))}", "tool", code or 2)
    if output.stat().st_size > MOST_BYTES:
        raise StationError("bandit found more than a report can hold.", "too_large")
    document: dict[str, Any] = json.loads(output.read_bytes().decode("utf-8", "backslashreplace"))
    return document


def findings(results: list[dict[str, Any]]) -> Iterator[Finding]:
    for found in results:
        if found["test_id"] == ASSERT and tree.TEST_FILE.search(found["filename"]):
            continue
        severity = found["issue_severity"].lower()
        yield Finding(
            severity if severity in ("high", "medium") else "low",
            found["test_id"],
            found["filename"].removeprefix("./"),
            found["line_number"],
            found["issue_text"],
        )
