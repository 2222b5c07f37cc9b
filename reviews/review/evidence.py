"""Observations of the work under review: reports of tools, next to the claims of its agent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from pipelines.formats.evidence.claims.checking import (
    CONFIRMED,
    CONTRADICTED,
    CheckedClaim,
    ObservedWork,
    checked,
)
from pipelines.formats.evidence.claims.manifests import is_manifest, is_other, names_in
from pipelines.formats.evidence.claims.reading import MOST, OTHER, claims_of
from pipelines.formats.evidence.trees.kinds import sensitivity
from pipelines.models import Job
from pipelines.queries.observed import tests_words
from pipelines.routing.basics.visible import visible
from pipelines.templatetags.cuts import Cut
from pipelines.web.changes.comparing import Bytes, Comparison, compared
from pipelines.work.results.text import Masker
from reviews.review.changes import ReviewChanges
from reviews.review.detail import Dossier
from reviews.review.ran import CommandRun, commands_run
from reviews.review.reports import ToolReports, facts_of

UNMENTIONED = 20


@dataclass(frozen=True)
class ShownClaim:
    checked: CheckedClaim
    url: str = ""

    @property
    def text(self) -> str:
        return visible(self.checked.claim.text)

    @property
    def contradicted(self) -> bool:
        return self.checked.verdict == CONTRADICTED

    @property
    def confirmed(self) -> bool:
        return self.checked.verdict == CONFIRMED

    @property
    def words(self) -> str:
        """The observation in a sentence."""
        values = {"command": "", "code": "", "path": "", "name": "", **self.checked.values}
        values = {key: visible(value) if isinstance(value, str) else value for key, value in values.items()}
        reason = self.checked.reason
        if reason in ("tests", "tests_failed", "fewer_passed", "no_test_ran"):
            return tests_words(values)
        said = {
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
        return said[reason] % values if reason in said else ""


class ReviewEvidence(ToolReports):
    """Evidence of the last run of each station on the way here."""

    def __init__(self, dossier: Dossier, changes: ReviewChanges, query: QueryDict) -> None:
        self.dossier, self.changes = dossier, changes
        super().__init__(dossier.line, dossier.steps, dossier.artifacts, query)

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(str(entry["path"]) for entry in self.changes.tree.manifest)

    @property
    def _masker(self) -> Masker:
        return self.changes.masker

    @property
    def comparison(self) -> Comparison:
        start = next(each for each in self.changes.ranges if each.key == "start")
        return compared(start.base, self.changes.tree)

    @cached_property
    def ran(self) -> list[CommandRun]:
        return commands_run(self.dossier.line, self.steps)

    # Claims

    @cached_property
    def claimant(self) -> Job | None:
        """The agent that worked last, or else the station under review."""
        agents = [step.job for step in self.steps if self._is_agent(step.job)]
        return agents[-1] if agents else self.dossier.visit.job

    @property
    def claimed_by(self) -> str:
        job = self.claimant
        station = self._stations.get(job.station) if job else None
        return station.name if station else ""

    @cached_property
    def claims(self) -> list[ShownClaim]:
        job = self.claimant
        outcome = (job.outcome or {}) if job else {}
        said = "\n".join(str(outcome.get(key) or "") for key in ("summary", "comment"))
        made = claims_of(said)
        if not any(each.kind != OTHER for each in made):
            return []
        found = checked(made, self._observed(job))
        return [ShownClaim(each, self.address(str(each.values.get("path", "")), 0)) for each in found]

    @property
    def contradicted(self) -> int:
        return sum(each.contradicted for each in self.claims)

    @property
    def confirmed(self) -> int:
        return sum(each.confirmed for each in self.claims)

    @property
    def unobserved(self) -> int:
        return len(self.claims) - self.contradicted - self.confirmed

    @property
    def claims_cut(self) -> bool:
        """Tell that the agent said more than is read as claims."""
        return len(self.claims) >= MOST

    @cached_property
    def unmentioned(self) -> Cut[tuple[str, str]]:
        """Changed files that no claim names, with their addresses; files that affect checks come first."""
        if not self.claims:
            return Cut((), 0)
        said = " ".join(each.checked.claim.text for each in self.claims)
        rest = [each for each in self.comparison.files if each.path.rpartition("/")[2] not in said]
        rest.sort(key=lambda each: not sensitivity(each.path, self.changes.patterns))
        rows = [(visible(each.path), self.address(each.path, 0)) for each in rest[:UNMENTIONED]]
        return Cut(rows, len(rest))

    def _observed(self, job: Job | None) -> ObservedWork:
        run = facts_of(job).get("commands", {}).get("run") if job else None
        # Tests that ran before the work says nothing about it.
        ended = job.ended_at if job else None
        later = [s.job for s in self.steps if ended and s.job.ended_at and s.job.ended_at >= ended]
        counted = [facts_of(each).get("tests") for each in later if not self._is_agent(each)]
        tests = next((each for each in reversed(counted) if each is not None), None)
        if not self.changes.tree.digest:
            return ObservedWork(tests=tests, commands_run=run)
        files = self.comparison.files
        return ObservedWork(
            tests=tests,
            changed={each.path: each.change.change for each in files},
            whole=True,
            present=frozenset(str(each["path"]) for each in self.changes.tree.manifest),
            renamed=frozenset(each.change.was for each in files if each.change.was),
            commands_run=run,
            dependencies=_added_dependencies(self.comparison),
        )

    def address(self, path: str, line: int) -> str:
        """Address of a line among the changes since the start; "" where the file did not change."""
        files = [each.path for each in self.comparison.files] if self.changes.there else []
        found = next((each for each in files if path and (each == path or path.endswith(f"/{each}"))), None)
        if found is None:
            return ""
        query = self.query.copy()
        for key in ("show", "range", "file", "line", "fragment", "found", "findings", "find", "under"):
            query.pop(key, None)
        query["show"], query["range"], query["file"] = "changes", "start", found
        return f"{self.changes.url}?{query.urlencode()}" + (f"#new-{line}" if line else "")


def _added_dependencies(comparison: Comparison) -> frozenset[str] | None:
    """None where a manifest changed that nobody here can read."""
    files: Iterable[Any] = [each.change for each in comparison.files]
    if any(is_other(each.path) for each in files):
        return None
    manifests = [each for each in files if is_manifest(each.path)]
    stored = Bytes(entry for each in manifests for entry in (each.old, each.new))
    added: frozenset[str] = frozenset()
    for each in manifests:
        old, new = (names_in(each.path, stored.read(entry)) for entry in (each.old, each.new))
        if old is None or new is None:
            return None
        added |= new - old
    return added
