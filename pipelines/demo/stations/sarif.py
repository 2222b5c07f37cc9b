"""Findings as a SARIF report, which Gateline reads, and back from it for the summary of the delivery."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from . import tree
from .findings import Finding, Findings
from .report import replace
from .text import clean, clip

LEVELS = {"high": "error", "medium": "warning", "low": "note"}
SEVERITIES = {level: severity for severity, level in LEVELS.items()}
BASE = "REPOSITORY"
MEDIA_TYPE = "application/sarif+json"


def write(path: Path, tool: str, found: Findings) -> None:
    """Paths are those of the repository, which lies in the folder `tree` of the workspace."""
    run = {
        "tool": {"driver": {"name": tool}},
        "originalUriBaseIds": {BASE: {"uri": f"{tree.TREE}/"}},
        "results": [result(finding) for finding in found.worst],
    }
    path.parent.mkdir(exist_ok=True)
    replace(path, json.dumps({"version": "2.1.0", "runs": [run]}).encode())


def result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(clean(finding.file)), "uriBaseId": BASE}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    said = {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "message": {"text": clip(finding.message)},
        "locations": [{"physicalLocation": place}],
    }
    cleaned: dict[str, Any] = clean(said)
    return cleaned


def read(data: bytes) -> Iterator[Finding]:
    """Of a report that `write` made."""
    for each in json.loads(data)["runs"][0]["results"]:
        place = each["locations"][0]["physicalLocation"]
        yield Finding(
            SEVERITIES[each["level"]],
            each["ruleId"],
            unquote(place["artifactLocation"]["uri"]),
            place.get("region", {}).get("startLine", 0),
            each["message"]["text"],
        )
