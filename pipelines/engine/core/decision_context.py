"""Decision context of one cause at one token: what is decided about it, and by which facts."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.engine.core.agent_trust import lower_trust_after
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.handoffs import last_handoff_added_by_hand_or_none
from pipelines.engine.core.sampling import DRAWN, draw_result_by_gate, keep_request_drawn_until_approved
from pipelines.engine.core.sampling_fallback import CONTRADICTED, make_gates_ask_about_every_task
from pipelines.engine.core.values import Actor
from pipelines.models import Decision, GateVisit, Job, Purpose, Task, Token
from pipelines.models.plumbing import bulk_rows
from pipelines.ports.leases import WorkOffer
from pipelines.queries import versions
from pipelines.queries.same_patch_approvals import same_patch_approval_or_none, version_same_patch_gates
from pipelines.queries.usage import cost_of_task
from pipelines.routing.analysis.redecide.stored_trace import compact_entries
from pipelines.routing.basics.outcome import Outcome, read_outcome
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.decisions import DecisionAnswer as Answer
from pipelines.routing.decide.effects import DecisionSubject
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.decide.situation import situation_from_engine
from pipelines.routing.decide.station_facts import facts_by_station_with_last_tree
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.preconditions import HANDOFF


@dataclass
class DecisionContext:
    """`job`: whose outcome is decided about, or that the token did last. `cause` is unique per task (house §3 I4)."""

    batch: Batch
    task: Task
    token: Token
    job: Job
    actor: Actor | str
    cause: str
    trigger: str
    offer: WorkOffer | None = None
    # A person's word other than approve that forces this turn, with what it was said about.
    word: str = ""
    reason: str = ""
    asked_rule: str | None = None
    decision: Decision | None = None
    # The version that judges, where it is not the job's: its outcome was decided again after a migration.
    other_judge_version_id: int | None = None
    # Whose lease goes on to the next job, where it is not `job`: a question about it was answered just now.
    lease_holder: Job | None = None
    # What was recorded just now, as it was read then.
    parsed_outcome: Outcome | None = None
    # As the facts judged it (law §13), once it was decided about.
    outcome: Outcome | None = None

    @property
    def judge_version_id(self) -> int:
        """The id of the version that decides: the one under which the job started, unless
        `other_judge_version_id` names another (law §1, LineVersion)."""
        return self.other_judge_version_id or self.job.pinned_id

    @property
    def job_whose_worker_reported(self) -> Job:
        """The job that was just reported; its worker may go on with the next one at once."""
        return self.lease_holder or self.job

    @cached_property
    def judging_line(self) -> ParsedLine:
        return versions.parsed_line_by_version_id(self.judge_version_id)

    @property
    def pinned_line(self) -> ParsedLine:
        """The version that the task is pinned to now: next jobs start under it."""
        return versions.parsed_line_by_version_id(self.task.pinned_id)

    @cached_property
    def subject_before_move(self) -> DecisionSubject:
        """Subject by which the consequences of a decision are counted. The token has not moved yet."""
        return DecisionSubject(
            self.judging_line,
            self.token.station,
            self.token.origin,
            self.outcome or read_outcome(self.job.outcome),
            self.word,
            self.asked_rule,
            unreadable=self.task.unreadable,
        )


def counts_and_open_escalations_facts(task: Task) -> dict[str, Any]:
    """The facts that count, as of now, and the escalations that are open."""
    return {
        "visits": dict(task.visits),
        "edges": dict(task.edges),
        "rules": dict(task.rules),
        "rounds": dict(task.rounds),
        "failures": dict(task.failures),
        "open_escalations": task.escalations,
    }


def situation_with_drawn_samples(context: DecisionContext) -> dict[str, Any]:
    """The input of the decision tool for a fresh outcome (line-document.md, “The decision tool”)."""
    situation, drawn = situation_without_samples(context), _draw_samples_and_return_fact(context)
    return {**situation, "facts": {**situation["facts"], **drawn}} if drawn else situation


def situation_without_samples(context: DecisionContext) -> dict[str, Any]:
    """The same before anything is drawn for the gates that ask about a sample. Writes nothing."""
    token = context.token
    return {
        "station": token.station,
        "outcome": context.job.outcome,
        "facts": {
            **facts_for_deciding_again(context),
            "signal_reworks": token.signal_reworks,
            "origin": token.origin or None,
            **_cost_of_other_jobs_fact(context.judging_line, context.job),
            **_other_station_facts(context),
            **_still_valid_approvals_fact(context),
        },
    }


def _cost_of_other_jobs_fact(line: ParsedLine, job: Job) -> dict[str, Any]:
    """Return the cost of the other jobs of the task, where the line limits that."""
    if line.limits.cost_usd is None:
        return {}
    spent = cost_of_task(job.task_id, excluded_job=job.pk)
    return {"spent": spent} if spent else {}


def _other_station_facts(context: DecisionContext) -> dict[str, Any]:
    """Return what was observed at other stations in the token's own past, if the line reads that (law §13)."""
    if not context.judging_line.reads_stations or context.job.outcome is None:
        return {}
    tokens = list(context.task.tokens.values_list("pk", "parent_id", "joined_id"))
    part = ids_of_token_and_its_past(context.token.pk, tokens)
    # law §13: of another station the passed visits count, the latest last.
    visits = Job.objects.filter(task=context.task, token__in=part, purpose=Purpose.STATION, result="success")
    rows = visits.filter(state=Job.State.DONE, outcome__has_key="facts").exclude(pk=context.job.pk)
    past = rows.order_by("ended_at", "pk").values_list("station", "outcome__facts")
    observed = facts_by_station_with_last_tree(context.job.outcome.get("facts") or {}, past)
    return {"observed": observed} if observed else {}


def _draw_samples_and_return_fact(context: DecisionContext) -> dict[str, Any]:
    """Return the samples drawn at gates that ask about a sample."""
    outcome = context.job.outcome or {}
    if ((outcome.get("facts") or {}).get("claims") or {}).get("contradicted"):
        # Before the draw, so that this very task is asked about
        make_gates_ask_about_every_task(
            context.task, context.judging_line.gates, CONTRADICTED, context.batch.now
        )
        work = [(context.job.agent, context.job.station)] if context.job.agent else []
        lower_trust_after(context.batch.agents, context.task, work, CONTRADICTED, context.batch.now)
    drawn = draw_result_by_gate(context.judging_line, context.task, outcome)
    if DRAWN in drawn.values():
        # From here on it can be read on the page of the task.
        keep_request_drawn_until_approved(context.task, drawn)
    return {"samples": drawn} if drawn else {}


def _still_valid_approvals_fact(context: DecisionContext) -> dict[str, Any]:
    """Return the gates whose approval holds for this tree as well, because the same change was put on a base
    that moved (law §15)."""
    approvals = {}
    for gate in version_same_patch_gates(context.judge_version_id):
        stands = same_patch_approval_or_none(context.judging_line, context.job, gate)
        # law §15: people approved this very change, and only what it stands on has moved
        if stands is not None:
            approvals[gate] = {"rule": stands.rule, "approved": stands.approved, "tree": stands.tree}
    return {"stands": approvals} if approvals else {}


def ids_of_token_and_its_past(token: int, tokens: Iterable[tuple[int, int | None, int | None]]) -> set[int]:
    """The token, those that it was forked from, and those that were joined into one of them. `tokens`: each with the
    one that it was forked from and the one that it was joined into."""
    known = list(tokens)
    up = {pk: parent for pk, parent, _joined in known}
    token_ids: set[int] = set()
    todo = [token]
    while todo:
        pk = todo.pop()
        # Branches that were joined have one fork above them: this is a graph, and no chain
        if pk in token_ids:
            continue
        token_ids.add(pk)
        parent = up.get(pk)
        todo += [parent] if parent is not None else []
        todo += [other for other, _parent, joined in known if joined == pk]
    return token_ids


def outcome_judged_by_its_facts(job: Job, outcome: Outcome) -> Outcome:
    """The outcome of the job of a station as its facts judge it, under the version under which it started."""
    line = versions.parsed_line_by_version_id(job.pinned_id)
    station = line.stations_by_key.get(job.station)
    if station is None:
        return outcome
    return judge_outcome(line, station, outcome, _cost_of_other_jobs_fact(line, job).get("spent", 0)).outcome


def facts_for_deciding_again(context: DecisionContext) -> dict[str, Any]:
    """Return the facts that may differ when the same outcome is decided again: all about the task, but not what
    the token brought along."""
    # A query for lines that read it, and for no other
    words = {"words": last_vote_by_gate(context.task)} if context.judging_line.reads_gate_words else {}
    return {**facts_of_task_without_votes(context), **words}


def facts_of_task_without_votes(context: DecisionContext) -> dict[str, Any]:
    """Return the current facts of the task without the votes at gates: what step 7 reads after a vote or an
    answer (law §12)."""
    task = context.task
    return {
        **counts_and_open_escalations_facts(task),
        "context": dict(task.context),
        "variables": dict(task.variables),
        "inputs": dict(task.inputs),
        "task": task_fields(task),
        **({"unreadable": dict(task.unreadable)} if task.unreadable else {}),
        **stations_of_other_tokens_fact(context.batch, task, context.token, context.judging_line),
    }


def last_vote_by_gate(task: Task) -> dict[str, str]:
    """The last decision at each gate of this task, for checks that read it."""
    decided = GateVisit.objects.filter(task=task, state=GateVisit.State.DECIDED).order_by("decided_at")
    return dict(decided.values_list("gate", "word"))


def stations_of_other_tokens_fact(batch: Batch, task: Task, token: Token, line: ParsedLine) -> dict[str, Any]:
    """Return the stations where other tokens of the task are, if the line forbids some stations to run in
    parallel. Tokens that wait at a join do not count."""
    if not line.forbidden_parallel:
        return {}
    others = [other for other in batch.living_tokens(task) if other.pk != token.pk and not other.forked]
    return {"beside": [other.station for other in others if "join" not in other.wait]}


def task_fields(task: Task) -> dict[str, Any]:
    """The fields of the task that conditions, checks and templates may read: `task.title`, …"""
    return {
        "name": task.name,
        "number": task.number,
        "title": task.title,
        "description": task.description,
        "requester": task.requested_by,
        "priority": task.priority,
        "labels": list(task.labels),
        "due_at": task.due_at.isoformat() if task.due_at else None,
    }


def situation_with_current_facts(context: DecisionContext, situation: dict[str, Any]) -> dict[str, Any]:
    """Return the situation with the current state of the line's agents: a free place is taken by the move
    itself (law §8). Includes a handoff that a person added since."""
    line, facts = context.judging_line, situation["facts"]
    if line.agents:
        # Only of lines that name agents: it locks their rows until the end of the move
        facts = {**facts, "agents": context.batch.agents.facts_by_agent_key(context.task, line.agents)}
    if (
        HANDOFF in line.requirements_of(situation["station"])
        and last_handoff_added_by_hand_or_none(context.job) is not None
    ):
        facts = {**facts, "preconditions": {**facts.get("preconditions", {}), HANDOFF: True}}
    return situation if facts is situation["facts"] else {**situation, "facts": facts}


def decide_and_store_decision(context: DecisionContext, situation: dict[str, Any]) -> Answer:
    """Decide on the situation and store the decision with everything that it read. Returns the answer;
    `decision_application` applies it. Of the trace only what cannot be computed again is stored."""
    situation = situation_with_current_facts(context, situation)
    began = time.perf_counter_ns()
    parsed = situation_from_engine(situation, context.parsed_outcome)
    # house §1: `routing` has no clock, so it is handed one to time the rules.
    answer = decide(context.judging_line, parsed, clock=time.perf_counter)
    micros = (time.perf_counter_ns() - began) // 1000
    station = context.judging_line.station(parsed.station)
    # Once more, since a decision says only what follows: counters and context want the judged outcome
    context.outcome = judge_outcome(context.judging_line, station, parsed.outcome, parsed.facts.spent).outcome
    context.decision = bulk_rows.new_row(
        Decision,
        # Made here: token and event of the move name the decision before it is written
        id=uuid.uuid4(),
        task=context.task,
        token_id=context.token.id,
        job_id=context.job.id,
        pinned_id=context.judge_version_id,
        revision=context.judging_line.revision,
        cause=context.cause,
        station=context.token.station,
        # All of it, so that the same decision can be made again (house §3 I9)
        situation=situation,
        trace=compact_entries(answer.trace),
        answer=answer.to_stored_dict(),
        micros=micros,
        at=context.batch.now,
    )
    context.batch.add_decision(context.decision)
    return answer
