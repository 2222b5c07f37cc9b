"""An approval that stands for the same change on a base that moved (law §15, `rebase: same_patch`). Whatever cannot be
read from rows that the server wrote asks people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipelines.models import BranchPush, Delivery, GateVisit, Job, Purpose, VisitCommit, Word
from pipelines.queries import versions
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.document.kinds import failure_eval
from pipelines.routing.document.kinds.deliver import KIND, MERGE, NEVER, SAME_PATCH
from pipelines.routing.document.line import ParsedLine, Station


@dataclass(frozen=True)
class SamePatchApproval:
    """`visit` approved the tree `approved`, asked by `rule` ("": none); it stands for `tree`, which is that change on
    `base`."""

    visit: GateVisit
    rule: str
    approved: str
    tree: str
    base: str


def same_patch_gates(line: ParsedLine) -> list[str]:
    """Return the gates whose approval may hold for the same change on a moved base, in the order of the line's
    stations."""
    gates = (
        str(station.work.get("gate") or "") for station in line.stations if _delivers_same_patch(station)
    )
    return list(dict.fromkeys(gate for gate in gates if gate))


# By its id alone: a version never changes
@lru_cache(maxsize=512)
def version_same_patch_gates(version: int) -> tuple[str, ...]:
    """Return the gates of a version whose approval may hold for the same change on a moved base."""
    return tuple(same_patch_gates(versions.parsed_line_by_version_id(version)))


def _delivers_same_patch(station: Station) -> bool:
    work = station.work
    if station.kind != KIND.key or str(work.get("to") or MERGE) != MERGE:
        return False
    return str(work.get("rebase") or NEVER) == SAME_PATCH


def same_patch_approval_or_none(
    line: ParsedLine, job: Job, gate: str, *, delivers: bool = False
) -> SamePatchApproval | None:
    """Return the approval that stands as of `job`, whose outcome is decided about, or which `delivers`. None
    asks people: nobody approved, something was said or pushed since, a visit since did not pass or has
    other files than the approved change on the moved base, or a station that checked the approved files
    has not checked these."""
    moved = Delivery.objects.filter(task=job.task_id, moved=True, landed_at=None, job__lt=job.pk)
    last = moved.select_related("job", "visit__job", "visit__asked_by").order_by("-job").first()
    if last is None or not last.kept_tree or last.visit is None or last.visit.gate != gate:
        return None
    station, visit = line.stations_by_key.get(last.job.station), last.visit
    if station is None or not _delivers_same_patch(station) or str(station.work.get("gate")) != gate:
        return None
    # Law §15: it stands only where the same station leads to the gate as when people were asked
    if not delivers and visit.job.station != job.station:
        return None
    if visit.state != GateVisit.State.DECIDED or visit.word != Word.APPROVE or _is_approval_superseded(visit):
        return None
    since = Job.objects.filter(task=job.task_id, purpose=Purpose.STATION, pk__gt=last.job_id)
    others = list(since.exclude(pk=job.pk))
    # A visit that is not over may still change the files.
    if any(other.state != Job.State.DONE for other in others):
        return None
    # A delivery that is being cleared has no outcome yet: those before it count.
    visits = others if delivers else [*others, job]
    if not all(_has_job_passed(line, station_job) for station_job in visits):
        return None
    commits = VisitCommit.objects.filter(task=job.task_id, job__in=[station_job.pk for station_job in visits])
    left = list(commits.values_list("job__station", "tree", "base"))
    if any((tree, base) != (last.kept_tree, last.moved_to) for _station, tree, base in left):
        return None
    approved = _approved_tree(visit)
    checks = _stations_that_checked_approval(visit, approved)
    # Where nothing checked the approved files, nothing vouches for these.
    if not checks or not checks <= {key for key, _tree, _base in left}:
        return None
    rule = str((visit.asked_by.answer or {}).get("rule") or "") if visit.asked_by else ""
    return SamePatchApproval(visit, rule, approved, last.kept_tree, last.moved_to)


def _is_approval_superseded(visit: GateVisit) -> bool:
    """Return whether the gate was opened again, or somebody pushed to the branch of the task, after this
    visit."""
    later_visits = GateVisit.objects.filter(
        task=visit.task_id, gate=visit.gate, opened_at__gt=visit.opened_at
    )
    return (
        later_visits.exists() or BranchPush.objects.filter(task=visit.task_id, job__gt=visit.job_id).exists()
    )


def _approved_tree(visit: GateVisit) -> str:
    """Return the tree that people approved: the first delivery of it was cleared for exactly that."""
    first = Delivery.objects.filter(task=visit.task_id, visit=visit).order_by("job")
    return first.values_list("tree", flat=True)[0]


def _stations_that_checked_approval(visit: GateVisit, tree: str) -> set[str]:
    """Check stations: those that worked on the approved files before the approval, and left them as they were."""
    rows = VisitCommit.objects.filter(
        task=visit.task_id, tree=tree, job__lte=visit.job_id, job__state=Job.State.DONE
    )
    station_outcomes = rows.values_list("job__station", "job__outcome")
    return {station for station, outcome in station_outcomes if _tree_before_run(outcome) == tree}


def _tree_before_run(outcome: Any) -> str:
    return str((((outcome or {}).get("facts") or {}).get("git") or {}).get("source", {}).get("before") or "")


def _has_job_passed(line: ParsedLine, job: Job) -> bool:
    station = line.stations_by_key.get(job.station)
    if station is None or job.outcome is None:
        return False
    outcome = judge_outcome(line, station, read_outcome(job.outcome)).outcome
    return derived_outcome(outcome, failure_eval(station.kind)).outcome_state == "passed"
