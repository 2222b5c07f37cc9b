"""Result from facts (law §13): before the rest of a decision, observed facts may decide how the work went. The first
entry of `ORDER` that holds decides; the reported result is then kept as a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from pipelines.routing.basics.facts import OF_MONTH, OUTPUT, SOURCE, facts_with_claim
from pipelines.routing.basics.outcome import FORCED, Outcome, derived_outcome
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document import expected_results
from pipelines.routing.document.expected_results import (
    CHANGE,
    DENIED,
    EMPTY,
    FAILURES,
    NO_FINAL_EVENT,
    NO_PROVIDER,
    NOTHING,
    NOTHING_DONE,
    OUTPUT_MISSING,
    OVER_BUDGET,
    REFUSED,
    REVIEW,
    UNREADABLE,
)
from pipelines.routing.document.kinds import expected_result, is_output_read
from pipelines.routing.document.model import OUTPUT_DECIDES_NOTHING, ParsedLine
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.document.stations import Station

RECORDED_ONLY: Final = "already_complete"
"""The reason of a `hold` that is only recorded where a fact decided; so is `proceed`."""


SET_BY_GATELINE: Final = (
    *("template_error", "command_not_started", "resource_limit", "no_space", "prepare_failed"),
    *(
        "merge_conflict",
        "base_moved",
        "branch_changed",
        "not_approved",
        "workspace_too_large",
        "not_stored",
        "secret_in_file",
        "submodule_changed",
        "supervisor_lost",
        "unknown_work",
        "no_fixer",
    ),
)
"""Failure types of what kept the work from being done. A result document names no result, so it cannot say one."""


@dataclass(slots=True, unsafe_hash=True)
class OutcomeJudgement:
    """`outcome` with result, verdict, eval and failure type as the fact `by` sets them, "" where none decides.
    `needs_review`: a person is asked at the gate of the station. `saw`: the facts that decided."""

    outcome: Outcome
    by: str = ""
    counts_as: str = ""
    saw: tuple[ObservedOperand, ...] = ()

    @property
    def needs_review(self) -> bool:
        return self.counts_as == REVIEW


def judge_outcome(line: ParsedLine, station: Station, outcome: Outcome, spent: Any = 0) -> OutcomeJudgement:
    """`spent`: what the task cost before this outcome. An outcome that was already judged does not change."""
    # Nothing was observed and nothing is expected: the common case costs nothing.
    if not (outcome.facts or station.expects or station.artifacts or expected_result(station)):
        return OutcomeJudgement(outcome)
    # Since revision 3 the line of a signal, alone, is no output (law §2, §12).
    if line.revision > OUTPUT_DECIDES_NOTHING and outcome.facts.get(OUTPUT, {}).get("signal"):
        outcome = replace(outcome, output=MISSING)
    about = JudgementInput(line, station, outcome, spent)
    # What was no work is not judged by what it left; only its cost counts (law §13).
    for kind, holds in ORDER[:1] if _did_no_work(outcome) else ORDER:
        saw = holds(about)
        if saw:
            return _judgement_by_fact(station, outcome, kind, saw)
    return OutcomeJudgement(outcome)


def _did_no_work(outcome: Outcome) -> bool:
    """Return whether no work was done, because it was cancelled or Gateline could not do it. Then only the
    spending counts."""
    return outcome.result == "cancelled" or (
        outcome.result == "failure" and outcome.failure_type in SET_BY_GATELINE
    )


def _judgement_by_fact(
    station: Station, outcome: Outcome, kind: str, saw: tuple[ObservedOperand, ...]
) -> OutcomeJudgement:
    word = station.outcome_of.get(kind) or FAILURES[kind][1]
    # A review, once approved, counts as success (law §13).
    forced = FORCED["success" if word == REVIEW else word]
    decided: dict[str, Any] = {name: getattr(forced, name) for name in ("result", "verdict", "eval")}
    decided["failure_type"] = kind
    reported = {name: value for name in decided if (value := getattr(outcome, name)) is not None}
    if reported != decided:
        # What was reported otherwise is kept as a claim (law §13).
        facts = facts_with_claim("result", {"said": reported}, outcome.facts) if reported else outcome.facts
        outcome = replace(outcome, **decided, facts=facts)
    return OutcomeJudgement(replace(outcome, signals=tuple(_effective_signals(outcome))), kind, word, saw)


def _effective_signals(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """The signals that keep their effect."""
    for signal in outcome.signals:
        # `proceed` and a jump would go past what the fact decided; the others keep their effect.
        jump = signal.get("verdict") == "hold" and signal.get("reason") == RECORDED_ONLY
        if signal.get("verdict") != "proceed" and not jump:
            yield signal


def outcome_with_expected_artifacts(station: Station, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A made-up outcome with the files that the station is expected to leave, so that none is missing."""
    paths = [artifact.path for artifact in station.artifacts if artifact.required]
    if not paths and expected_result(station) == expected_results.OUTPUT and "output" not in outcome:
        paths = ["output"]
    return {**outcome, "artifacts": [{"path": path} for path in paths]} if paths else dict(outcome)


@dataclass(frozen=True, slots=True)
class JudgementInput:
    """Input of the checks in `ORDER`: the line, the station, the outcome, and what the task cost before."""

    line: ParsedLine
    station: Station
    outcome: Outcome
    spent: Any

    def observed_fact(self, group: str, key: str) -> Any:
        return self.outcome.facts.get(group, {}).get(key)

    @property
    def expected_result_kind(self) -> str:
        return expected_result(self.station) or NOTHING

    def deciding_output_fact(self, key: str, failure: str) -> tuple[ObservedOperand, ...]:
        """Return what was observed of the output, where it decides: somebody reads it, and the work passed of itself
        (or was judged by this before)."""
        fact = self.observed_fact(OUTPUT, key)
        # Versions that were published before go on as they were decided then
        if not fact or self.line.revision <= OUTPUT_DECIDES_NOTHING or not is_output_read(self.station):
            return ()
        passed = (
            derived_outcome(self.outcome).outcome_state == "passed" or self.outcome.failure_type == failure
        )
        return (_fact_operand(f"{OUTPUT}.{key}", fact),) if passed else ()

    @property
    def unchanged_evidence(self) -> tuple[ObservedOperand, ...]:
        """Return the evidence that the files are unchanged since the visit began; empty if nobody looked, or
        they changed."""
        for group, members in self.outcome.facts.items():
            source = members.get(SOURCE, {})
            before, after = source.get("before"), source.get("tree")
            if before is not None and after is not None:
                return (_fact_operand(f"{group}.{SOURCE}.tree", after),) if before == after else ()
        # Second choice: it counts from the base, not from the start of the visit (law §13).
        changed = self.observed_fact("git", "files_changed")
        return (_fact_operand("git.files_changed", changed),) if changed == 0 else ()

    @property
    def has_output(self) -> bool:
        return self.outcome.output is not MISSING and not self.outcome.output_error

    @property
    def missing_results(self) -> tuple[ObservedOperand, ...]:
        """Declared artifacts that are not there, or that there is neither output nor artifact."""
        left = {str(name) for artifact in self.outcome.artifacts for name in _artifact_names(artifact)}
        required = [artifact.path for artifact in self.station.artifacts if artifact.required]
        # An artifact may be reported by its path or by its name alone.
        gone = [path for path in required if path not in left and path.rpartition("/")[2] not in left]
        if gone:
            return tuple(ObservedOperand("artifact", None, path) for path in gone)
        if self.expected_result_kind != expected_results.OUTPUT or self.has_output or left:
            return ()
        return (ObservedOperand("output", [], "$"),)


def _artifact_names(artifact: Any) -> Iterator[Any]:
    """The names of one artifact; none if it could not be stored."""
    if type(artifact) is str:
        yield artifact
    elif type(artifact) is dict and not artifact.get("error"):
        yield from (artifact[key] for key in ("path", "name") if artifact.get(key))


def _fact_operand(path: str, value: Any) -> ObservedOperand:
    return ObservedOperand("fact", [value], path)


REMARKS: Final = (
    (OUTPUT, "refused", REFUSED),
    (OUTPUT, "unreadable", UNREADABLE),
    (OUTPUT, "empty", EMPTY),
    (OUTPUT, "signal", "signal_only"),
    ("agent", "error", "agent_error"),
)
"""Facts that a trace names where they decide nothing, too: group, key, and how it calls them."""


def undecisive_facts(judgement: OutcomeJudgement) -> Iterator[tuple[str, ObservedOperand]]:
    """Yield the facts that a trace names although they did not decide, each with its name."""
    for group, key, name in REMARKS:
        value = judgement.outcome.facts.get(group, {}).get(key)
        if value and name != judgement.by:
            yield name, _fact_operand(f"{group}.{key}", value)


def _over_budget_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    cost, limit = (
        judgement_input.observed_fact("usage", "cost_usd"),
        judgement_input.observed_fact("usage", "limit"),
    )
    if limit == OF_MONTH:  # which the line does not say, and the worker was told
        return (_fact_operand("usage.limit", limit),)
    if cost is None:
        return ()
    of_run, of_task = judgement_input.station.limits.cost_usd, judgement_input.line.limits.cost_usd
    stopped = (
        judgement_input.outcome.result == "failure" and judgement_input.outcome.failure_type == OVER_BUDGET
    )
    if stopped and (of_run is not None or of_task is not None):  # by its worker, or by itself on its limit
        return (_fact_operand("usage.cost_usd", cost),)
    if of_run is not None and exact_amount(cost) > exact_amount(of_run):
        return (_fact_operand("usage.cost_usd", cost),)
    # What all runs of the task reported, this one included (law §13)
    if of_task is not None and exact_amount(cost) + exact_amount(judgement_input.spent) > exact_amount(
        of_task
    ):
        return (_fact_operand("usage.cost_usd", cost), ObservedOperand("spent", judgement_input.spent))
    return ()


def _no_provider_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    answered = judgement_input.observed_fact("agent", "provider")
    return (_fact_operand("agent.provider", answered),) if answered == "unavailable" else ()


def _no_final_event_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    return (
        (_fact_operand("agent.final_event", False),)
        if judgement_input.observed_fact("agent", "final_event") is False
        else ()
    )


def _denied_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    denied = judgement_input.observed_fact("commands", "denied")
    lacking = judgement_input.missing_results or (
        judgement_input.unchanged_evidence if judgement_input.expected_result_kind == CHANGE else ()
    )
    return (_fact_operand("commands.denied", denied), *lacking) if denied and lacking else ()


def _refused_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    return judgement_input.deciding_output_fact("refused", REFUSED)


def _unreadable_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    """Hold only if nothing of it could be read: what was read beside it counts."""
    return (
        () if judgement_input.has_output else judgement_input.deciding_output_fact("unreadable", UNREADABLE)
    )


def _empty_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    return judgement_input.deciding_output_fact("empty", EMPTY)


def _nothing_done_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    return judgement_input.unchanged_evidence if judgement_input.expected_result_kind == CHANGE else ()


def _output_missing_evidence(judgement_input: JudgementInput) -> tuple[ObservedOperand, ...]:
    return judgement_input.missing_results


ORDER: Final[tuple[tuple[str, Callable[[JudgementInput], tuple[ObservedOperand, ...]]], ...]] = (
    # In the order of law §13; the first is asked even of what was no work.
    (OVER_BUDGET, _over_budget_evidence),
    (NO_PROVIDER, _no_provider_evidence),
    (NO_FINAL_EVENT, _no_final_event_evidence),
    (DENIED, _denied_evidence),
    (REFUSED, _refused_evidence),
    (UNREADABLE, _unreadable_evidence),
    (EMPTY, _empty_evidence),
    (NOTHING_DONE, _nothing_done_evidence),
    (OUTPUT_MISSING, _output_missing_evidence),
)
"""For each entry, the facts that make it hold."""


def exact_amount(amount: Any) -> Decimal:
    """Money exactly as written: 0.1 is 0.1."""
    return Decimal(str(amount or 0))


def outcome_cost_or_none(outcome: Mapping[str, Any]) -> Decimal | None:
    """The cost in a stored outcome; None without a price."""
    cost = ((outcome.get("facts") or {}).get("usage") or {}).get("cost_usd")
    return None if cost is None else exact_amount(cost)
