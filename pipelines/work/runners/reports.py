"""Reports of runners: their claims are stored, their facts are made here of what they uploaded (law §13,
§15)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.engine import Report
from pipelines.formats.evidence.readers.reader_table import READERS, merged_facts_with_lowest_coverage
from pipelines.formats.evidence.readers.report import MOST_BYTES as MOST_REPORT
from pipelines.formats.evidence.readers.report import UnreadableReport
from pipelines.models import Artifact, Job, Purpose, RunnerResult, RunnerUpload
from pipelines.ports.leases import WorkOffer
from pipelines.queries import versions
from pipelines.routing.basics.facts import CLAIMS, OUTPUT, REPORT, SOURCE, facts_with_source
from pipelines.routing.document.line import Station
from pipelines.work import storage
from pipelines.work.results.text import escaped_for_storage, masked_value
from pipelines.work.runners import credentials
from pipelines.work.runners.report_facts import ReportingRunnerFacts
from pipelines.work.transport.local import stored_results
from pipelines.work.transport.local.reports import deliver_reports
from pipelines.work.transport.local.station_values import maskers_by_versions
from pipelines.work.transport.protocol import HandedOver, ReportAnswer
from pipelines.work.worker.attempt_io import AGENT, NOTHING_THERE, outcome_with_claims
from pipelines.work.workspaces import Picture

REPORTED: Final = ("commands", "usage", "agent", OUTPUT)
"""Groups that only the machine of the work can tell: shown as reported by that runner."""
SERVER: Final = "server"
"""Who observed what was computed here."""
# As many as a run may hand over (MOST_ARTIFACTS)
MOST_ERRORS: Final = 200


@dataclass(frozen=True)
class RunnerReport:
    """Report of a runner on one attempt. `known`: what it is judged by; `offer`: it would take the next job
    of the same task."""

    known: ReportingRunnerFacts
    job: Job
    attempt: int
    lease: uuid.UUID
    outcome: dict[str, Any]
    offer: WorkOffer | None

    @property
    def actor_of_report(self) -> str:
        return f"worker:{self.known.runner.pk}"


def deliver_runner_reports(reports: Sequence[RunnerReport]) -> list[ReportAnswer]:
    """Deliver reports of runners of one project, one answer each, in their order. Nothing moved for one that
    answers `error`."""
    answers = deliver_reports(
        [
            Report(
                runner_report.job.pk, runner_report.attempt, runner_report.lease, outcome,
                by=runner_report.actor_of_report, offer_for_next=runner_report.offer, observed_by=SERVER,
            )
            for runner_report, outcome in zip(reports, _observed_outcomes(reports), strict=True)
        ]
    )  # fmt: skip
    done = {
        runner_report.job.pk
        for runner_report, answer in zip(reports, answers, strict=True)
        # Whether files lie here was read with the job: most left none, and then nothing is deleted
        if answer.status == "accepted" and runner_report.job.pk in runner_report.known.uploads
    }
    if done:
        # Only once it was accepted: a report that did not move comes again, and names these files
        RunnerUpload.objects.filter(job__in=done).delete()
    return [
        replace(answer, following=credentials.started_job_with_narrowed_credentials(answer.following))
        if answer.following
        else answer
        for answer in answers
    ]


def _observed_outcomes(reports: Sequence[RunnerReport]) -> list[dict[str, Any]]:
    """Return each outcome with facts, artifacts and claims as observed here, and without secrets. A repeat
    gets the same again."""
    ran = {task: versions for runner_report in reports for task, versions in runner_report.known.ran.items()}
    maskers = maskers_by_versions((runner_report.job.task for runner_report in reports), ran)
    return [
        masked_value(
            _observed_outcome(
                runner_report,
                runner_report.known.artifacts.get(runner_report.job.pk, []),
                runner_report.known.results.get((runner_report.job.pk, runner_report.lease)),
            ),
            maskers[runner_report.job.task_id],
        )
        for runner_report in reports
    ]


def _observed_outcome(
    runner_report: RunnerReport, artifacts: Iterable[HandedOver], stored: RunnerResult | None
) -> dict[str, Any]:
    reported_facts = runner_report.outcome.get("facts")
    facts = {
        group: {**members, SOURCE: {"observed_by": runner_report.actor_of_report}}
        for group, members in (reported_facts.items() if isinstance(reported_facts, dict) else ())
        if group in REPORTED and isinstance(members, dict)
    }
    if claims := _agent_reports_as_claims(reported_facts):
        facts[CLAIMS] = {"made": claims, SOURCE: {"observed_by": runner_report.actor_of_report}}
    # Law §15: a runner's word of facts and artifacts counts for nothing. They are found in what it sent
    outcome = {
        key: value for key, value in runner_report.outcome.items() if key not in ("facts", "artifacts")
    }
    if runner_report.job.purpose == Purpose.STATION:
        return _station_outcome(
            runner_report, outcome, facts, {artifact.name: artifact for artifact in artifacts}, stored
        )
    if facts:
        outcome["facts"] = facts
    return outcome


def _agent_reports_as_claims(reported_facts: Any) -> list[dict[str, Any]]:
    """Return what an agent reported by its tool: a claim, as which it is kept whoever hands it on."""
    group = reported_facts.get(CLAIMS) if isinstance(reported_facts, dict) else None
    made = group.get("made") if isinstance(group, dict) else None
    claims = [claim for claim in made if isinstance(claim, dict)] if isinstance(made, list) else []
    statements = [claim.get("said") for claim in claims if claim.get("kind") == REPORT]
    return [{"kind": REPORT, "said": claim} for claim in statements if isinstance(claim, dict)][:1]


def _station_outcome(
    runner_report: RunnerReport,
    outcome: dict[str, Any],
    facts: dict[str, Any],
    artifacts: dict[str, HandedOver],
    stored: RunnerResult | None,
) -> dict[str, Any]:
    station = versions.parsed_line_by_version_id(runner_report.job.pinned_id).station(
        runner_report.job.station
    )
    counts = {} if station.kind == AGENT else _report_counts(station, artifacts)
    entries = [
        *(artifact.to_dict() for artifact in artifacts.values()),
        *_storing_errors(runner_report.outcome.get("artifacts"), artifacts),
    ]
    if entries:
        outcome["artifacts"] = entries
    # In this order: what the server counted and found takes the place of what the runner said
    facts |= counts
    if stored is not None:
        facts |= stored.facts
    if facts:
        outcome["facts"] = facts
    if station.kind == AGENT:
        # Before sources are set: claims are a group of facts, too, and get theirs with the others
        outcome = outcome_with_claims(outcome, *_workspaces_before_and_after(runner_report.job))
    if "facts" in outcome:
        outcome["facts"] = facts_with_source(outcome["facts"], _observed_trees(runner_report.job, stored))
    return outcome


def artifacts_by_job(jobs: Collection[int]) -> dict[int, list[HandedOver]]:
    """Return what each of these jobs handed over, in the order in which it came."""
    by_job: dict[int, list[HandedOver]] = {}
    for artifact in Artifact.objects.filter(job__in=jobs).select_related("blob").order_by("pk"):
        handed = HandedOver(artifact.name, artifact.media_type, artifact.blob_id, artifact.blob.size)
        by_job.setdefault(artifact.job_id, []).append(handed)
    return by_job


def _storing_errors(reported: Any, stored: Mapping[str, HandedOver]) -> list[dict[str, Any]]:
    """Files that the runner says it could not keep."""
    faulty = (
        [entry for entry in reported if isinstance(entry, dict) and entry.get("error")]
        if isinstance(reported, list)
        else []
    )
    return [
        HandedOver(
            escaped_for_storage(str(entry.get("name")))[:300],
            error=escaped_for_storage(str(entry["error"]))[:500],
        ).to_dict()
        for entry in faulty[:MOST_ERRORS]
        if str(entry.get("name")) not in stored
    ]


def _report_counts(station: Station, artifacts: dict[str, HandedOver]) -> dict[str, dict[str, float]]:
    """The counts of the declared reports, as stored. One that cannot be read was not handed over. Not asked of an
    agent's station: what it leaves counts nothing."""
    counts = []
    for artifact in station.artifacts:
        reader = READERS.get(artifact.kind or "")
        # A declared file is handed over under its path, or under its name alone
        name = artifact.path if artifact.path in artifacts else artifact.path.rpartition("/")[2]
        if reader is None or name not in artifacts:
            continue
        place = storage.storage_names_by_digest([artifacts[name].digest])[artifacts[name].digest]
        with storage.artifact_storage().open(place, "rb") as file:
            try:
                # One byte more than allowed: the reader refuses it
                counts.append(reader(file.read(MOST_REPORT + 1)))
            except UnreadableReport as error:
                why = f"Not readable as {artifact.kind}: {escaped_for_storage(str(error))}"
                artifacts[name] = HandedOver(name, error=why)
    return merged_facts_with_lowest_coverage(counts)


def _workspaces_before_and_after(job: Job) -> tuple[Any, Picture | None]:
    """The files before and after the work."""
    # A reverse one-to-one raises where there is no row, and its error is an AttributeError
    before, left = stored_results.last_snapshot_or_none(job.pk), getattr(job, "snapshot", None)
    manifest = tuple(left.manifest) if left else before.manifest if before else ()
    return before, Picture(manifest, {})


def _observed_trees(job: Job, stored: RunnerResult | None) -> dict[str, str]:
    """The files on which the facts were observed; where nothing was stored nothing changed."""
    if stored is not None:
        return {"before": stored.before, "tree": stored.tree}
    state = stored_results.branch_state_for_job(job.pk)
    before = stored_results.last_snapshot_or_none(job.pk)
    began = state.tree or (before.digest if before else NOTHING_THERE)
    return {"before": began, "tree": began}
