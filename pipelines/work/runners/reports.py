"""What a runner reports: its claims are kept, its facts are made here of what it uploaded (law §13, §15)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.engine import Report
from pipelines.formats.evidence.readers.report import MOST_BYTES as MOST_REPORT
from pipelines.formats.evidence.readers.report import UnreadableReport
from pipelines.formats.evidence.readers.table import READERS, together
from pipelines.models import Artifact, Job, Purpose, RunnerResult, RunnerUpload
from pipelines.ports.leases import Claim
from pipelines.queries import versions
from pipelines.routing.basics.facts import OUTPUT, SOURCE, witnessed
from pipelines.routing.document.line import Station
from pipelines.work import storage
from pipelines.work.results.text import escaped, masked
from pipelines.work.runners import credentials
from pipelines.work.runners.reported import Reported
from pipelines.work.transport.local import handover
from pipelines.work.transport.local.reports import deliver
from pipelines.work.transport.local.station_values import maskers_at
from pipelines.work.transport.protocol import HandedOver, ReportAnswer
from pipelines.work.worker.handover import AGENT, NOTHING_THERE, with_claims
from pipelines.work.workspaces import Picture

REPORTED: Final = ("commands", "usage", "agent", OUTPUT)
"""Groups that only the machine of the work can tell: shown as reported by that runner."""
SERVER: Final = "server"
"""Who observed what was computed here."""
MOST_ERRORS: Final = 200


@dataclass(frozen=True)
class Told:
    """What a runner says of one attempt. `known`: what it is judged by; `claim`: it would take the next job of the same
    task."""

    known: Reported
    job: Job
    attempt: int
    lease: uuid.UUID
    outcome: dict[str, Any]
    claim: Claim | None

    @property
    def by(self) -> str:
        return f"worker:{self.known.runner.pk}"


def report(told: Sequence[Told]) -> list[ReportAnswer]:
    """Of runners of one project, one answer each, in their order. Nothing moved of one that answers `error`."""
    answers = deliver(
        [
            Report(
                each.job.pk, each.attempt, each.lease, said,
                by=each.by, claim_next=each.claim, observed_by=SERVER,
            )
            for each, said in zip(told, _witnessed_here(told), strict=True)
        ]
    )  # fmt: skip
    done = {
        each.job.pk
        for each, answer in zip(told, answers, strict=True)
        if answer.status == "accepted" and each.job.pk in each.known.uploads
    }
    if done:
        RunnerUpload.objects.filter(job__in=done).delete()
    return [
        replace(answer, following=credentials.narrowed(answer.following)) if answer.following else answer
        for answer in answers
    ]


def _witnessed_here(told: Sequence[Told]) -> list[dict[str, Any]]:
    """Each outcome with facts, artifacts and claims as found here, and without secrets. The same again for a
    repeat."""
    ran = {task: versions for each in told for task, versions in each.known.ran.items()}
    maskers = maskers_at((each.job.task for each in told), ran)
    return [
        masked(
            _witnessed(
                each,
                each.known.artifacts.get(each.job.pk, []),
                each.known.results.get((each.job.pk, each.lease)),
            ),
            maskers[each.job.task_id],
        )
        for each in told
    ]


def _witnessed(told: Told, artifacts: Iterable[HandedOver], stored: RunnerResult | None) -> dict[str, Any]:
    said = told.outcome.get("facts")
    facts = {
        group: {**members, SOURCE: {"observed_by": told.by}}
        for group, members in (said.items() if isinstance(said, dict) else ())
        if group in REPORTED and isinstance(members, dict)
    }
    kept = {key: value for key, value in told.outcome.items() if key not in ("facts", "artifacts")}
    if told.job.purpose == Purpose.STATION:
        return _of_station(told, kept, facts, {each.name: each for each in artifacts}, stored)
    if facts:
        kept["facts"] = facts
    return kept


def _of_station(
    told: Told,
    kept: dict[str, Any],
    facts: dict[str, Any],
    artifacts: dict[str, HandedOver],
    stored: RunnerResult | None,
) -> dict[str, Any]:
    station = versions.by_id(told.job.pinned_id).station(told.job.station)
    counts = {} if station.kind == AGENT else _counted(station, artifacts)
    shown = [
        *(each.to_dict() for each in artifacts.values()),
        *_errors(told.outcome.get("artifacts"), artifacts),
    ]
    if shown:
        kept["artifacts"] = shown
    facts |= counts
    if stored is not None:
        facts |= stored.facts
    if facts:
        kept["facts"] = facts
    if station.kind == AGENT:
        kept = with_claims(kept, *_pictures(told.job))
    if "facts" in kept:
        kept["facts"] = witnessed(kept["facts"], _seen(told.job, stored))
    return kept


def artifacts_of(jobs: Collection[int]) -> dict[int, list[HandedOver]]:
    """What each of them handed over, in the order in which it came."""
    found: dict[int, list[HandedOver]] = {}
    for each in Artifact.objects.filter(job__in=jobs).select_related("blob").order_by("pk"):
        handed = HandedOver(each.name, each.media_type, each.blob_id, each.blob.size)
        found.setdefault(each.job_id, []).append(handed)
    return found


def _errors(told: Any, stored: Mapping[str, HandedOver]) -> list[dict[str, Any]]:
    """Files that the runner says it could not keep."""
    said = (
        [each for each in told if isinstance(each, dict) and each.get("error")]
        if isinstance(told, list)
        else []
    )
    return [
        HandedOver(escaped(str(each.get("name")))[:300], error=escaped(str(each["error"]))[:500]).to_dict()
        for each in said[:MOST_ERRORS]
        if str(each.get("name")) not in stored
    ]


def _counted(station: Station, artifacts: dict[str, HandedOver]) -> dict[str, dict[str, float]]:
    """The counts of the declared reports, as stored. One that cannot be read was not handed over. Not asked of an
    agent's station: what it leaves counts nothing."""
    found = []
    for each in station.artifacts:
        reader = READERS.get(each.kind or "")
        name = each.path if each.path in artifacts else each.path.rpartition("/")[2]
        if reader is None or name not in artifacts:
            continue
        place = storage.names([artifacts[name].digest])[artifacts[name].digest]
        with storage.artifacts().open(place, "rb") as file:
            try:
                found.append(reader(file.read(MOST_REPORT + 1)))
            except UnreadableReport as error:
                why = f"Not readable as {each.kind}: {escaped(str(error))}"
                artifacts[name] = HandedOver(name, error=why)
    return together(found)


def _pictures(job: Job) -> tuple[Any, Picture | None]:
    """The files before and after the work."""
    before, left = handover.last_snapshot(job.pk), getattr(job, "snapshot", None)
    manifest = tuple(left.manifest) if left else before.manifest if before else ()
    return before, Picture(manifest, {})


def _seen(job: Job, stored: RunnerResult | None) -> dict[str, str]:
    """The files on which the facts were observed; where nothing was stored nothing changed."""
    if stored is not None:
        return {"before": stored.before, "tree": stored.tree}
    state = handover.git_state(job.pk)
    before = handover.last_snapshot(job.pk)
    began = state.tree or (before.digest if before else NOTHING_THERE)
    return {"before": began, "tree": began}
