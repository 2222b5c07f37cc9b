"""Answers to an agent about its own task: where it stands, the checks of the gates ahead, and where an outcome would
lead now (docs/agents.md). The job under its lease is all that can be named, and nothing is changed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from pipelines import engine
from pipelines.engine.core.decision_context import task_fields
from pipelines.errors import Conflict, Invalid
from pipelines.models import Job
from pipelines.queries import versions
from pipelines.queries.decision_trace import gate_check_results
from pipelines.routing.basics.facts import CLAIMS
from pipelines.routing.decide.decisions import Ask, Wait
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.decide.steps.routing_context import RoutingContext
from pipelines.routing.document.checks import evaluate_group
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.kinds import expected_result
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.routing.document.requirements import OWNER, Requirement
from pipelines.routing.sentences.conditions import condition_words
from pipelines.routing.sentences.decisions import deciding_gate_text_or_empty, decision_sentence
from pipelines.routing.sentences.names import gate_name, rule_name, station_name, target_name
from pipelines.work.results.text import masked_value
from pipelines.work.transport.local.folders import template_inputs
from pipelines.work.transport.local.station_values import task_masker
from pipelines.work.transport.protocol import LeaseLost, QuestionRefused

Answer = dict[str, Any]
MOST_PATHS: Final = 50
SECRET: Final = "secret"
SAMPLED: Final = "whether {gate} asks about this task: a sample, drawn when you have ended; here it asks"
EVALUATED: Final = "an evaluation that is run when you have ended, and asked before the rest is decided"


def answer_agent(
    job_id: int, lease: uuid.UUID, question: str, outcome: Mapping[str, Any] | None, by: str
) -> Answer:
    """:raises LeaseLost: the attempt is over; QuestionRefused: there is no such question, or no such outcome"""
    job = (
        Job.objects.select_related("task__project__owner", "task__line")
        .filter(pk=job_id, lease_key=lease, state=Job.State.RUNNING)
        .first()
    )
    if job is None:
        raise LeaseLost
    # After the lease: who has none learns nothing, not even which questions there are
    if question not in QUESTIONS:
        raise QuestionRefused(f"There is no question {question}. There are {', '.join(QUESTIONS)}.")
    answer = QUESTIONS[question](job, dict(outcome or {}), by)
    # A secret may have come into an input, or into the work of an earlier station
    masked: Answer = masked_value(answer, task_masker(job.task))
    return masked


# get_task


def _task_answer(job: Job, _outcome: Answer, _by: str) -> Answer:
    task, line = job.task, versions.parsed_line_by_version_id(job.pinned_id)
    station = line.station(job.station)
    # Whoever asked for the work is a person, and nothing that the work depends on
    fields = {key: value for key, value in task_fields(task).items() if key != "requester"}
    return {
        "task": fields,
        "inputs": dict(_shown_inputs(line, template_inputs(task, line))),
        "line": line.name,
        "station": {"key": station.key, "name": station.name, "visit": job.visit, "attempt": job.attempt},
        "feedback": job.feedback,
        **({"your_question": job.asked} if job.asked else {}),
        "expected": {
            "result": expected_result(station),
            "output_keys": list(station.output_keys),
            "result_document": station.result_document,
            "artifacts": [
                {"path": artifact.path, "required": artifact.required} for artifact in station.artifacts
            ],
        },
        "rules": [_rule_fields(line, rule) for rule in station.rules],
        "gates_ahead": [_gate_fields(line, gate) for gate in gates_of_station_and_its_rules(line, station)],
    }


def _shown_inputs(line: ParsedLine, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the inputs, of a file its name; one that names a secret is left out."""
    for line_input in line.inputs:
        value = values.get(line_input.key)
        if line_input.type != SECRET and value is not None:
            yield line_input.key, value.get("name") if isinstance(value, dict) else value


def _rule_fields(line: ParsedLine, rule: Any) -> Answer:
    return {
        "name": rule_name(line, rule.id),
        "when": condition_words(rule.when, called=partial(station_name, line)),
        "to": [target_name(line, key) for key in rule.to],
        "gates": [gate_name(line, key) for key in rule.gates],
    }


def gates_of_station_and_its_rules(line: ParsedLine, station: Station) -> list[Gate]:
    """Return the gate of the station and those of its rules, each once."""
    keys = [*([station.gate] if station.gate else []), *(key for rule in station.rules for key in rule.gates)]
    return [line.gate(key) for key in dict.fromkeys(keys)]


def _gate_fields(line: ParsedLine, gate: Gate) -> Answer:
    requirements = (
        [_requirement_fields(requirement) for requirement in gate.approval.who] if gate.has_people else []
    )
    return {"name": gate_name(line, gate.key), "asks": requirements, "question": gate.description}


def _requirement_fields(requirement: Requirement) -> Answer:
    """Return who is asked; no person by name."""
    name = {"name": requirement.name} if requirement.kind in ("role", "group", OWNER) else {}
    return {
        "kind": requirement.kind,
        **name,
        "count": "all" if requirement.everyone else requirement.count,
    }


# what_if and gate_checks


def _preview(job: Job, outcome: Answer, by: str) -> engine.ReportPreview:
    report = engine.Report(job.pk, job.attempt, job.lease_key, outcome, by=by, observed_by=by)
    try:
        return engine.preview_report(report)
    except Conflict as error:
        # Between the look at the lease and the lock another worker, or a person, took the task
        raise LeaseLost from error
    except Invalid as error:
        raise QuestionRefused(str(error)) from error


def _what_if_answer(job: Job, outcome: Answer, by: str) -> Answer:
    preview = _preview(job, outcome, by)
    line, situation, decision = preview.line, preview.situation, preview.decision
    answer, trace = decision.to_stored_dict(), [entry.to_dict() for entry in decision.trace]
    station = line.station(situation.station)
    # Once more, for its reasons: the decision keeps the result alone
    judged = judge_outcome(line, station, situation.outcome, situation.facts.spent)
    gates = [line.gate(key) for key in answer.get("gates") or () if key in line.gates_by_key]
    open_facts = [
        *(SAMPLED.format(gate=gate_name(line, gate.key)) for gate in gates if gate.sample is not None),
        *([EVALUATED] if isinstance(decision, Ask) else []),
    ]
    rule = str(answer.get("rule") or "")
    return {
        "decision": answer["decision"],
        "in_words": decision_sentence(
            line, station.key, answer, deciding_gate_text_or_empty(line, answer, trace)
        ),
        "to": [target_name(line, key) for key in answer.get("to") or filter(None, [answer.get("end")])],
        **({"rule": rule_name(line, rule)} if rule in line.rules_by_id else {}),
        **({"decided_by_fact": judged.by, "counts_as": judged.counts_as} if judged.by else {}),
        "failing_checks": [
            _check_fields(check) for check in gate_check_results(line, trace) if not check["passed"]
        ],
        "reviewers": [_gate_fields(line, gate) for gate in gates] if isinstance(decision, Wait) else [],
        "reviewers_see": _evidence(judged.outcome.to_dict()),
        "still_open": open_facts,
        "details": answer,
    }


def _evidence(outcome: Mapping[str, Any]) -> Answer:
    """Return what a review would show first of this outcome."""
    facts = outcome.get("facts", {})
    change = facts.get("git", {})
    counts = ("files_changed", "insertions", "deletions")
    # As many as an agent reads; the counts beside them are of all
    lists = {name: list(change[name])[:MOST_PATHS] for name in ("paths", "sensitive") if name in change}
    return {
        "summary": outcome.get("summary", ""),
        "output": outcome.get("output"),
        "change": {**{name: change[name] for name in counts if name in change}, **lists},
        "commands": {
            name: value
            for name, value in facts.get("commands", {}).items()
            if name in ("run", "failed", "denied")
        },
        "contradicted_claims": list(facts.get(CLAIMS, {}).get("contradicted", ())),
        "missing_files": [
            artifact
            for artifact in outcome.get("artifacts", ())
            if isinstance(artifact, dict) and "error" in artifact
        ],
    }


def _gate_checks_answer(job: Job, outcome: Answer, by: str) -> Answer:
    preview = _preview(job, outcome, by)
    line, case = preview.line, RoutingContext(preview.line, preview.situation)
    station = line.station(preview.situation.station)
    return {
        "gates": [
            {
                **_gate_fields(line, gate),
                "checks": [
                    _check_fields(result.to_dict())
                    for result in evaluate_group(gate.checks, case.check_field_reader([gate.key])).results
                ],
                "runs_a_tool": gate.runs_its_tool,
            }
            for gate in gates_of_station_and_its_rules(line, station)
        ]
    }


CHECK_FIELDS: Final = (
    "gate",
    "label",
    "field",
    "operator",
    "value",
    "saw",
    "passed",
    "severity",
    "action",
    "why",
)


def _check_fields(check: Mapping[str, Any]) -> Answer:
    return {name: check[name] for name in CHECK_FIELDS if name in check}


QUESTIONS: Final[Mapping[str, Callable[[Job, Answer, str], Answer]]] = {
    "get_task": _task_answer,
    "what_if": _what_if_answer,
    "gate_checks": _gate_checks_answer,
}
