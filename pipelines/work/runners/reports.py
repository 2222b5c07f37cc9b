"""What a runner reports: its claims are kept, its facts are made here of what it uploaded (law §13, §15)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pipelines.engine import Report
from pipelines.formats.evidence.readers.report import MOST_BYTES as MOST_REPORT
from pipelines.formats.evidence.readers.report import UnreadableReport
from pipelines.formats.evidence.readers.table import READERS, together
from pipelines.models import Artifact, Job, Purpose, RunnerResult, RunnerUpload, Worker
from pipelines.ports.leases import Claim
from pipelines.routing.basics.facts import SOURCE, witnessed
from pipelines.work import storage
from pipelines.work.orders.order import StationOrder
from pipelines.work.results.text import escaped, masked
from pipelines.work.runners import credentials
from pipelines.work.transport.local import handover, reports
from pipelines.work.transport.local.orders import orders_of
from pipelines.work.transport.local.station_values import masker_of
from pipelines.work.transport.protocol import HandedOver, ReportAnswer, ReportFailed
from pipelines.work.worker.handover import AGENT, NOTHING_THERE, with_claims
from pipelines.work.workspaces import Picture

REPORTED: Final = ("commands", "usage", "agent")
"""Groups that only the machine of the work can tell: shown as reported by that runner."""
SERVER: Final = "server"
"""Who observed what was computed here."""
MOST_ERRORS: Final = 200


def report(
    runner: Worker, job: Job, attempt: int, lease: uuid.UUID, outcome: dict[str, Any], claim: Claim | None
) -> ReportAnswer:
    """:raises ReportFailed: nothing moved"""
    found = witnessed_here(runner, job, lease, outcome)
    by = f"worker:{runner.pk}"
    (answer,) = reports.deliver(
        [Report(job.pk, attempt, lease, found, by=by, claim_next=claim, observed_by=SERVER)]
    )
    if answer.status == "error":
        raise ReportFailed(answer.detail)
    if answer.status == "accepted":
        RunnerUpload.objects.filter(job=job).delete()
    following = answer.following
    return replace(answer, following=credentials.narrowed(following) if following else None)


def witnessed_here(runner: Worker, job: Job, lease: uuid.UUID, outcome: dict[str, Any]) -> dict[str, Any]:
    """The outcome with facts, artifacts and claims as found here, and without secrets. The same again for a repeat."""
    said = outcome.get("facts")
    by = {SOURCE: {"observed_by": f"worker:{runner.pk}"}}
    facts = {
        group: {**members, **by}
        for group, members in (said.items() if isinstance(said, dict) else ())
        if group in REPORTED and isinstance(members, dict)
    }
    kept = {key: value for key, value in outcome.items() if key not in ("facts", "artifacts")}
    if job.purpose == Purpose.STATION:
        kept = _of_station(job, lease, kept, outcome.get("artifacts"), facts)
    elif facts:
        kept["facts"] = facts
    return masked(kept, masker_of(job.task))


def _of_station(
    job: Job, lease: uuid.UUID, kept: dict[str, Any], told: Any, facts: dict[str, Any]
) -> dict[str, Any]:
    orders = orders_of(job)
    artifacts = {each.name: each for each in artifacts_of(job)}
    counts = _counted(orders.station, artifacts)
    shown = [*(each.to_dict() for each in artifacts.values()), *_errors(told, artifacts)]
    if shown:
        kept["artifacts"] = shown
    facts |= counts
    stored = RunnerResult.objects.filter(job=job, lease=lease).first()
    if stored is not None:
        facts |= stored.facts
    if facts:
        kept["facts"] = facts
    if orders.station.kind == AGENT:
        kept = with_claims(kept, *_pictures(job))
    if "facts" in kept:
        kept["facts"] = witnessed(kept["facts"], _seen(job, stored))
    return kept


def artifacts_of(job: Job) -> Iterable[HandedOver]:
    rows = Artifact.objects.filter(job=job).select_related("blob").order_by("pk")
    return [HandedOver(each.name, each.media_type, each.blob_id, each.blob.size) for each in rows]


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


def _counted(station: StationOrder, artifacts: dict[str, HandedOver]) -> dict[str, dict[str, float]]:
    """The counts of the declared reports, as stored. One that cannot be read was not handed over. What an agent's
    station leaves counts nothing."""
    found = []
    for each in station.artifacts if station.kind != AGENT else ():
        path, reader = str(each["path"]), READERS.get(str(each.get("kind") or ""))
        name = path if path in artifacts else path.rpartition("/")[2]
        if reader is None or name not in artifacts:
            continue
        place = storage.names([artifacts[name].digest])[artifacts[name].digest]
        with storage.artifacts().open(place, "rb") as file:
            try:
                found.append(reader(file.read(MOST_REPORT + 1)))
            except UnreadableReport as error:
                why = f"Not readable as {each['kind']}: {escaped(str(error))}"
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
