"""Reports of tools among the artifacts of a task, read by their kind: findings, tests, tables, pictures, texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from django.core.files.storage import storages
from django.http import QueryDict

from pipelines.formats.evidence.readers.reader_table import READERS, display_kind_or_empty
from pipelines.formats.evidence.readers.report import (
    MOST_BYTES,
    CaseProblem,
    ReadReport,
    SuiteCount,
    ToolFinding,
    UnreadableReport,
)
from pipelines.models import Artifact, Job
from pipelines.queries.actors import station_actor_kind_and_name
from pipelines.queries.observed_facts import fact_groups, findings_words, tests_words
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.document.line import ParsedLine
from pipelines.templatetags.cuts import PageSlice, page_slice_from
from pipelines.work.results.text import Masker
from reviews.review.steps import PathStep

MAX_ROWS = 200
CACHED_REPORTS = 64
GROUPS = ("tests", "findings", "coverage")


@dataclass(frozen=True)
class ReportView:
    """An artifact with a known report format. `why`: why it cannot be read, if so. `counted`: whether its counts are
    facts, because its station is not an agent and declares the file."""

    artifact: Artifact
    station: str
    kind: str
    counted: bool
    report: ReadReport | None = None
    why: str = ""

    @property
    def name(self) -> str:
        return escape_hidden(self.artifact.name)

    @property
    def header(self) -> Sequence[str]:
        return [escape_hidden(cell) for cell in self.report.header] if self.report else ()

    @property
    def rows(self) -> PageSlice[Sequence[str]]:
        report_rows = self.report.rows if self.report else ()
        rows: list[Sequence[str]] = [[escape_hidden(cell) for cell in row] for row in report_rows[:MAX_ROWS]]
        return PageSlice(rows, len(report_rows) + self.left)

    @property
    def left(self) -> int:
        """Number of entries of the report beyond those that were read."""
        return self.report.left if self.report else 0

    @property
    def tests(self) -> PageSlice[CaseProblem]:
        cases = self.report.tests if self.report else ()
        return PageSlice(cases[:MAX_ROWS], len(cases) + self.left)

    @property
    def suites(self) -> PageSlice[SuiteCount]:
        suite_counts = self.report.suites if self.report else ()
        counted = self.report.facts.get("tests", {}).get("suites", len(suite_counts)) if self.report else 0
        return PageSlice(suite_counts[:MAX_ROWS], int(counted))

    @property
    def text(self) -> str:
        return escape_hidden(self.report.text) if self.report else ""


@dataclass(frozen=True)
class PlacedFinding:
    """A finding of a tool, with the address of its line among the changes; "" where it did not change. `path`: of its
    file, as the tree names it."""

    finding: ToolFinding
    url: str
    path: str

    @property
    def message(self) -> str:
        return escape_hidden(self.finding.message)

    @property
    def place(self) -> str:
        line = f":{self.finding.line}" if self.finding.line else ""
        return escape_hidden(self.path) + line

    @property
    def severity(self) -> str:
        words = {"critical": "Critical", "high": "High", "medium": "Medium", "low": "Low"}
        return words[self.finding.severity]

    @property
    def tone(self) -> str:
        return {"critical": "danger", "high": "danger", "medium": "attention"}.get(
            self.finding.severity, "neutral"
        )


def facts_by_group(job: Job) -> dict[str, Mapping[str, Any]]:
    return fact_groups(job.outcome)


@lru_cache(CACHED_REPORTS)
def _read_report_or_reason(name: str, kind: str) -> ReadReport | str:
    """Stored bytes never change: a report is read once per process."""
    try:
        with storages["artifacts"].open(name, "rb") as file:
            # One byte more than allowed: the reader refuses it
            return READERS[kind](file.read(MOST_BYTES + 1))
    except FileNotFoundError:
        return "gone"
    except UnreadableReport as error:
        return str(error)


def report_without_secrets(report: ReadReport, masker: Masker) -> ReadReport:
    """The texts of a tool's report without the secrets of the task."""
    hide = masker.masked_text
    return replace(
        report,
        suites=[replace(suite, name=hide(suite.name)) for suite in report.suites],
        tests=[
            replace(
                test_case,
                suite=hide(test_case.suite),
                name=hide(test_case.name),
                message=hide(test_case.message),
                path=hide(test_case.path),
            )
            for test_case in report.tests
        ],
        findings=[
            replace(
                finding,
                message=hide(finding.message),
                rule=hide(finding.rule),
                path=hide(finding.path),
                tool=hide(finding.tool),
            )
            for finding in report.findings
        ],
        header=[*map(hide, report.header)],
        rows=[[*map(hide, row)] for row in report.rows],
        text=hide(report.text),
    )


class ToolReports:
    """Reports of the last run of each station so far. `steps`, `artifacts`: in the order in which they came."""

    def __init__(
        self,
        line: ParsedLine,
        steps: Sequence[PathStep],
        artifacts: Sequence[Artifact],
        query: QueryDict | None = None,
    ) -> None:
        self.steps, self.artifacts = steps, artifacts
        self.query = query if query is not None else QueryDict()
        self._stations = line.stations_by_key

    # Reports of tools

    @cached_property
    def reports(self) -> list[ReportView]:
        last = {step.job.pk for step in self.steps}
        tool_reports = []
        for artifact in self.artifacts:
            station = self._stations.get(artifact.job.station)
            declared = (
                {declaration.path: declaration.kind for declaration in station.artifacts} if station else {}
            )
            # Also by the name alone, under which the work may have handed it over
            declared |= {path.rpartition("/")[2]: kind for path, kind in declared.items()}
            kind = declared.get(artifact.name) or display_kind_or_empty(artifact.name)
            # An earlier run of the station saw other files than those under review
            if artifact.job_id not in last or kind not in READERS:
                continue
            read = _read_report_or_reason(artifact.blob.name, kind)
            tool_reports.append(
                ReportView(
                    artifact,
                    station.name if station else artifact.job.station,
                    kind,
                    counted=artifact.name in declared and not self._is_agent(artifact.job),
                    report=report_without_secrets(read, self._masker)
                    if isinstance(read, ReadReport)
                    else None,
                    why=read if isinstance(read, str) else "",
                )
            )
        return tool_reports

    @property
    def tables(self) -> list[ReportView]:
        return [
            tool_report for tool_report in self.reports if tool_report.report and tool_report.report.header
        ]

    @property
    def pictures(self) -> list[ReportView]:
        return [
            tool_report for tool_report in self.reports if tool_report.report and tool_report.kind == "image"
        ]

    @property
    def texts(self) -> list[ReportView]:
        return [tool_report for tool_report in self.reports if tool_report.report and tool_report.report.text]

    @property
    def tests(self) -> list[ReportView]:
        return [
            tool_report for tool_report in self.reports if tool_report.report and tool_report.kind == "junit"
        ]

    @property
    def unreadable(self) -> list[ReportView]:
        return [tool_report for tool_report in self.reports if tool_report.why]

    @cached_property
    def _findings(self) -> list[ToolFinding]:
        order = ("critical", "high", "medium", "low")
        every = [
            one for tool_report in self.reports if tool_report.report for one in tool_report.report.findings
        ]
        return sorted(every, key=lambda finding: order.index(finding.severity))

    @property
    def finding_count(self) -> int:
        """Number of all findings, read or not."""
        left = sum(report.left for report in self.reports if report.report and report.report.findings)
        return len(self._findings) + left

    @property
    def search_text(self) -> str:
        """The part of a message, rule or path that findings are searched for."""
        return self.query.get("found", "").strip()

    @cached_property
    def findings(self) -> PageSlice[PlacedFinding]:
        """Findings that a page shows, of those that match."""
        words = self.search_text.casefold()
        matching = [
            finding
            for finding in self._findings
            if not words or words in f"{finding.message} {finding.rule} {finding.path}".casefold()
        ]
        part = page_slice_from(matching, MAX_ROWS, self.query.get("findings", ""))
        placed = [
            PlacedFinding(
                finding,
                self.address_of_changed_line_or_empty(finding.path, finding.line),
                self._tree_path(finding.path),
            )
            for finding in part.rows
        ]
        return PageSlice(placed, len(matching) if words else self.finding_count, part.start)

    @property
    def findings_url(self) -> str:
        """The next findings; "" where none of those that were read is left."""
        end = self.findings.start + len(self.findings.rows)
        if not self.findings.next or end >= len(self._findings):
            return ""
        query = self.query.copy()
        query["findings"] = str(end)
        return f"?{query.urlencode()}"

    @property
    def finding_reports_with_unread_entries(self) -> list[ReportView]:
        """Reports that have more findings than were read."""
        return [report for report in self.reports if report.left and report.report and report.report.findings]

    def _tree_path(self, path: str) -> str:
        """Tools name files by where they lay while they ran."""
        parts = path.split("/")
        # The longest end that is a file here, as a tool may name the folder of the attempt that is long gone
        ends = ("/".join(parts[index:]) for index in range(len(parts)))
        return next((path_end for path_end in ends if path_end in self._tree_file_paths), path)

    @property
    def _tree_file_paths(self) -> frozenset[str]:
        """The files of the tree that was looked at, where there is one."""
        return frozenset()

    @property
    def _masker(self) -> Masker:
        raise NotImplementedError

    def address_of_changed_line_or_empty(self, path: str, line: int) -> str:
        """Return the address of a line among the changes; "" where there are none."""
        return ""

    # Facts

    @cached_property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """The latest counts of each group, from stations that are not agents."""
        latest: dict[str, Mapping[str, Any]] = {}
        for step in self.steps:
            # What an agent counts of its own work is a claim
            if not self._is_agent(step.job):
                latest |= {
                    group: counts for group, counts in facts_by_group(step.job).items() if group in GROUPS
                }
        return latest

    @property
    def test_words(self) -> str:
        return tests_words(self.facts["tests"]) if "tests" in self.facts else ""

    @property
    def finding_words(self) -> str:
        """Say how many the last check found."""
        return findings_words(self.facts.get("findings", {})) or "0 findings"

    @property
    def high_count(self) -> int:
        counts = self.facts.get("findings", {})
        return int(counts.get("critical", 0)) + int(counts.get("high", 0))

    def _is_agent(self, job: Job) -> bool:
        return station_actor_kind_and_name(self._stations.get(job.station))[0] == "agent"
