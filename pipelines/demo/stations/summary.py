"""The summary that is delivered beside the archive, for people and for machines."""

from __future__ import annotations

import html
import io
import re
from dataclasses import asdict
from typing import Any

from . import junit, sarif
from .findings import Findings
from .text import clean, clip, one_line

LISTED, FAILURES = 200, 50  # in the summary; the reports hold all of them
MARKUP = re.compile(r"([\\`*_\[\]#|~])")


def detailed(reports: dict[str, dict[str, Any]], found: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """The reports with the worst of what their files, `found`, list."""
    return {name: with_findings(name, reports[name], data) for name, data in found.items()}


def with_findings(name: str, report: dict[str, Any], data: bytes) -> dict[str, Any]:
    if name == "tests":
        suite = junit.parsed(io.BytesIO(data), "") or junit.Suite()
        counts = {key: getattr(suite, key) for key in ("tests", "passed", "failed", "errors", "skipped")}
        rows = [
            {"kind": each.kind, "test": clip(each.test), "message": clip(each.message)}
            for each in suite.problems
        ]
        more = {**counts, "failures": rows[:FAILURES], "truncated": len(rows) > FAILURES}
    else:
        findings = Findings(sarif.read(data))
        listed = [asdict(each) for each in findings.worst[:LISTED]]
        more = {**findings.numbers, "findings": listed, "truncated": findings.total > LISTED}
    return clean({**report, "output": {**report["output"], **more}})


def document(
    checkout: dict[str, Any], reports: dict[str, dict[str, Any]], archive: dict[str, Any]
) -> dict[str, Any]:
    """Everything that was found, by station, and what was delivered."""
    return {
        "repository": checkout["output"]["repository"],
        "commit": checkout["output"]["commit"],
        "branch": checkout["output"]["branch"],
        "tree": checkout["output"]["tree"],
        "archive": archive,
        "stations": {"checkout": checkout, **reports},
    }


def markdown(summary: dict[str, Any]) -> str:
    """The same for people. What strangers wrote is data in it, never markup."""
    stations = summary["stations"]
    lines = [
        "# Repository check",
        "",
        f"- Repository: {plain(summary['repository'])}",
        f"- Commit: {plain(summary['commit'])} {plain(summary['branch'])}".rstrip(),
        f"- Archive: {plain(summary['archive']['name'])}, SHA-256 {summary['archive']['sha256']}",
        "",
    ]
    for name, title in (
        ("checkout", "Checkout"),
        ("lint", "Lint"),
        ("tests", "Tests"),
        ("security", "Security"),
    ):
        lines += [f"## {title}", "", plain(stations[name]["summary"]), ""]
        lines += [
            part for line in stations[name].get("comment", "").splitlines() for part in (plain(line), "")
        ]
        lines += table(stations[name]["output"])
    return "\n".join(lines)


def table(output: dict[str, Any]) -> list[str]:
    """The findings or the failures of one station, as a table; nothing if it had none."""
    if found := output.get("findings"):
        head = ["| Severity | Code | Place | Message |", "|---|---|---|---|"]
        rows = [
            f"| {f['severity']} | {plain(f['code'])} | {plain(f['file'])}:{f['line']} | {plain(f['message'])} |"
            for f in found
        ]
    elif found := output.get("failures"):
        head = ["| Kind | Test | Message |", "|---|---|---|"]
        rows = [f"| {f['kind']} | {plain(f['test'])} | {plain(f['message'])} |" for f in found]
    else:
        return []
    cut = ["", "The list is cut; the numbers above count everything."] if output.get("truncated") else []
    return [*head, *rows, *cut, ""]


def plain(text: str) -> str:
    """`text` on one line, so written that Markdown and HTML show it as it is."""
    return MARKUP.sub(r"\\\1", html.escape(one_line(clean(text)), quote=False))
