"""A person pushed to the branch of a task: that is a visit of theirs (law §15)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from django.db.models import Q

from pipelines.engine.commands.manual_actions import lock_batch_and_open_task, open_another_visit
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.engine.moves import decision_application
from pipelines.engine.moves.completion import close_job_and_visits_of_token
from pipelines.errors import Conflict, NotFound
from pipelines.models import BranchPush, Delivery, Job, Purpose, Status, Task, Token, User, VisitCommit
from pipelines.queries import versions
from pipelines.routing.decide.effects import flatten_holds
from pipelines.routing.document.kinds.deliver import KIND as DELIVER
from pipelines.routing.document.line import ParsedLine

PUSH = "push"
"""The trigger of the visit."""


@dataclass(frozen=True)
class ObservedPush:
    """Push to a branch. `who`: as the host or the commits name them. `people`: members of the project that
    this is or may be. `job`: of the delivery that detected it; 0: the host reported it. `by_host`: the
    host itself names these people, and not what their commits say."""

    commit: str
    who: str
    people: tuple[int, ...] = ()
    job: int = 0
    by_host: bool = False


def record_push_visit_and_return_result(task_id: int, push: ObservedPush) -> str:
    """Continue the task as after a visit of whoever pushed: at the station that last changed the files, where a
    worker takes over the pushed commit. Whatever was open is closed, votes included. Returns "taken"; or why
    nothing moved: "known" (it is ours, or was recorded before), "ended", "side_by_side" (branches have to join
    first), "held", "delivering" (it may be our own push), "nowhere" (no station of the version works on the
    branch)."""
    return run_in_transaction(partial(_record_push_visit_and_return_result, task_id, push))


def _record_push_visit_and_return_result(task_id: int, push: ObservedPush) -> str:
    try:
        batch, task = lock_batch_and_open_task(task_id)
    except (Conflict, NotFound):
        return "ended"
    if _replace_people_if_push_was_recorded(task, push):
        return "known"
    # A forked token is no position: its branches are.
    positions = [position for position in batch.living_tokens(task) if not position.forked]
    if len(positions) != 1:
        return "side_by_side"
    [token] = positions
    job = batch.open_job_or_none(token)
    # What a push may bring holds no work: something is missing, or was rejected
    is_escalated = any("escalation" in hold for hold in flatten_holds(token.wait))
    if token.status == Status.HELD and (job is not None or is_escalated):
        return "held"
    if job is not None and job.kind == DELIVER.key and job.pk != push.job and _has_open_delivery(job):
        return "delivering"
    station = _last_changing_or_first_station(versions.parsed_line_by_version_id(task.pinned_id), task)
    if not station:
        return "nowhere"
    people = list(User.objects.filter(pk__in=push.people).order_by("pk"))
    # Of several who may be meant none is named as the one who pushed; all of them are barred
    actor = Actor.person(people[0]) if len(people) == 1 else ENGINE
    close_job_and_visits_of_token(batch, task, token, actor, why=PUSH)
    visit = _rerun_station_after_push(batch, task, token, actor, station, push)
    batch.flush()
    # After the flush, which writes the job that it refers to
    made = BranchPush.objects.create(
        job=visit, task=task, commit=push.commit, who=push.who[:200], by_host=push.by_host, at=batch.now
    )
    made.people.set(people)
    return "taken"


def _replace_people_if_push_was_recorded(task: Task, push: ObservedPush) -> bool:
    """Return whether the push was recorded before; then it makes no second visit. The names that the host gives
    replace those of the commits, which their authors chose themselves: that frees people who were only named
    there, and bars the pusher. People whom the host named are never freed: somebody else may push the same
    commit again."""
    recorded_push = BranchPush.objects.filter(task=task, commit=push.commit).first()
    if recorded_push is not None:
        if push.by_host and not recorded_push.by_host:
            recorded_push.people.set(push.people)
            BranchPush.objects.filter(pk=recorded_push.pk).update(who=push.who[:200], by_host=True)
        elif push.by_host or not recorded_push.by_host:
            recorded_push.people.add(*push.people)
        return True
    # A host tells of what we pushed as of anybody's
    ours = VisitCommit.objects.filter(task=task, head=push.commit, job__state=Job.State.DONE)
    delivered = Delivery.objects.filter(Q(commit=push.commit) | Q(head=push.commit), task=task)
    return ours.exists() or delivered.exists()


def _has_open_delivery(job: Job) -> bool:
    return Delivery.objects.filter(job=job, landed_at=None).exists()


def _last_changing_or_first_station(line: ParsedLine, task: Task) -> str:
    """Return the station that changed the files last, by its key in the current version; otherwise the first
    that worked there."""
    rows = VisitCommit.objects.filter(task=task, job__state=Job.State.DONE, job__purpose=Purpose.STATION)
    jobs = [row.job for row in rows.select_related("job").order_by("job__ended_at", "job_id")]
    changed = [job for job in jobs if _has_changed_files(job)]
    # The latest that changed files knows most of them; else whoever worked there first
    for job in (*reversed(changed), *jobs):
        if station := decision_application.mapped_station_key_or_none(line, job, job.station):
            return station
    return ""


def _has_changed_files(job: Job) -> bool:
    source = (((job.outcome or {}).get("facts") or {}).get("git") or {}).get("source") or {}
    return bool(source.get("before")) and source.get("before") != source.get("tree")


def _rerun_station_after_push(
    batch: Batch, task: Task, token: Token, actor: Actor, station: str, push: ObservedPush
) -> Job:
    open_another_visit(
        batch, task, token, actor, PUSH, feedback="", reason=f"{push.who}: {push.commit[:7]}", at=station
    )
    visit = batch.open_job_or_none(token)
    assert visit is not None
    return visit
