"""What workers do, in time, late and twice, and what is done when they do nothing."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from pipelines import engine
from pipelines.models import Due
from pipelines.ports.leases import WorkOffer
from tests.engine.stateful.commands.tools import OUTCOMES, Act, Command
from tests.engine.stateful.scene import Scene, as_uuid, report_of
from tests.engine.stateful.sight import Row, Subject

UNREADABLE: list[dict[str, Any]] = [{}, {"result": "perhaps"}, {"exit_code": 2**40}, {"summary": "a\0b"}]
ANOTHER = {"result": "failure", "summary": "Something else."}


def _latest(subject: Subject) -> Row:
    """The open job, else the one that was done last."""
    return subject.open_job or subject.jobs[-1]


def _said(*reports: engine.Report) -> str:
    return ", ".join(result.status for result in engine.report(reports))


def start(scene: Scene, subject: Subject) -> Act:
    job_id = _latest(subject)["id"]

    def act() -> str:
        started = engine.start_claimed_job_or_none(job_id, scene.claim)
        scene.spend([subject.id])
        return "started" if started else "nothing to do"

    return act


def start_unfit(scene: Scene, subject: Subject) -> Act:
    owners = frozenset({"somebody-else"})
    claim = WorkOffer(worker=scene.world.worker.pk, labels=frozenset({"gpu"}), owners=owners)
    job_id = _latest(subject)["id"]
    return lambda: "started" if engine.start_claimed_job_or_none(job_id, claim) else "nothing to do"


def _current(scene: Scene, job: Row, **more: Any) -> engine.Report:
    return report_of(job, scene.choice("outcome", OUTCOMES), scene.by_worker, **more)


def report(scene: Scene, subject: Subject) -> Act | None:
    job = subject.leased
    return (lambda: _said(_current(scene, job))) if job else None


def report_and_go_on(scene: Scene, subject: Subject) -> Act | None:
    job = subject.leased
    return (lambda: _said(_current(scene, job, offer_for_next=scene.claim))) if job else None


def report_batch(scene: Scene, subject: Subject) -> Act | None:
    job = subject.leased
    if job is None:
        return None

    def act() -> str:
        current = _current(scene, job)
        return _said(current, current, replace(current, outcome=ANOTHER))

    return act


def _last_accepted(subject: Subject) -> Row | None:
    done = [
        job for job in subject.jobs if job["state"] == "done" and job["lease_key"] and job["report_digest"]
    ]
    return done[-1] if done else None


def report_repeat(scene: Scene, subject: Subject) -> Act | None:
    job = _last_accepted(subject)
    return (lambda: _said(report_of(job, job["outcome"], scene.by_worker))) if job else None


def report_other(scene: Scene, subject: Subject) -> Act | None:
    """Also of a job whose outcome somebody else wrote: the sweep, or who cancelled the task."""
    done = [job for job in subject.jobs if job["state"] == "done" and job["lease_key"]]
    return (lambda: _said(report_of(done[-1], ANOTHER, scene.by_worker))) if done else None


def report_late(scene: Scene, subject: Subject) -> Act | None:
    late = scene.lost.get(subject.id)
    return (lambda: _said(late)) if late else None


def report_wrong_lease(scene: Scene, subject: Subject) -> Act:
    job = _latest(subject)
    return lambda: _said(report_of(job, OUTCOMES[0], scene.by_worker, lease=uuid.uuid4()))


def report_unleased(scene: Scene, subject: Subject) -> Act | None:
    job = subject.open_job
    return (lambda: _said(report_of(job, OUTCOMES[0], scene.by_worker, lease=None))) if job else None


def report_unreadable(scene: Scene, subject: Subject) -> Act:
    job = _latest(subject)
    return lambda: _said(report_of(job, scene.choice("unreadable", UNREADABLE), scene.by_worker))


def report_nowhere(scene: Scene, subject: Subject) -> Act:
    nowhere = engine.Report(2**40, 1, uuid.uuid4(), dict(OUTCOMES[0]), scene.by_worker)
    return lambda: _said(nowhere)


def lose_early(scene: Scene, subject: Subject) -> Act | None:
    job = subject.leased
    if job is None or job["expired"]:
        return None
    lease = as_uuid(job["lease_key"])
    assert lease is not None
    return lambda: engine.expire_lease(job["id"], job["attempt"], lease)


def lose_late(scene: Scene, subject: Subject) -> Act | None:
    late = scene.lost.get(subject.id)
    return (lambda: engine.expire_lease(late.job_id, late.attempt, _key(late))) if late else None


def requeue(scene: Scene, subject: Subject) -> Act | None:
    job = subject.leased
    return (
        (lambda: engine.requeue_job_and_return_result(job["id"], job["attempt"], uuid.UUID(job["lease_key"])))
        if job
        else None
    )


def requeue_late(scene: Scene, subject: Subject) -> Act | None:
    late = scene.lost.get(subject.id)
    return (
        (lambda: engine.requeue_job_and_return_result(late.job_id, late.attempt, _key(late)))
        if late
        else None
    )


def come(scene: Scene, subject: Subject) -> Act | None:
    job = subject.open_job
    if job is None or job["kind"] != "wait":
        return None

    def act() -> str:
        due = Due.objects.get(job_id=job["id"], kind="wait")
        return engine.fire_due_time_and_return_result(due.pk, due.due_at)

    return act


def _key(late: engine.Report) -> uuid.UUID:
    assert late.lease is not None
    return late.lease


WORKERS = (
    Command("start", "a worker takes the job", start),
    Command("start_unfit", "a worker of another owner tries to take the job", start_unfit),
    Command("report", "the worker reports", report),
    Command("report_and_go_on", "the worker reports and would take the next job at once", report_and_go_on),
    Command("report_batch", "the same report twice and another one, in one batch", report_batch, alone=False),
    Command("report_repeat", "the last accepted report comes again", report_repeat),
    Command(
        "report_other", "another outcome of a job that is done, by the attempt that had it", report_other
    ),
    Command("report_late", "an attempt reports that had lost its lease", report_late),
    Command("report_wrong_lease", "a report under a lease that never was", report_wrong_lease),
    Command("report_unleased", "a report without a lease", report_unleased),
    Command("report_unreadable", "a report that is no outcome", report_unreadable),
    Command("report_nowhere", "a report on a job that does not exist", report_nowhere),
    Command("lose_early", "somebody holds a lease for lost that is in force", lose_early),
    Command("lose_late", "a lease is found lost a second time", lose_late),
    Command("requeue", "the worker stops in order and gives the job back", requeue),
    Command("requeue_late", "a job is given back that was taken away already", requeue_late),
    Command("come", "the time comes for which it waits", come),
)
