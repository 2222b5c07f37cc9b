"""Invariant of what a person's word led to: I19."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.engine.invariants.record_reading import TaskRecord, task_records
from pipelines.models import Decision
from pipelines.ports.observers import Violation
from pipelines.queries import versions
from pipelines.queries.decision_trace import decision_trace
from pipelines.routing.analysis.redecide.recorded_decision import decide_again

Ids = Sequence[int] | None
Json = Mapping[str, Any]
OF_STEP_SEVEN = ("feedback", "variables", "trace")
"""Of an answer: what step 7 composes from what it finds, and the trace."""


def vote_effect_violations(task_ids: Ids) -> Iterable[Violation]:
    """I19: the move after a decided visit is the one that the visit's page showed, or what step 7 made of it (law §12,
    Gates and words): rules and checks come out as they did when the gate asked."""
    for record in task_records(task_ids, "visits", "decisions"):
        question_ids = {str(visit.pk): visit.asked_by_id for visit in record.visits}
        decisions = {decision.pk: decision for decision in record.decisions}
        for decision in record.decisions:
            visit = decision.cause.removeprefix("gate:")
            question = decisions.get(question_ids[visit]) if visit in question_ids else None
            if question and question.revision == decision.revision == _line_revision(question):
                yield from _displayed_effect_violations(record, question, decision)


def _line_revision(decision: Decision) -> int:
    return versions.parsed_line_by_version_id(decision.pinned_id).revision


def _displayed_effect_violations(
    record: TaskRecord, question: Decision, decision: Decision
) -> Iterator[Violation]:
    displayed = _displayed_answer(question, decision)
    stands, stood = (
        list(_step_rule_and_result(decision_trace(decision))),
        list(_step_rule_and_result(displayed["trace"])),
    )
    refused = [
        place for place in map(_index_of_step_seven_refusal_or_none, (stands, stood)) if place is not None
    ]
    until = min(refused, default=None)
    if stands[:until] != stood[:until]:
        yield record.violation(
            "I19", f"decision {decision.pk} tried rules and checks anew after its gate had asked"
        )
    elif until is None and _decided_effect(decision.answer) != _decided_effect(displayed):
        yield record.violation(
            "I19", f"decision {decision.pk} leads elsewhere than the page of its gate showed"
        )


def _displayed_answer(question: Decision, decision: Decision) -> dict[str, Any]:
    """Return what the page of the question displays for these words."""
    words = decision.situation["facts"]["gates"]
    facts = {**question.situation["facts"], "gates": words}
    return decide_again(
        versions.parsed_line_by_version_id(question.pinned_id), {**question.situation, "facts": facts}
    ).to_dict()


def _step_rule_and_result(trace: Iterable[Json]) -> Iterator[tuple[Any, ...]]:
    return ((entry["step"], entry["rule"], entry["result"]) for entry in trace)


def _index_of_step_seven_refusal_or_none(tried: Sequence[tuple[Any, ...]]) -> int | None:
    """Return where step 7 first stood in the way, if it did."""
    return next((place for place, (step, _, _) in enumerate(tried) if step == "target"), None)


def _decided_effect(answer: Json) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in OF_STEP_SEVEN}
