"""What a station reports: the result document of law §2, and the exit code."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from .text import clean, one_line

KEPT = Path(".gateline-results")  # in the workspace: what each station found, for those after it


class StationError(Exception):
    """The station cannot do its work. `failure_type` is what the rules of a line route by."""

    def __init__(self, message: str, failure_type: str = "station", exit_code: int = 1) -> None:
        super().__init__(message)
        self.failure_type = failure_type
        self.exit_code = exit_code


@dataclass
class Report:
    """One outcome. `verdict` is pass, fail or blocked; `blockers` are `{title, description}`; `artifacts` are
    `{name, path, media_type, size, sha256}` with a path relative to the workspace; `signals` as in law §2."""

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
        return clean(
            {"verdict": self.verdict, "summary": self.summary} | {k: v for k, v in optional.items() if v}
        )


def asks(question: str) -> list[dict[str, Any]]:
    """The signal that holds the task until somebody has answered `question`; then the station runs again."""
    return [{"verdict": "hold", "reason": "needs_human", "meta": {"question": question}}]


def failed(error: StationError) -> Report:
    """The report of a station that could not do its work."""
    return Report(str(error), verdict="fail", exit_code=error.exit_code, failure_type=error.failure_type)


def keep(station: str, report: Report) -> None:
    """Leave the report in the workspace for the stations after this one, and its SHA-256 in the output.

    The digest travels outside the workspace (in the task's context), so that a later station sees whether the code
    under test has rewritten what was found before it ran.
    """
    KEPT.mkdir(exist_ok=True)
    data = json.dumps(report.document(), indent=1, sort_keys=True).encode()
    replace(KEPT / f"{station}.json", data)
    report.output[f"{station}_report"] = hashlib.sha256(data).hexdigest()


def kept(station: str, digest: str) -> dict[str, Any]:
    """The report that `station` left in this workspace; `digest` is the SHA-256 that it gave to the line.

    :raises StationError: `changed`: it is gone or another one.
    """
    path = KEPT / f"{station}.json"
    data = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise StationError(
            f"The report of {station} in the workspace is not the one it made: something changed it since.",
            "changed",
        )
    document: dict[str, Any] = json.loads(data)
    return document


def evidence(station: str, document: dict[str, Any]) -> bytes:
    """What `station` handed over with this report: its SARIF or JUnit file.

    :raises StationError: `changed`, as above.
    """
    named = document["artifacts"][0]
    path = Path(named["path"])
    data = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
    if hashlib.sha256(data).hexdigest() != named["sha256"]:
        raise StationError(
            f"{named['name']} in the workspace is not the one that {station} wrote: something changed it since.",
            "changed",
        )
    return data


def replace(path: Path, data: bytes) -> None:
    """Write `path` anew; a link that stands there is replaced, never followed."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def say(text: str) -> None:
    """One line of the log."""
    print(one_line(text), flush=True)


def arguments(description: str, **options: dict[str, Any]) -> argparse.Namespace:
    """The command line: every option as `--name=value`, so that no value can pass for an option of its own."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    for name, settings in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    return parser.parse_args()


def listed(variable: str, separators: str) -> Sequence[str]:
    """The entries of an environment variable that holds a list."""
    value = os.environ.get(variable, "")
    for separator in separators:
        value = value.replace(separator, "\n")
    return [entry.strip() for entry in value.split("\n") if entry.strip()]


def run(station: str, work: Callable[[], Report]) -> NoReturn:
    """Do `work`, write the result document, say the summary, exit. The report of a station with a name is kept for the
    stations after it; one without a name has said in its own words what it passes on."""
    try:
        report = work()
    except StationError as error:
        report = failed(error)
    if station:
        keep(station, report)
    place = os.environ.get("GATELINE_RESULT")
    if place:
        replace(Path(place), json.dumps(report.document()).encode())
    if station or report.verdict != "pass":
        say(report.summary)
    sys.exit(report.exit_code)
