"""Observations of the work under review: reports of tools, next to the claims of its agent."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from pipelines.formats.evidence.claims.agent_claims import MOST, OTHER, agent_claims
from pipelines.formats.evidence.claims.claim_checks import (
    CONFIRMED,
    CONTRADICTED,
    CheckedClaim,
    ObservedWork,
    check_claims,
)
from pipelines.formats.evidence.claims.manifests import (
    dependency_names_or_none,
    is_manifest,
    is_unread_manifest,
)
from pipelines.formats.evidence.trees.file_kinds import sensitivity_or_empty
from pipelines.models import Job
from pipelines.queries.observed_facts import fact_groups, printed_tests_words, tests_words
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.agents import PRESETS
from pipelines.routing.document.kinds.agent import KIND as AGENT
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.templatetags.cuts import PageSlice, shortened
from pipelines.web.changes.tree_comparison import StoredBytes, TreeComparison, compare_trees
from pipelines.work.results.text import Masker
from reviews.review.changes import ReviewChanges
from reviews.review.detail import ReviewDetail
from reviews.review.reports import ToolReports, facts_by_group
from reviews.review.steps import PathStep

# Commands that looked at the work under review, and what came out: beside the diff, before anybody decides.


LONGEST = 160


@dataclass(frozen=True)
class CommandRun:
    """`facts`: what its reports count, in words, or else what it says itself. `findings`: “1 finding” of them. `stale`:
    the files changed after it."""

    station: str
    command: str
    job: Job
    facts: str
    stale: bool
    findings: str = ""

    @property
    def words(self) -> str:
        return ". ".join(filter(None, (self.words_without_findings, self.findings)))

    @property
    def words_without_findings(self) -> str:
        return ". ".join(filter(None, (self.ended, self.facts)))

    @property
    def ended(self) -> str:
        code = self.job.exit_code
        if self.job.kind == AGENT.key and self.job.result == "success":
            # What it did it says itself
            return ""
        if self.job.result == "success":
            return f"Passed, exit code {0 if code is None else code}"
        # It came to no exit code: what it says itself tells why
        if code is None:
            return f"Failed: {escape_hidden(shortened(self.job.summary, LONGEST)) or 'it did not run'}"
        return f"Failed, exit code {code}"

    @property
    def tone(self) -> str:
        if self.job.result != "success":
            return "danger"
        return "attention" if self.stale else "ok"

    @property
    def icon(self) -> str:
        return {"danger": "end-failed", "attention": "warning"}.get(self.tone, "end-completed")

    @property
    def seconds(self) -> float | None:
        job = self.job
        return (job.ended_at - job.started_at).total_seconds() if job.started_at and job.ended_at else None


def last_program_run_of_each_station(line: ParsedLine, steps: Sequence[PathStep]) -> list[CommandRun]:
    """The last run of each station whose work is a command, or a program in an agent's place, in the order they
    ended."""
    return list(
        _last_program_run_of_each_step(line, steps, _last_git_tree_or_empty(step.job for step in steps))
    )


def _last_program_run_of_each_step(
    line: ParsedLine, steps: Iterable[PathStep], now: str
) -> Iterator[CommandRun]:
    for step in steps:
        station = line.stations_by_key.get(step.job.station)
        if station is None or not _runs_fixed_program(step.job, station):
            continue
        argv = shlex.join(str(argument) for argument in station.work.get("argv") or ())
        tree = _last_git_tree_or_empty([step.job])
        yield CommandRun(
            step.station,
            escape_hidden(shortened(argv, LONGEST)),
            step.job,
            _tests_text_or_summary(step.job),
            # Where one of the trees is not known nobody can tell
            stale=bool(now and tree and tree != now),
            findings=_findings_text(step.job),
        )


def _runs_fixed_program(job: Job, station: Station) -> bool:
    if job.kind == COMMAND.key:
        return True
    preset = PRESETS.get(str(station.work.get("agent"))) if job.kind == AGENT.key else None
    return preset is not None and preset.fixed


def _tests_text_or_summary(job: Job) -> str:
    groups = fact_groups(job.outcome)
    if "tests" in groups:
        return tests_words(groups["tests"])
    if job.result == "success" and not _findings_text(job):
        return escape_hidden(shortened(job.summary, LONGEST))
    return ""


def _findings_text(job: Job) -> str:
    total = fact_groups(job.outcome).get("findings", {}).get("total")
    if not isinstance(total, int):
        return ""
    return singular_or_plural("%(n)s finding", "%(n)s findings", total) % {"n": total}


def _last_git_tree_or_empty(jobs: Iterable[Job]) -> str:
    """The one that the last of them left; "" where nobody looked."""
    trees = [str(fact_groups(job.outcome).get("git", {}).get("tree") or "") for job in jobs]
    return next(filter(None, reversed(trees)), "")


UNMENTIONED = 20


@dataclass(frozen=True)
class ClaimView:
    checked: CheckedClaim
    url: str = ""

    @property
    def text(self) -> str:
        return escape_hidden(self.checked.claim.text)

    @property
    def is_contradicted(self) -> bool:
        return self.checked.verdict == CONTRADICTED

    @property
    def is_confirmed(self) -> bool:
        return self.checked.verdict == CONFIRMED

    @property
    def words(self) -> str:
        """The observation in a sentence."""
        values = {"command": "", "code": "", "path": "", "name": "", **self.checked.values}
        values = {
            key: escape_hidden(value) if isinstance(value, str) else value for key, value in values.items()
        }
        reason = self.checked.reason
        if reason in ("tests", "tests_failed", "fewer_passed", "no_test_ran"):
            return tests_words(values)
        sentences = {
            "tests_changed": "%(path)s changed",
            "no_test_changed": "No test file changed",
            "is_gone": "%(path)s was deleted",
            "still_there": "%(path)s is still there",
            "file": "%(path)s changed",
            "not_there": "There is no file %(path)s",
            "unchanged": "%(path)s did not change",
            "nothing_ran": "No command ran",
            "ran": "%(command)s ended with exit code %(code)s",
            "dependency_added": "%(name)s was added to the dependencies",
            "no_dependency": "No dependency was added",
            "dependency_missing": "%(name)s was not added to the dependencies",
        }
        return sentences[reason] % values if reason in sentences else ""


class ReviewEvidence(ToolReports):
    """Evidence of the last run of each station on the way here."""

    def __init__(self, dossier: ReviewDetail, changes: ReviewChanges, query: QueryDict) -> None:
        self.dossier, self.changes = dossier, changes
        super().__init__(dossier.line, dossier.steps, dossier.artifacts, query)

    @cached_property
    def _tree_file_paths(self) -> frozenset[str]:
        return frozenset(str(entry["path"]) for entry in self.changes.tree.manifest)

    @property
    def _masker(self) -> Masker:
        return self.changes.masker

    @property
    def comparison(self) -> TreeComparison:
        start = next(diff_range for diff_range in self.changes.ranges if diff_range.key == "start")
        return compare_trees(start.base, self.changes.tree)

    @cached_property
    def command_runs(self) -> list[CommandRun]:
        return last_program_run_of_each_station(self.dossier.line, self.steps)

    @property
    def failed_run_count(self) -> int:
        return sum(run.tone == "danger" for run in self.command_runs)

    @property
    def printed_tests(self) -> str:
        """Return what the last command printed of its tests; "" where none did."""
        return next(filter(None, (printed_tests_words(run.job) for run in reversed(self.command_runs))), "")

    @property
    def findings_address(self) -> str:
        """Address of the tab with each finding, its file, line and text; "" where no report has any."""
        return f"{self.changes.url}?show=findings" if self.finding_count else ""

    # Claims

    @cached_property
    def claimant_job_or_none(self) -> Job | None:
        """The agent that worked last, or else the station under review."""
        agents = [step.job for step in self.steps if self._is_agent(step.job)]
        return agents[-1] if agents else self.dossier.visit.job

    @property
    def claiming_station_name(self) -> str:
        job = self.claimant_job_or_none
        station = self._stations.get(job.station) if job else None
        return station.name if station else ""

    @cached_property
    def claims(self) -> list[ClaimView]:
        job = self.claimant_job_or_none
        outcome = (job.outcome or {}) if job else {}
        text = "\n".join(str(outcome.get(key) or "") for key in ("summary", "comment"))
        made = agent_claims(text)
        # A list in which nothing could be checked would only repeat the summary
        if not any(claim.kind != OTHER for claim in made):
            return []
        checked_claims = check_claims(made, self._work_observed_by_job_and_later_tests(job))
        return [
            ClaimView(
                checked_claim,
                self.address_of_changed_line_or_empty(str(checked_claim.values.get("path", "")), 0),
            )
            for checked_claim in checked_claims
        ]

    @property
    def contradicted_count(self) -> int:
        return sum(claim.is_contradicted for claim in self.claims)

    @property
    def confirmed_claim_count(self) -> int:
        return sum(claim.is_confirmed for claim in self.claims)

    @property
    def unobserved_claim_count(self) -> int:
        return len(self.claims) - self.contradicted_count - self.confirmed_claim_count

    @property
    def claims_cut(self) -> bool:
        """Tell that the agent said more than is read as claims."""
        return len(self.claims) >= MOST

    @cached_property
    def unmentioned(self) -> PageSlice[tuple[str, str]]:
        """Changed files that no claim names, with their addresses; files that affect checks come first."""
        if not self.claims:
            return PageSlice((), 0)
        claim_text = " ".join(claim.checked.claim.text for claim in self.claims)
        # By the name alone: a claim need not write the folders
        rest = [file for file in self.comparison.files if file.path.rpartition("/")[2] not in claim_text]
        rest.sort(key=lambda file: not sensitivity_or_empty(file.path, self.changes.patterns))
        rows = [
            (escape_hidden(file.path), self.address_of_changed_line_or_empty(file.path, 0))
            for file in rest[:UNMENTIONED]
        ]
        return PageSlice(rows, len(rest))

    def _work_observed_by_job_and_later_tests(self, job: Job | None) -> ObservedWork:
        run = facts_by_group(job).get("commands", {}).get("run") if job else None
        # Tests that ran before the work says nothing about it.
        ended = job.ended_at if job else None
        later = [s.job for s in self.steps if ended and s.job.ended_at and s.job.ended_at >= ended]
        counted = [
            facts_by_group(later_job).get("tests") for later_job in later if not self._is_agent(later_job)
        ]
        tests = next((counts for counts in reversed(counted) if counts is not None), None)
        if not self.changes.tree.digest:
            return ObservedWork(tests=tests, commands_run=run)
        files = self.comparison.files
        return ObservedWork(
            tests=tests,
            changed={file.path: file.change.change for file in files},
            whole=True,
            present=frozenset(str(entry["path"]) for entry in self.changes.tree.manifest),
            renamed=frozenset(file.change.was for file in files if file.change.was),
            commands_run=run,
            dependencies=_added_dependencies_or_none_if_unread(self.comparison),
        )

    def address_of_changed_line_or_empty(self, path: str, line: int) -> str:
        """Address of a line among the changes since the start; "" where the file did not change."""
        files = [file.path for file in self.comparison.files] if self.changes.has_files else []
        matched_path = changed_path_or_none(path, files)
        if matched_path is None:
            return ""
        query = self.query.copy()
        for key in (
            "show",
            "range",
            "file",
            "line",
            "fragment",
            "found",
            "findings",
            "find",
            "under",
            "group",
        ):
            query.pop(key, None)
        query["show"], query["range"], query["file"] = "changes", "start", matched_path
        return f"{self.changes.url}?{query.urlencode()}" + (f"#new-{line}" if line else "")


def changed_path_or_none(path: str, changed_paths: Iterable[str]) -> str | None:
    """Return the changed file that a tool means by a path, which may be that of the folder in which it ran."""
    return next(
        (
            candidate
            for candidate in changed_paths
            if path and (candidate == path or path.endswith(f"/{candidate}"))
        ),
        None,
    )


def _added_dependencies_or_none_if_unread(comparison: TreeComparison) -> frozenset[str] | None:
    """None where a manifest changed that nobody here can read."""
    files: Iterable[Any] = [file.change for file in comparison.files]
    if any(is_unread_manifest(change.path) for change in files):
        return None
    manifests = [change for change in files if is_manifest(change.path)]
    stored = StoredBytes(entry for manifest in manifests for entry in (manifest.old, manifest.new))
    added: frozenset[str] = frozenset()
    for manifest in manifests:
        old, new = (
            dependency_names_or_none(manifest.path, stored.read(entry))
            for entry in (manifest.old, manifest.new)
        )
        if old is None or new is None:
            return None
        added |= new - old
    return added
