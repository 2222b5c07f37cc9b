"""SARIF 2.1.0: the results of analysis tools. Suppressed results and results that passed are no findings."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

from pipelines.formats.evidence.readers import lint
from pipelines.formats.evidence.readers.json_text import nested_value_or_none, objects_of_list, parsed_json
from pipelines.formats.evidence.readers.report import (
    MOST_ROWS,
    SEVERITIES,
    ReadReport,
    ToolFinding,
    UnreadableReport,
    shortened_text,
)

KIND = "sarif"
LEVELS = {"error": "high", "warning": "medium", "note": "low", "none": "low"}
NO_FINDING = ("pass", "notApplicable", "informational", "open", "review")


def read_sarif(data: bytes) -> ReadReport:
    """Raises UnreadableReport."""
    document = parsed_json(data)
    if not isinstance(document, dict) or not isinstance(document.get("runs"), list):
        raise UnreadableReport("no SARIF report")
    findings: list[ToolFinding] = []
    for run in objects_of_list(document["runs"]):
        driver = nested_value_or_none(run, "tool", "driver") or {}
        rules = objects_of_list(nested_value_or_none(driver, "rules"))
        by_id = {rule["id"]: rule for rule in rules if isinstance(rule.get("id"), str)}
        tool = shortened_text(nested_value_or_none(driver, "name"), 100)
        bases = run.get("originalUriBaseIds")
        for result in objects_of_list(run.get("results")):
            kind = result.get("kind", "fail")
            if not (isinstance(kind, str) and kind in NO_FINDING) and not objects_of_list(
                result.get("suppressions")
            ):
                findings.append(_tool_finding(result, rules, by_id, tool, bases))
    counts = {severity: sum(one.severity == severity for one in findings) for severity in SEVERITIES}
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.path, finding.line))
    facts = {"findings": {**counts, "total": len(findings)}}
    return ReadReport(KIND, facts, findings=findings[:MOST_ROWS], left=max(0, len(findings) - MOST_ROWS))


def _tool_finding(
    result: dict[str, Any], rules: list[dict[str, Any]], by_id: dict[str, Any], tool: str, bases: Any
) -> ToolFinding:
    rule_id = result.get("ruleId") or nested_value_or_none(result, "rule", "id")
    index = result.get("ruleIndex")
    # Where a result names no rule by its place, SARIF has -1, which is the last one to Python
    known = isinstance(index, int) and 0 <= index < len(rules)
    rule = rules[index or 0] if known else by_id.get(rule_id) if isinstance(rule_id, str) else None
    place = nested_value_or_none(next(iter(objects_of_list(result.get("locations"))), {}), "physicalLocation")
    line = nested_value_or_none(place, "region", "startLine")
    return ToolFinding(
        _finding_severity(result, rule, tool),
        shortened_text(
            nested_value_or_none(result, "message", "text")
            or nested_value_or_none(rule, "shortDescription", "text")
        ),
        shortened_text(rule_id or nested_value_or_none(rule, "id"), 100),
        relative_path_or_as_given(
            nested_value_or_none(place, "artifactLocation", "uri"), _base_folder_or_empty(place, bases)
        ),
        line if type(line) is int and 0 < line < 10**9 else 0,
        tool,
    )


def _finding_severity(result: dict[str, Any], rule: Any, tool: str) -> str:
    """Return the severity by the score that security tools give (GitHub's reading of it), else by the level."""
    score = nested_value_or_none(result, "properties", "security-severity") or nested_value_or_none(
        rule, "properties", "security-severity"
    )
    try:
        number = float(score) if isinstance(score, str | int | float) else -1.0
    except ValueError:
        number = -1.0
    if 0 < number <= 10:
        return "critical" if number >= 9 else "high" if number >= 7 else "medium" if number >= 4 else "low"
    code = result.get("ruleId") or nested_value_or_none(rule, "id")
    # To ruff every finding is an error; those of bandit (`S`) are of risks
    if tool == "ruff" and isinstance(code, str) and not re.match(r"S\d", code):
        return lint.rule_severity(code)
    # “warning” is what SARIF says of a result without a level.
    level = result.get("level") or nested_value_or_none(rule, "defaultConfiguration", "level") or "warning"
    return LEVELS.get(level, "medium") if isinstance(level, str) else "medium"


def _base_folder_or_empty(place: Any, bases: Any) -> str:
    """The folder below which a path is, where the report names it relative to the tree."""
    key = nested_value_or_none(place, "artifactLocation", "uriBaseId")
    uri = nested_value_or_none(bases, key, "uri") if isinstance(key, str) else None
    return uri if isinstance(uri, str) and ":" not in uri and not uri.startswith("/") else ""


def relative_path_or_as_given(uri: Any, base: str = "") -> str:
    """A path below the tree, of a relative or a file: address; anything else as it is, never followed."""
    text = shortened_text(uri, 1000)
    if text.startswith("file:"):
        try:
            text = urlsplit(text).path
        except ValueError:  # no address at all
            return text
    # An address of another scheme
    elif ":" in text.partition("/")[0]:
        return text
    elif not text.startswith("/"):
        text = f"{base[:1000]}{text}"
    return unquote(text).removeprefix("./")
