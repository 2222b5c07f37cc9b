"""Drawn pairs of versions of one line, and walks of tasks that leave them in every kind of position."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.utils import timezone
from hypothesis import strategies as st

from pipelines import engine
from pipelines.errors import Refused
from pipelines.lines import publishing
from pipelines.models import GateVisit, Job, Line, LineVersion, Task, Token
from pipelines.routing.document import line as routing
from tests.factories import World, document, station

KEYS = ("a", "b", "c", "d")
EVALS = ("x", "y", "z")
CONDITIONS = (
    {"always": True},
    {"result": "failure"},
    *({"eval": {"op": "equals", "value": each}} for each in EVALS),
)
OUTCOMES = (
    *({"result": "success", "eval": each, "output": {each: 1}} for each in EVALS),
    {"result": "failure"},
    {"result": "blocked"},
    {"result": "success", "signals": [{"verdict": "hold", "meta": {"question": "Why?"}}]},
    {"result": "success", "signals": [{"verdict": "rework"}]},
)
WORDS = ("approve", "approve", "reject", "send_back", "rework")


@st.composite
def rules(draw: st.DrawFn, keys: list[str], at: str) -> list[dict[str, Any]]:
    targets = st.sampled_from([*keys, "completed", "@blocked", "@origin"])
    made = []
    for n in range(draw(st.integers(0, 3))):
        rule = {"id": f"{at}{n}", "when": draw(st.sampled_from(CONDITIONS)), "to": draw(targets)}
        if draw(st.integers(0, 7)) == 0 and len(keys) > 1:
            rule["to"] = draw(st.lists(st.sampled_from(keys), min_size=2, max_size=2, unique=True))
        if draw(st.booleans()):
            rule["gates"] = draw(st.sampled_from([["g"], ["h"], ["g", "h"]]))
        if draw(st.integers(0, 3)) == 0:
            rule["max_retries"] = 1
        made.append(rule)
    return made


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=2, max_size=4, unique=True))
    made = []
    for key in keys:
        more: dict[str, Any] = {"gate": "g"} if draw(st.integers(0, 4)) == 0 else {}
        if draw(st.integers(0, 4)) == 0:
            more["limits"] = {"max_visits": draw(st.integers(1, 2))}
        kind = draw(st.sampled_from(["noop", "noop", "manual"]))
        made.append(station(key, *draw(rules(keys, key)), kind=kind, **more))
    return document(
        made,
        gates=[draw(gate("g")), draw(gate("h"))],
        policy={
            "no_match": draw(st.sampled_from(["default", "stuck", "fallback", "escalate"])),
            "on_failure": draw(st.sampled_from(["halt", "stuck"])),
            "on_reject": draw(st.sampled_from(["fail", "rework"])),
        },
    )


@st.composite
def gate(draw: st.DrawFn, key: str) -> dict[str, Any]:
    who = [{"role": "reviewer", "count": draw(st.sampled_from([1, 1, 2]))}]
    return {
        "key": key,
        "name": key.upper(),
        "mode": draw(st.sampled_from(["manual", "manual", "manual", "skip"])),
        "approval": {"who": who, "requester_may": True, "producer_may": True},
        "offers": ["approve", "reject", "send_back", "rework"],
    }


def published(world: World, said: dict[str, Any]) -> LineVersion:
    """A version as publishing writes it, whatever lint says of the line."""
    line, _ = Line.objects.get_or_create(
        project=world.project, key=said["key"], defaults={"name": "Line", "created_at": timezone.now()}
    )
    parsed = routing.read_line(said)
    full = parsed.to_document()
    version = LineVersion.objects.create(
        line=line,
        number=line.versions.count() + 1,
        document=full,
        digest=routing.canonical_digest(full),
        published_at=timezone.now(),
    )
    publishing.write_version_rows(version, parsed)
    line.live = version
    line.save(update_fields=["live"])
    return version


def walk(world: World, draw: st.DrawFn, task: Task, steps: int) -> None:
    """Whatever may happen to a task; what is refused has not happened."""
    for _ in range(steps):
        tokens = list(Token.objects.filter(task=task, ended_at=None, forked=False).order_by("pk"))
        if not tokens:
            return
        token = draw(st.sampled_from(tokens))
        with suppress(Refused):
            one_step(world, draw, token)


def one_step(world: World, draw: st.DrawFn, token: Token) -> None:
    job = Job.objects.filter(token=token).exclude(state="done").first()
    visits = list(GateVisit.objects.filter(token=token, state="open").order_by("position"))
    by = {"user": world.operator, "token_version": token.version}
    if job:
        if draw(st.integers(0, 4)) == 0 and token.status == "queued":
            engine.hold(token.pk, **by)
            return
        if token.status == "held":
            return
        started = (
            job if job.kind == "manual" else (engine.start_claimed_job_or_none(job.pk, world.claim()) or job)
        )
        if draw(st.integers(0, 4)):
            engine.report([world.report_of(started, draw(st.sampled_from(OUTCOMES)))])
    elif visits:
        visit, word = draw(st.sampled_from(visits)), draw(st.sampled_from(WORDS))
        who = draw(st.sampled_from([world.reviewer, world.admin]))
        world.vote(visit.task, word, by=who, reason="So.", visit=visit)
    elif draw(st.integers(0, 2)) == 0:
        engine.move_or_retry_by_hand(token.pk, **by)


def shape(task: Task) -> list[dict[str, Any]]:
    """Where a task is, so that it can be compared: every token, its open gates, its open job's version."""
    gates = GateVisit.objects.filter(task=task, state="open").order_by("position")
    jobs = Job.objects.filter(task=task).exclude(state="done")
    return [
        {
            "token": token.pk,
            "station": token.station,
            "status": token.status,
            "forked": token.forked,
            "error": token.error,
            "end": token.end,
            "origin": token.origin,
            "gates": [visit.gate for visit in gates if visit.token_id == token.pk],
            "job": next((job.station for job in jobs if job.token_id == token.pk), ""),
        }
        for token in Token.objects.filter(task=task).order_by("pk")
    ]
