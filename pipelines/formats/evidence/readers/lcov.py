"""LCOV trace files: counted from the lines and branches, not from the totals."""

from __future__ import annotations

from pipelines.formats.evidence.readers.report import (
    MOST_BYTES,
    MOST_ROWS,
    ReadReport,
    UnreadableReport,
    shortened_text,
)
from pipelines.formats.evidence.readers.xml import int_or_zero

KIND = "lcov"


def read_lcov(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    if len(data) > MOST_BYTES:
        raise UnreadableReport("larger than 16 MiB")
    lines: dict[str, dict[int, bool]] = {}
    branches = covered_branches = ends = 0
    path = ""
    for row in data.decode("utf-8", "replace").splitlines():
        name, _, value = row.strip().partition(":")
        parts = value.split(",")
        if name == "SF":
            path = shortened_text(value, 400)
            lines.setdefault(path, {})
        # DA:line,hits and, in some, a checksum
        elif name == "DA" and path and len(parts) >= 2:
            number = int_or_zero(parts[0])
            lines[path][number] = lines[path].get(number, False) or int_or_zero(parts[1]) > 0
        # BRDA:line,block,branch,taken; “-” where the line was never reached
        elif name == "BRDA" and path and len(parts) == 4:
            branches, covered_branches = branches + 1, covered_branches + (int_or_zero(parts[3]) > 0)
        ends += row.strip() == "end_of_record"
    if not ends or not lines:
        raise UnreadableReport("no LCOV report")
    total = sum(map(len, lines.values()))
    covered = sum(sum(hits.values()) for hits in lines.values())
    facts = {
        **({"lines": round(100 * covered / total, 2)} if total else {}),
        **({"branches": round(100 * covered_branches / branches, 2)} if branches else {}),
    }
    rows = [(name, f"{sum(hits.values())} / {len(hits)}") for name, hits in sorted(lines.items())]
    return ReadReport(
        KIND,
        {"coverage": facts} if facts else {},
        header=("File", "Lines"),
        rows=rows[:MOST_ROWS],
        left=max(0, len(rows) - MOST_ROWS),
    )
