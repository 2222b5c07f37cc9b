"""Tasks driven as a worker drives them, and what is recorded of them without times and ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipelines import engine
from pipelines.engine.core.batch import TASK
from pipelines.models import Decision, Due, Job, Task, Token
from tests.factories import World

TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(\+00:00)?")
UUIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CAUSE = re.compile(r"(report|join|job):(\d+)")
UNLIKE = {
    "id",
    "parent_id",
    "joined_id",
    "name",
    "number",
    "order",
    "branches",
    "digest",
    "evidence_digest",
    "micros",
    "took",
}
"""Keys of ids, of what the task is called, and of what is made of these."""
MOST = 200


def drive(world: World, task: Task) -> None:
    """Until it ends or waits for a person: what is open is done in its order, and what an answer brings comes first."""
    for _turn in range(MOST):
        job = Job.objects.filter(task=task).exclude(state=Job.State.DONE).order_by("pk").first()
        if job is None or job.token.status in ("held", "evaluating"):
            return
        if job.kind == "wait":
            due = Due.objects.get(task=task, job=job)
            if engine.fire_due_time_and_return_result(due.pk, now=due.due_at) != "fired":
                return
            continue
        following = engine.start_claimed_job_or_none(job.pk, world.claim())
        if following is None:
            # It waits for another worker.
            return
        while following is not None and following.lease_key is not None:
            said = {"result": "failure" if following.kind == "error" else "success"}
            (answer,) = engine.report([world.report_of(following, said, offer_for_next=world.claim())])
            assert answer.status == "accepted"
            following = answer.following
    raise AssertionError("it goes on for ever")


def record(task: Task) -> dict[str, Any]:
    """Events, decisions, jobs, positions and the row of the task; jobs are told by their place in the order."""
    jobs = list(Job.objects.filter(task=task).order_by("pk"))
    places = {str(job.pk): place for place, job in enumerate(jobs)}

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(each) for key, each in value.items() if key not in UNLIKE}
        if isinstance(value, list | tuple):
            return [plain(each) for each in value]
        if isinstance(value, str):
            value = UUIDS.sub("id", TIMES.sub("time", value))
            return CAUSE.sub(lambda found: f"{found[1]}:{places[found[2]]}", value)
        return value

    task.refresh_from_db()
    decisions = Decision.objects.filter(task=task).order_by("at")
    told = ("seq", "kind", "actor", "source", "target", "trigger", "data")
    of_job = (
        *(
            "station",
            "kind",
            "purpose",
            "visit",
            "feedback",
            "asked",
            "state",
            "attempt",
            "outcome",
            "result",
        ),
        *("exit_code", "summary", "report_digest", "reported_by", "worker_id"),
    )
    of_task = (*(name for name in TASK if not name.endswith("_at")), "context")
    return {
        "events": [plain([getattr(each, name) for name in told]) for each in task.events.order_by("seq")],
        "decisions": [
            plain([each.cause, each.station, each.situation, each.trace, each.answer]) for each in decisions
        ],
        "jobs": [
            [
                *(
                    plain(getattr(each, name))
                    for name in of_job
                    if name != "report_digest" or each.kind != "wait"
                ),
                each.started_at is not None,
                each.lease_key is not None,
                sorted(each.report_answer or {}),
            ]
            for each in jobs
        ],
        "tokens": [
            plain([each.station, each.status, each.version, each.origin, each.error, each.end, each.wait])
            for each in Token.objects.filter(task=task).order_by("pk")
        ],
        "dues": sorted(Due.objects.filter(task=task).values_list("kind", flat=True)),
        "task": [getattr(task, name) for name in of_task],
    }
