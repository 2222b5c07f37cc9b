"""Report of a station: the result document of law §2, and the exit code."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from .text import one_line, without_unstorable_characters


class StationError(Exception):
    """The station cannot do its work. `failure_type` is what the rules of a line route by."""

    def __init__(self, message: str, failure_type: str = "station", exit_code: int = 1) -> None:
        super().__init__(message)
        self.failure_type = failure_type
        self.exit_code = exit_code


@dataclass
class StationReport:
    """Outcome that a station reports. `verdict` is pass, fail or blocked; `blockers` are `{title,
    description}`; `artifacts` are `{name, path, media_type, size, sha256}` with a path relative to the
    workspace; `signals` as in law §2."""

    summary: str
    output: dict[str, Any] = field(default_factory=dict)
    verdict: str = "pass"
    exit_code: int = 0
    failure_type: str = ""
    comment: str = ""
    blockers: list[dict[str, str]] = field(default_factory=list)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    signals: list[dict[str, Any]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The result document; what is empty is left out."""
        optional = {
            "output": self.output,
            "failure_type": self.failure_type,
            "comment": self.comment,
            "blockers": self.blockers,
            "artifacts": self.artifacts,
            "signals": self.signals,
        }
        return without_unstorable_characters(
            {"verdict": self.verdict, "summary": self.summary} | {k: v for k, v in optional.items() if v}
        )


def question_signals(question: str) -> list[dict[str, Any]]:
    """The signal that holds the task until somebody has answered `question`; then the station runs again."""
    return [{"verdict": "hold", "reason": "needs_human", "meta": {"question": question}}]


def failed_report(error: StationError) -> StationReport:
    """The report of a station that could not do its work."""
    return StationReport(
        str(error), verdict="fail", exit_code=error.exit_code, failure_type=error.failure_type
    )


def write_without_following_link(path: Path, data: bytes) -> None:
    """Write `path` anew; a link that stands there is replaced, never followed."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def write_log_line(text: str) -> None:
    """Write one line to the log."""
    print(one_line(text), flush=True)


def parse_arguments(description: str, **options: dict[str, Any]) -> argparse.Namespace:
    """The command line: every option as `--name=value`, so that no value can pass for an option of its own."""
    # An abbreviation would make an option of what is meant as a value
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    for name, settings in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    return parser.parse_args()


def artifact_description_of_file(path: Path, media_type: str) -> dict[str, Any]:
    """Describe a file in the workspace: `{name, path, media_type, size, sha256}`."""
    data = path.read_bytes()
    return {
        "name": path.name,
        "path": str(path),
        "media_type": media_type,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def run_write_result_and_exit(work: Callable[[], StationReport]) -> NoReturn:
    """Do `work`, write the result document, say what did not go well, exit."""
    try:
        report = work()
    except StationError as error:
        report = failed_report(error)
    place = os.environ.get("GATELINE_RESULT")
    if place:
        write_without_following_link(Path(place), json.dumps(report.document()).encode())
    if report.verdict != "pass":
        write_log_line(report.summary)
    sys.exit(report.exit_code)
