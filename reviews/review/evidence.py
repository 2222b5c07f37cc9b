"""What was observed of the work under review: reports of tools, next to the claims of its agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from django.core.files.storage import storages
from django.http import QueryDict
from django.utils.translation import gettext as _

from pipelines.formats.evidence.claims.checking import (
    CONFIRMED,
    CONTRADICTED,
    CheckedClaim,
    ObservedWork,
    checked,
)
from pipelines.formats.evidence.claims.manifests import is_manifest, is_other, names_in
from pipelines.formats.evidence.claims.reading import OTHER, claims_of
from pipelines.formats.evidence.readers.report import MOST_BYTES, ReadReport, ToolFinding, UnreadableReport
from pipelines.formats.evidence.readers.table import READERS, kind_by_name
from pipelines.formats.evidence.trees.kinds import sensitivity
from pipelines.models import Artifact, Job
from pipelines.queries.actors import actor_of
from pipelines.queries.observed import groups_of, tests_words
from pipelines.routing.basics.visible import visible
from pipelines.web.changes.comparing import Bytes, Comparison, compared
from pipelines.work.results.text import Masker
from reviews.review.changes import ReviewChanges
from reviews.review.detail import Dossier

SHOWN = 200
KEPT = 64
GROUPS = ("tests", "findings", "coverage")


@dataclass(frozen=True)
class ShownReport:
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
        return visible(self.artifact.name)

    @property
    def header(self) -> Sequence[str]:
        return [visible(each) for each in self.report.header] if self.report else ()

    @property
    def rows(self) -> Sequence[Sequence[str]]:
        return [[visible(cell) for cell in row] for row in self.report.rows[:SHOWN]] if self.report else ()

    @property
    def text(self) -> str:
        return visible(self.report.text) if self.report else ""


@dataclass(frozen=True)
class PlacedFinding:
    """A finding of a tool, with the address of its line among the changes; "" where it did not change. `path`: of its
    file, as the tree names it."""

    finding: ToolFinding
    url: str
    path: str

    @property
    def message(self) -> str:
        return visible(self.finding.message)

    @property
    def place(self) -> str:
        line = f":{self.finding.line}" if self.finding.line else ""
        return visible(self.path) + line

    @property
    def severity(self) -> str:
        words = {"critical": _("Critical"), "high": _("High"), "medium": _("Medium"), "low": _("Low")}
        return words[self.finding.severity]

    @property
    def tone(self) -> str:
        return {"critical": "danger", "high": "danger", "medium": "attention"}.get(
            self.finding.severity, "neutral"
        )


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
            "tests_changed": _("%(path)s changed"),
            "no_test_changed": _("No test file changed"),
            "is_gone": _("%(path)s was deleted"),
            "still_there": _("%(path)s is still there"),
            "file": _("%(path)s changed"),
            "not_there": _("There is no file %(path)s"),
            "unchanged": _("%(path)s did not change"),
            "nothing_ran": _("No command ran"),
            "ran": _("%(command)s ended with exit code %(code)s"),
            "dependency_added": _("%(name)s was added to the dependencies"),
            "no_dependency": _("No dependency was added"),
            "dependency_missing": _("%(name)s was not added to the dependencies"),
        }
        return said[reason] % values if reason in said else ""


def facts_of(job: Job) -> dict[str, Mapping[str, Any]]:
    return groups_of(job.outcome)


@lru_cache(KEPT)
def _read(name: str, kind: str) -> ReadReport | str:
    """Stored bytes never change: a report is read once per process."""
    try:
        with storages["artifacts"].open(name, "rb") as file:
            return READERS[kind](file.read(MOST_BYTES + 1))
    except FileNotFoundError:
        return "gone"
    except UnreadableReport as error:
        return str(error)


def masked_report(report: ReadReport, masker: Masker) -> ReadReport:
    """The texts of a tool's report without the secrets of the task."""
    hide = masker.all
    return replace(
        report,
        suites=[replace(each, name=hide(each.name)) for each in report.suites],
        tests=[
            replace(
                each,
                suite=hide(each.suite),
                name=hide(each.name),
                message=hide(each.message),
                path=hide(each.path),
            )
            for each in report.tests
        ],
        findings=[
            replace(
                each,
                message=hide(each.message),
                rule=hide(each.rule),
                path=hide(each.path),
                tool=hide(each.tool),
            )
            for each in report.findings
        ],
        header=[*map(hide, report.header)],
        rows=[[*map(hide, row)] for row in report.rows],
        text=hide(report.text),
    )


class ReviewEvidence:
    """Of the last run of each station on the way here."""

    def __init__(self, dossier: Dossier, changes: ReviewChanges, query: QueryDict) -> None:
        self.dossier, self.changes, self._query = dossier, changes, query
        self._stations = dossier.line.stations_by_key

    # Reports of tools

    @cached_property
    def reports(self) -> list[ShownReport]:
        last = {step.job.pk for step in self.dossier.steps}
        found = []
        for artifact in self.dossier.artifacts:
            station = self._stations.get(artifact.job.station)
            declared = {each.path: each.kind for each in station.artifacts} if station else {}
            declared |= {path.rpartition("/")[2]: kind for path, kind in declared.items()}
            kind = declared.get(artifact.name) or kind_by_name(artifact.name)
            if artifact.job_id not in last or kind not in READERS:
                continue
            read = _read(artifact.blob.name, kind)
            found.append(
                ShownReport(
                    artifact,
                    station.name if station else artifact.job.station,
                    kind,
                    counted=artifact.name in declared and not self._is_agent(artifact.job),
                    report=masked_report(read, self.changes.masker) if isinstance(read, ReadReport) else None,
                    why=read if isinstance(read, str) else "",
                )
            )
        return found

    @property
    def tables(self) -> list[ShownReport]:
        return [each for each in self.reports if each.report and each.report.header]

    @property
    def pictures(self) -> list[ShownReport]:
        return [each for each in self.reports if each.report and each.kind == "image"]

    @property
    def texts(self) -> list[ShownReport]:
        return [each for each in self.reports if each.report and each.report.text]

    @property
    def tests(self) -> list[ShownReport]:
        return [each for each in self.reports if each.report and each.kind == "junit"]

    @property
    def unreadable(self) -> list[ShownReport]:
        return [each for each in self.reports if each.why]

    @cached_property
    def findings(self) -> list[PlacedFinding]:
        order = ("critical", "high", "medium", "low")
        every = [one for each in self.reports if each.report for one in each.report.findings]
        every.sort(key=lambda each: order.index(each.severity))
        return [
            PlacedFinding(each, self.address(each.path, each.line), self._in_tree(each.path))
            for each in every[:SHOWN]
        ]

    def _in_tree(self, path: str) -> str:
        """Tools name files by where they lay while they ran."""
        parts = path.split("/")
        ends = ("/".join(parts[index:]) for index in range(len(parts)))
        return next((each for each in ends if each in self._paths), path)

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(str(entry["path"]) for entry in self.changes.tree.manifest)

    # Facts

    @cached_property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """The latest counts of each group, from stations that are not agents."""
        found: dict[str, Mapping[str, Any]] = {}
        for step in self.dossier.steps:
            if not self._is_agent(step.job):
                found |= {group: said for group, said in facts_of(step.job).items() if group in GROUPS}
        return found

    @property
    def test_words(self) -> str:
        return tests_words(self.facts["tests"]) if "tests" in self.facts else ""

    @property
    def high(self) -> int:
        counts = self.facts.get("findings", {})
        return int(counts.get("critical", 0)) + int(counts.get("high", 0))

    @property
    def comparison(self) -> Comparison:
        start = next(each for each in self.changes.ranges if each.key == "start")
        return compared(start.base, self.changes.tree)

    # Claims

    @cached_property
    def claimant(self) -> Job | None:
        """The agent that worked last, or else the station under review."""
        agents = [step.job for step in self.dossier.steps if self._is_agent(step.job)]
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
    def unmentioned(self) -> list[tuple[str, str]]:
        """Changed files that no claim names, with their addresses; files that affect checks come first."""
        if not self.claims:
            return []
        said = " ".join(each.checked.claim.text for each in self.claims)
        rest = [each for each in self.comparison.files if each.path.rpartition("/")[2] not in said]
        rest.sort(key=lambda each: not sensitivity(each.path, self.changes.patterns))
        return [(visible(each.path), self.address(each.path, 0)) for each in rest[:20]]

    def _observed(self, job: Job | None) -> ObservedWork:
        run = facts_of(job).get("commands", {}).get("run") if job else None
        # Tests that ran before the work says nothing about it.
        ended = job.ended_at if job else None
        later = [s.job for s in self.dossier.steps if ended and s.job.ended_at and s.job.ended_at >= ended]
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
        """Of a line among the changes since the start; "" where the file did not change."""
        files = [each.path for each in self.comparison.files] if self.changes.there else []
        found = next((each for each in files if path and (each == path or path.endswith(f"/{each}"))), None)
        if found is None:
            return ""
        query = self._query.copy()
        for key in ("show", "range", "file", "line", "fragment"):
            query.pop(key, None)
        query["show"], query["range"], query["file"] = "changes", "start", found
        return f"{self.changes.url}?{query.urlencode()}" + (f"#new-{line}" if line else "")

    def _is_agent(self, job: Job) -> bool:
        return actor_of(self._stations.get(job.station))[0] == "agent"


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
