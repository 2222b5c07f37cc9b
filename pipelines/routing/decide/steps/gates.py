"""Gates inside a decision: votes and automatic checks (law §6), at a station or on a rule."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.decisions import Ask, DecisionAnswer, Finish, Wait
from pipelines.routing.decide.sampling import DRAWS, NOT_DRAWN, UNKNOWN
from pipelines.routing.decide.situation import GateWord
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute, demanded_route
from pipelines.routing.decide.steps.targets import TransitionCandidate, decision_to_enter_unless_obstructed
from pipelines.routing.document import checks
from pipelines.routing.document.checks import Read
from pipelines.routing.document.gate_tools import FAIL, WARN
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.operand_trace import ObservedOperand
from pipelines.routing.document.rules import Rule

RANK = ("abort", "reject", "rework", "send_back")
"""If several words were said, the first in this list decides; then the order of the gates."""


def decision_of_first_objection_or_none(
    routing: RoutingContext, step: str, gates: Sequence[Gate], rule: Rule | None
) -> DecisionAnswer | TakenRoute | None:
    """Return where the first vote other than approve leads. It decides at once, before targets and checks."""
    spoken = [
        (gate, word)
        for gate in gates
        if (word := _counting_word_or_none(routing, step, gate, rule)) is not None
    ]
    # By the word and not by the gate: the stronger one decides, wherever it was said
    for decision in RANK:
        for gate, word in spoken:
            if word.decision == decision:
                routing.add_trace_entry(step, rule, False, f"{gate.key}: {decision}")
                return _decision_after_word(routing, gate, word, rule)
    return None


def _counting_word_or_none(
    routing: RoutingContext, step: str, gate: Gate, rule: Rule | None
) -> GateWord | None:
    """The word other than approve that counts here. Words at a skipped gate, words that were already applied, and a
    send back beyond the allowed rounds do not count."""
    word = routing.facts.gates.get(gate.key)
    if (
        word is None
        or word.decision in (None, "approve")
        or gate.mode == "skip"
        or gate.key in routing.spoken
    ):
        return None
    # The engine refuses such a word (law §12); one that is here all the same counts for nothing.
    if word.decision == "send_back" and routing.facts.rounds.get(gate.key, 0) >= gate.approval.max_rounds:
        routing.add_trace_entry(
            step, rule, False, f"{gate.key}: no round is left to send back, the word is refused"
        )
        return None
    return word


def _decision_after_word(
    routing: RoutingContext, gate: Gate, word: GateWord, rule: Rule | None
) -> DecisionAnswer | TakenRoute:
    if word.decision == "reject":
        return _decision_after_rejection(routing, gate, word, rule)
    if word.decision == "rework":
        return demanded_route(routing, rule, word.reason, word_at=gate.key)
    if word.decision == "send_back":
        return _decision_to_enter_station(routing, routing.station.key, word, rule)
    return rejected_finish(rule)


def _decision_after_rejection(
    routing: RoutingContext, gate: Gate, word: GateWord, rule: Rule | None
) -> DecisionAnswer:
    knob = gate.on_reject or routing.line.policy.on_reject
    if knob == "reviewer_chooses":
        # check_situation guarantees that a route is named.
        knob = word.route if word.route in ("fail", "rework") else f"route:{word.route}"
    if knob == "fail":
        return rejected_finish(rule)
    # `rework` here runs the producing station again; no rule is asked (law §5).
    target = routing.station.key if knob == "rework" else knob.removeprefix("route:")
    return _decision_to_enter_station(routing, target, word, rule)


def _decision_to_enter_station(
    routing: RoutingContext, station: str, word: GateWord, rule: Rule | None
) -> DecisionAnswer:
    return decision_to_enter_unless_obstructed(
        routing, TransitionCandidate((station,), "gate", rule, feedback=word.reason)
    )


def rejected_finish(rule: Rule | None) -> Finish:
    return Finish("failed", "failed", rule.id if rule else None, "gate")


def is_approved(routing: RoutingContext, gate: Gate) -> bool:
    word = routing.facts.gates.get(gate.key)
    return word is not None and word.decision == "approve"


def gates_not_passed_by_word(
    routing: RoutingContext, step: str, gates: Sequence[Gate], rule: Rule | None
) -> list[Gate]:
    """Return the gates except those at which a person demanded this route: they are passed (law §12)."""
    for gate in gates:
        if gate.key in routing.spoken:
            routing.add_trace_entry(step, rule, True, f"{gate.key}: passed, the word was said there")
    return [gate for gate in gates if gate.key not in routing.spoken]


def worst_action_of_checks(
    routing: RoutingContext, step: str, gate: Gate, rule: Rule | None, read: Read
) -> str:
    """The worst action that the checks of a gate ask for; under `manual` they are shown and ask for nothing."""
    if gate.checks is None or gate.mode == "skip":
        routing.add_trace_entry(
            step, rule, True, f"{gate.key}: {'skipped' if gate.mode == 'skip' else 'no checks'}"
        )
        return "proceed"
    verdict = checks.evaluate_group(gate.checks, read)
    action = verdict.action if gate.enforces_checks else "proceed"
    note = "" if gate.enforces_checks else ", shown only"
    routing.add_trace_entry(
        step, rule, action == "proceed", f"{gate.key}: {verdict.action}{note}", verdict.results
    )
    return action


def needs_person(routing: RoutingContext, step: str, gate: Gate, action: str, rule: Rule | None) -> bool:
    """Return whether a person still has to decide: people are asked about this task or a check holds it, and
    nobody has approved."""
    if is_approved(routing, gate):
        return False
    # A check that holds asks people, whatever was drawn and whatever approval stands.
    if action == "hold":
        return True
    return (
        gate.has_people
        and not _approval_stands(routing, step, gate, rule)
        and _is_sampled(routing, step, gate, rule)
    )


def _approval_stands(routing: RoutingContext, step: str, gate: Gate, rule: Rule | None) -> bool:
    """Return whether an earlier approval here stays valid for the same change on a base that moved (law §15):
    by the same rule, and with no check of the gate that objects, not even one that is only displayed."""
    stands = routing.facts.stands.get(gate.key)
    if stands is None or stands.rule != (rule.id if rule else ""):
        return False
    if gate.checks is not None:
        verdict = checks.evaluate_group(gate.checks, routing.check_field_reader([gate.key]))
        if verdict.action != "proceed":
            routing.add_trace_entry(
                step, rule, False, f"{gate.key}: same change: {verdict.action}", verdict.results
            )
            return False
    comparison = f"{stands.approved[:7]} was approved, {stands.tree[:7]} is the same on the moved branch"
    routing.add_trace_entry(step, rule, True, f"{gate.key}: same change: {comparison}")
    return True


def _is_sampled(routing: RoutingContext, step: str, gate: Gate, rule: Rule | None) -> bool:
    """Return whether a gate that asks about a sample asks about this task (law §15). Without a draw it does;
    a check of `always` that cannot be read is also a reason to ask."""
    if gate.sample is None:
        return True
    draw = routing.facts.samples.get(gate.key, UNKNOWN)
    always_asks, results = checks.is_reason_to_ask_with_results(
        gate.sample.always, routing.check_field_reader([gate.key])
    )
    saw = tuple(
        ObservedOperand(result.check.field, None if result.saw is MISSING else result.saw)
        for result in results
    )
    is_sampled = always_asks or draw != NOT_DRAWN
    why = "a check always asks" if always_asks else DRAWS[draw] % gate.sample.one_in
    routing.add_trace_entry(step, rule, not is_sampled, f"{gate.key}: sample: {why}", saw)
    return is_sampled


def pending_tool_decision_or_none(
    routing: RoutingContext, step: str, gates: Sequence[Gate], rule: Rule | None
) -> DecisionAnswer | None:
    """The first tool without a known result, which has to be run; None if all are known."""
    for gate in gates:
        if gate.tool is None or not gate.runs_its_tool:
            continue
        question = gate.tool.question(gate.key)
        answer = routing.answers_by_question.get(question.key)
        if answer is None:
            routing.add_trace_entry(step, rule, "ask", f"{gate.key}: its tool is run")
            return Ask(question.to_dict())
        # Nothing passes by what is no answer: a person looks at it (law §3)
        if not answer.is_valid_word:
            routing.add_trace_entry(step, rule, "ask", f"{gate.key}: its tool has no result")
            return Wait("blocked", evaluation=question.to_dict())
    return None


def tool_action_and_text(
    routing: RoutingContext, step: str, gate: Gate, rule: Rule | None
) -> tuple[str, str | None]:
    """The action that the result asks for, and its text if it failed. Under `manual` a result is only shown."""
    tool = gate.tool
    if tool is None:
        return "proceed", None
    if not gate.runs_its_tool:
        routing.add_trace_entry(step, rule, True, f"{gate.key}: its tool is switched off")
        return "proceed", None
    answer = routing.answers_by_question[tool.question(gate.key).key]
    tool_action = {FAIL: tool.action, WARN: "proceed" if tool.approve_warnings else "hold"}.get(
        answer.word, "proceed"
    )
    action = tool_action if gate.mode != "manual" else "proceed"
    note = "" if action == tool_action else ", shown only"
    routing.add_trace_entry(step, rule, action == "proceed", f"{gate.key}: its tool says {answer.word}{note}")
    return action, answer.text if answer.word == FAIL else None


STATION_GATE = "station_gate"


def route_past_station_gate(
    routing: RoutingContext, then: TakenRoute, *, people_only: bool = False
) -> DecisionAnswer | TakenRoute:
    """`then` if there is no station gate, or the token passes it; else what the gate leads to.

    `people_only`: after a `proceed` signal only the human step is kept, if the gate has one.
    """
    if routing.station.gate is None:
        routing.gate_passed = True
        return then
    gate = routing.line.gate(routing.station.gate)
    if people_only and not gate.has_people:
        routing.add_trace_entry(STATION_GATE, None, True, f"{gate.key}: passed by the signal")
        # No check was asked, so only a gate that is skipped anyhow counts as passed (law §8).
        routing.gate_passed = gate.mode == "skip"
        return then
    against = decision_of_first_objection_or_none(routing, STATION_GATE, [gate], None)
    if against is not None:
        routing.passing_revoked = True
        return against
    # Law §5, step 5: after `proceed` no check and no tool is asked.
    action, text = "proceed", None
    if not people_only:
        tool_question = pending_tool_decision_or_none(routing, STATION_GATE, [gate], None)
        if tool_question is not None:
            return tool_question
        by_tool, text = tool_action_and_text(routing, STATION_GATE, gate, None)
        by_checks = worst_action_of_checks(
            routing, STATION_GATE, gate, None, routing.check_field_reader([gate.key])
        )
        # `outcome_of: review` asks a person at this gate (law §13).
        fact_action = "hold" if routing.judged.needs_review and gate.mode != "skip" else "proceed"
        # The worst wins, in the order abort, rework, hold, proceed (law §5, step 5).
        action = checks.worst_action([by_checks, by_tool, fact_action])
    # What a check of the station gate takes back did not pass (law §14).
    routing.passing_revoked = action in ("abort", "rework")
    if action == "abort":
        return rejected_finish(None)
    if action == "rework":
        return demanded_route(routing, None, text)
    if needs_person(routing, STATION_GATE, gate, action, None):
        routing.add_trace_entry(STATION_GATE, None, False, f"waits for {gate.key}")
        return Wait("awaiting_review", (gate.key,))
    routing.passed.add(gate.key)
    # After `proceed` only people passed it: not enough where checks or a tool count (law §8).
    routing.gate_passed = not people_only or not (gate.enforces_checks or gate.runs_its_tool)
    return then
