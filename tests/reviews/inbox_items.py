"""Tasks for which a person must act, one of each kind, and what that person sees and does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import Job, Task, User
from pipelines.work import logs
from pipelines.work.scheduler import timers
from reviews.inbox.item import InboxViewer
from reviews.inbox.kinds import OfferedItem, offered_items_due_first
from tests.factories import World, station
from tests.reviews.conftest import gated
from tests.reviews.test_pages import as_

QUESTION = {"agentic": {"question": "Good enough?"}, "answer": "yes"}


def gate(world: World) -> Task:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    return task


def evaluation(world: World) -> Task:
    rule = {"id": "good", "when": QUESTION, "to": "ship"}
    line = {"key": "asked", "flags": {"agentic_conditions": True}}
    task = world.start(world.line(stations=[station("write", rule), "ship"], **line))
    world.report(task)
    return task


def question(world: World) -> Task:
    task = world.start(world.line(stations=["sort", "ship"], key="asks"))
    asked = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which colour?"}}
    world.report(task, {"result": "success", "signals": [asked]})
    return task


def blocked(world: World) -> Task:
    rule = {"id": "on", "when": {"result": "success"}, "to": "ship"}
    task = world.start(world.line(stations=[station("pack", rule), "ship"], key="blocks"))
    world.report(task, {"result": "blocked", "summary": "The van is full.", "blockers": ["A flat tyre"]})
    return task


def stuck(world: World) -> Task:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    line = {"key": "sticks", "policy": {"no_match": "stuck"}}
    task = world.start(world.line(stations=[station("weigh", rule), "ship"], **line))
    world.report(task)
    return task


def approval(world: World) -> Task:
    tools = station(
        "call", kind="tools", work={"calls": [{"tool": "list"}], "tools": [{"name": "list", "argv": ["ls"]}]}
    )
    task = world.start(world.line(stations=[tools, "ship"], key="calls"))
    asked = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "May these calls be run?"}}
    world.report(task, {"result": "blocked", "signals": [asked]})
    return task


def missing(world: World) -> Task:
    needs = ["metadata:AI-Usage", "metadata:risk"]
    risk = {"key": "risk", "type": "choice", "label": "Risk tier", "choices": ["low", "high"]}
    first = station("code", {"id": "on", "to": "ship"}, requires=needs)
    task = world.start(world.line(stations=[first, "ship"], key="misses", inputs=[risk]))
    world.report(task)
    return task


def late(world: World) -> Task:
    """Its program runs for three minutes, of which one is expected."""
    slow = station(
        "count",
        {"id": "on", "to": "ship"},
        kind="command",
        work={"argv": ["true"]},
        limits={"expected": "1m"},
    )
    task = world.start(world.line(stations=[slow, "ship"], key="lags"))
    job = world.started(task)
    log = logs.Writer(job.pk, job.attempt)
    log.append_chunk("0.1\tShelf 1 of 40\n", timezone.now())
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(minutes=3))
    return task


def escalation(world: World) -> Task:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    line = {"key": "escalates", "policy": {"no_match": "escalate"}}
    task = world.start(world.line(stations=[station("weigh", rule), "ship"], **line))
    world.report(task)
    return task


def manual(world: World) -> Task:
    return world.start(world.line(stations=[station("unpack", kind="manual")], key="byhand"))


def held(world: World) -> Task:
    task = world.start(world.line(stations=["wait", "ship"], key="holds"))
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version, reason="Lunch")
    return task


def in_vain(world: World) -> Task:
    """It waits for a task that was cancelled."""
    version = world.line(stations=["wait"], key="waits")
    other = world.start(version)
    task = world.start(version, depends_on=[other.name])
    engine.cancel(other.pk, actor=engine.ENGINE)
    timers.run_due_timers_and_triggers()
    return task


def found(user: User) -> list[OfferedItem]:
    return offered_items_due_first(InboxViewer(user))


def page(user: User, **filters: str) -> str:
    return as_(user).get(reverse("needs-me"), filters).content.decode()


def act(user: User, one: OfferedItem, verb: str, *, htmx: bool = True, **said: Any) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    body = {"verb": verb, "token_version": one.need.version, **said}
    return as_(user).post(reverse("need-act", args=[one.need.kind, one.need.key]), body, headers=headers)
