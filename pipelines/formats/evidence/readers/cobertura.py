"""Cobertura XML: counted from the lines where they are listed, else the rate that the report claims."""

from __future__ import annotations

from pipelines.formats.evidence.readers.report import MOST_ROWS, ReadReport, UnreadableReport, shortened_text
from pipelines.formats.evidence.readers.xml import int_or_zero, parsed_elements, percent_or_none

KIND = "cobertura"


def read_cobertura(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    root, rates = "", {}
    lines: dict[str, dict[int, bool]] = {}
    branches = covered_branches = 0
    name = ""
    in_methods = 0
    for event, element, depth in parsed_elements(data):
        if event == "start":
            if depth == 1:
                root = element.tag
                rates = {
                    "lines": percent_or_none(element.get("line-rate")),
                    "branches": percent_or_none(element.get("branch-rate")),
                }
            if element.tag == "class":
                name = shortened_text(element.get("filename"), 400)
            in_methods += element.tag == "methods"
            continue
        in_methods -= element.tag == "methods"
        # The lines of methods stand in their class once more.
        if element.tag == "line" and not in_methods:
            hit = int_or_zero(element.get("hits")) > 0
            line_hits = lines.setdefault(name, {})
            number = int_or_zero(element.get("number"))
            # Several classes may be in one file, and name the same line.
            line_hits[number] = line_hits.get(number, False) or hit
            there, of = _covered_and_all_branches(element.get("condition-coverage"))
            covered_branches, branches = covered_branches + there, branches + of
        if element.tag == "class":
            # What was counted is let go: a report may have more elements than there is room for
            element.clear()
    if root != "coverage":
        raise UnreadableReport("no Cobertura report")
    total = sum(map(len, lines.values()))
    covered = sum(sum(hits.values()) for hits in lines.values())
    facts = {
        "lines": round(100 * covered / total, 2) if total else rates.get("lines"),
        "branches": round(100 * covered_branches / branches, 2) if branches else rates.get("branches"),
    }
    rows = [(path, f"{sum(hits.values())} / {len(hits)}") for path, hits in sorted(lines.items())]
    measured = {key: value for key, value in facts.items() if value is not None}
    return ReadReport(
        KIND,
        {"coverage": measured} if measured else {},
        header=("File", "Lines"),
        rows=rows[:MOST_ROWS],
        left=max(0, len(rows) - MOST_ROWS),
    )


def _covered_and_all_branches(coverage: str | None) -> tuple[int, int]:
    """`50% (1/2)` as (1, 2)."""
    inside = (coverage or "").rpartition("(")[2].rstrip(")").split("/")
    if len(inside) != 2:
        return 0, 0
    there, of = int_or_zero(inside[0]), int_or_zero(inside[1])
    return (there, of) if there <= of else (0, 0)
