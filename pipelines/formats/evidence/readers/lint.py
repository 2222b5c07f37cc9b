"""Lines of a linter, as flake8 and pylint print them: `file:line:column: CODE text`. Any other line says nothing."""

from __future__ import annotations

import re

from pipelines.formats.evidence.readers.report import (
    MOST_BYTES,
    MOST_ROWS,
    SEVERITIES,
    ReadReport,
    ToolFinding,
    UnreadableReport,
    shortened_text,
)

KIND = "lint"
LINE = re.compile(
    r"(?P<path>[^:\n]+):(?P<line>\d{1,9}):(?:\d+:)? *(?P<code>[A-Z]{1,5}\d{1,5}):? +(?P<text>.*)"
)
FLAWED = ("E9", "F63", "F7", "F82")
"""Python that does not run, or does not as it reads: what flake8 itself counts as an error."""
OF_CONDUCT = re.compile(r"(?:F|E|B|PLE)\d")
"""Pyflakes, bugbear, and the errors of pylint, which have four digits: `E1101`."""


def rule_severity(code: str) -> str:
    """Return the severity of a rule of a Python linter by its code. Most are about style, which risks nothing."""
    if code.startswith(FLAWED):
        return "high"
    # Of pycodestyle `E` has three digits, and is about style
    return "medium" if OF_CONDUCT.match(code) and not re.fullmatch(r"E\d{3}", code) else "low"


def read_lint(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    if len(data) > MOST_BYTES:
        raise UnreadableReport("larger than 16 MiB")
    findings = [
        ToolFinding(
            rule_severity(match["code"]),
            shortened_text(match["text"]),
            match["code"],
            shortened_text(match["path"].removeprefix("./"), 1000),
            int(match["line"]),
        )
        for line in data.decode("utf-8", "replace").splitlines()
        if (match := LINE.fullmatch(line.strip()))
    ]
    counts = {severity: sum(one.severity == severity for one in findings) for severity in SEVERITIES}
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.path, finding.line))
    facts = {"findings": {**counts, "total": len(findings)}}
    return ReadReport(KIND, facts, findings=findings[:MOST_ROWS], left=max(0, len(findings) - MOST_ROWS))
