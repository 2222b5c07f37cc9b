"""One step of a script, done as a worker, a person or the clock would: each kind is one function of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from pipelines import engine
from pipelines.errors import Forbidden
from pipelines.models import Due, Escalation, GateVisit, Job, Purpose, Status, Token
from pipelines.queries import versions
from pipelines.routing.document.evaluations import WORDS, evaluation_key
from pipelines.routing.document.preconditions import HANDOFF
from pipelines.routing.simulate import candidates
from tests.playing.giving import give
from tests.playing.script import ScriptStep
from tests.playing.stage import CannotHappen, Stage

TICK = timedelta(microseconds=1)
MOST_TIMES = 1_000
"""That may come due in one step: a reminder that sets itself again would never end."""


def do(stage: Stage, played: ScriptStep) -> str:
    """Do it, and say in a word who did. Raises Refused with the reason why it cannot happen."""
    who = KINDS[played.kind](stage, played)
    give(stage)
    stage.see_dues()
    return who


# What a station reports


def _outcome(stage: Stage, played: ScriptStep) -> str:
    assert played.step is not None
    token = stage.token(played.at)
    job = _open_job(token, Purpose.STATION)
    if job is None:
        raise CannotHappen(f"{token.station} has no work to do: {_standing(token)}")
    own = {HANDOFF} if played.step.outcome.get("handoff") is not None else set()
    stage.withheld[token.pk, token.station] = own.union(played.step.missing)
    who = _reported(stage, token, job, dict(played.step.outcome), played.by)
    given = {_key(answer): answer for answer in played.step.answers}
    while given and (asked := _question(stage, token.pk)) is not None and _key(asked[1]) in given:
        _answered(stage, asked[0], given.pop(_key(asked[1])), "")
    return who


def _reported(stage: Stage, token: Token, job: Job, outcome: dict[str, Any], by: str) -> str:
    """A manual station is completed by a person, every other one by a worker that plays its agent."""
    if job.kind == "manual":
        user = stage.cast.person(by)
        engine.complete_manual_job(job.pk, user=user, token_version=token.version, outcome=outcome)
        return str(user)
    if job.kind == "wait":
        # Its time comes, whatever the script says it waited for.
        due = Due.objects.get(job=job)
        engine.fire_due_time_and_return_result(due.pk, due.due_at)
        return job.station
    station = versions.parsed_line_by_version_id(job.pinned_id).stations_by_key.get(job.station)
    name = by or str((station.work.get("agent") if station else "") or job.station)
    claim = stage.cast.claim(name, station.labels if station else ())
    started = engine.start_claimed_job_or_none(job.pk, claim)
    if started is None:
        raise CannotHappen(f"{job.station} cannot be started: {_standing(token)}")
    by = f"worker:{claim.worker}"
    told = engine.report(
        [engine.Report(started.pk, started.attempt, started.lease_key, outcome, by, observed_by=by)]
    )[0]
    if told.status != "accepted":
        raise CannotHappen(f"{told.path}: {told.detail}" if told.path else told.detail)
    return name


def _open_job(token: Token, *purposes: str) -> Job | None:
    return Job.objects.filter(token=token, purpose__in=purposes).exclude(state=Job.State.DONE).first()


def _standing(token: Token) -> str:
    token.refresh_from_db()
    waits = ", ".join(token.wait.get("gates") or token.wait.get("missing") or ())
    return f"it is {token.status}" + (f" ({waits})" if waits else "")


# What an evaluation answers


def _answers(stage: Stage, played: ScriptStep) -> str:
    assert played.step is not None
    who = ""
    for answer in played.step.answers:
        token = stage.token(played.at)
        asked = _question(stage, token.pk)
        if asked is None or _key(asked[1]) != _key(answer):
            raise CannotHappen(f"{token.station} does not ask this: {_standing(token)}")
        who = _answered(stage, asked[0], answer, played.by)
    return who


def _question(stage: Stage, token_id: int) -> tuple[Token, dict[str, Any]] | None:
    """What is asked about a token now, by a job or of a person."""
    token = stage.living.filter(pk=token_id).first()
    asked = (token.wait or {}).get("evaluation") if token else None
    return (token, asked) if token and asked else None


def _answered(stage: Stage, token: Token, answer: Mapping[str, Any], by: str) -> str:
    word, text = str(answer.get("answer") or ""), str(answer.get("text") or "")
    if token.status == Status.BLOCKED:
        user = stage.cast.person(by)
        engine.answer_blocked_token(token.pk, user=user, token_version=token.version, text=text, fact=word)
        return str(user)
    job = _open_job(token, Purpose.EVALUATION, Purpose.CHECK)
    if job is None:
        raise CannotHappen(f"{token.station} asks nothing: {_standing(token)}")
    known = word in WORDS[next(iter(job.question or {}), "agentic")]
    outcome = {"result": "success", "eval": word if known else "unanswered", "feedback": text}
    return _reported(stage, token, job, outcome, by or "evaluator")


def _key(asked: Mapping[str, Any]) -> str:
    kind = "agentic" if "agentic" in asked else "hook"
    return evaluation_key(kind, asked.get(kind))


# What people say


def _gates(stage: Stage, played: ScriptStep) -> str:
    """One word stands for all votes that the policy asks for."""
    assert played.step is not None
    who = []
    for gate, said in played.step.gates.items():
        visit = _visit(stage, played.at, gate)
        who += _voted(stage, visit, said, played.by)
    return ", ".join(who)


def _visit(stage: Stage, at: str | None, gate: str) -> GateVisit:
    token = stage.token(at)
    visits = GateVisit.objects.filter(token=token, gate=gate, state=GateVisit.State.OPEN)
    found = visits.select_related("asked_by").first()
    if found is None:
        raise CannotHappen(f"the gate {gate} is not open at {token.station}: {_standing(token)}")
    return found


def _voted(stage: Stage, visit: GateVisit, said: Mapping[str, str], by: str) -> list[str]:
    policy = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate).approval
    votes: dict[str, Any] = {
        "word": said["decision"],
        "reason": said.get("reason") or "",
        "route": said.get("route") or "",
    }
    if said["decision"] != "approve" and not votes["reason"].strip():
        votes["reason"] = "As the script says."
    gate = versions.parsed_line_by_version_id(visit.asked_by.pinned_id).gate(visit.gate)
    if said["decision"] == "approve":
        votes["fields"] = {
            each.key: candidates.sample_input_value(each) for each in gate.fields if each.required
        }
    who: list[str] = []
    for user in stage.cast.voters(by, policy.who):
        try:
            result = engine.vote(
                visit, user=user, token_version=visit.token_version, evidence_digest=visit.evidence_digest,
                via="api", **votes,
            )  # fmt: skip
        except Forbidden:
            if by and str(user) == by:
                raise
            continue
        who.append(str(user))
        if result.state == GateVisit.State.DECIDED:
            return who
    raise CannotHappen(f"nobody in this script may decide {visit.gate}")


def _answer(stage: Stage, played: ScriptStep) -> str:
    assert played.step is not None
    token, user = stage.token(played.at), stage.cast.person(played.by)
    engine.answer_blocked_token(token.pk, user=user, token_version=token.version, text=played.step.answer)
    return str(user)


def _retry(stage: Stage, played: ScriptStep) -> str:
    token, user = stage.token(played.at), stage.cast.person(played.by)
    engine.move_or_retry_by_hand(
        token.pk, user=user, token_version=token.version, reason="As the script says."
    )
    return str(user)


# What the clock brings


def _after(stage: Stage, played: ScriptStep) -> str:
    """Time passes for this task: whatever becomes due meanwhile is done, the earliest first. A time that is set
    on the way counts from the moment at which it was set."""
    stage.see_dues()
    until = stage.passed + timedelta(seconds=played.seconds)
    for _ in range(MOST_TIMES):
        due = min(stage.see_dues(), key=lambda each: _until(stage, each), default=None)
        if due is None or _until(stage, due) > until:
            break
        stage.passed = max(stage.passed, _until(stage, due))
        engine.fire_due_time_and_return_result(due.pk, due.due_at + TICK)
    stage.passed = until
    return "the clock"


def _until(stage: Stage, due: Due) -> timedelta:
    """How much of the script's time has passed when this is due."""
    return due.due_at - stage.now + stage.set_after[due.pk]


def _reconsider(stage: Stage, played: ScriptStep) -> str:
    """What was missing is there now, but for what the step names."""
    assert played.step is not None
    token = stage.token(played.at)
    stage.withheld[token.pk, token.station] = set(played.step.missing)
    engine.decide_held_tokens_again(stage.task.pk)
    return "the engine"


def _resolve(stage: Stage, played: ScriptStep) -> str:
    assert played.step is not None
    said = dict(played.step.details)
    trigger = said.pop("trigger", "")
    opened = Escalation.objects.filter(task=stage.task, state=Escalation.State.OPEN)
    meant = {**({"trigger": trigger} if trigger else {}), **({"station": played.at} if played.at else {})}
    found = opened.filter(**meant).order_by("opened_at", "pk").first()
    if found is None:
        known = ", ".join(opened.values_list("trigger", flat=True))
        raise CannotHappen(
            f"no escalation {trigger or 'at all'} is open" + (f"; open: {known}" if known else "")
        )
    user = stage.cast.person(played.by) if played.by else stage.cast.holder(found.role)
    reason = said.get("reason") or "As the script says."
    engine.resolve_escalation(
        found.pk, user=user, word=said["word"], route=said.get("route", ""), reason=reason
    )
    return f"{user} as {found.role}"


def _escalate(stage: Stage, played: ScriptStep) -> str:
    assert played.step is not None
    said, user = played.step.details, stage.cast.person(played.by)
    engine.escalate(
        stage.task.pk, user=user, trigger=said["trigger"], reason=said.get("reason") or "As the script says."
    )
    return str(user)


KINDS: dict[str, Callable[[Stage, ScriptStep], str]] = {
    "outcome": _outcome,
    "answers": _answers,
    "gates": _gates,
    "answer": _answer,
    "retry": _retry,
    "after": _after,
    "escalate": _escalate,
    "reconsider": _reconsider,
    "resolve": _resolve,
}
