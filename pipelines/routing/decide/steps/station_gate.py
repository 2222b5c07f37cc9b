"""Step 5 of law §5: the gate of the station, before any rule is tested."""

from __future__ import annotations

from pipelines.routing.decide.decisions import Decision, Wait
from pipelines.routing.decide.steps import gates, tools
from pipelines.routing.decide.steps.context import Case, TakenRoute, demanded
from pipelines.routing.document import checks

STEP = "station_gate"


def after_station_gate(case: Case, then: TakenRoute, *, people_only: bool = False) -> Decision | TakenRoute:
    """`then` if there is no station gate, or the token passes it; else what the gate leads to.

    `people_only`: after a `proceed` signal only the human step is kept, if the gate has one.
    """
    if case.station.gate is None:
        case.gate_passed = True
        return then
    gate = case.line.gate(case.station.gate)
    if people_only and not gate.has_people:
        case.note(STEP, None, True, f"{gate.key}: passed by the signal")
        case.gate_passed = gate.mode == "skip"
        return then
    against = gates.word_against(case, STEP, [gate], None)
    if against is not None:
        case.passing_revoked = True
        return against
    action, text = "proceed", None
    if not people_only:
        asked = tools.unrun(case, STEP, [gate], None)
        if asked is not None:
            return asked
        by_tool, text = tools.action_of(case, STEP, gate, None)
        by_checks = gates.run_checks(case, STEP, gate, None, case.reader([gate.key]))
        fact_action = "hold" if case.judged.review and gate.mode != "skip" else "proceed"
        action = checks.worst([by_checks, by_tool, fact_action])
    case.passing_revoked = action in ("abort", "rework")
    if action == "abort":
        return gates.failed(None)
    if action == "rework":
        return demanded(case, None, text)
    if gates.asks(case, STEP, gate, action, None):
        case.note(STEP, None, False, f"waits for {gate.key}")
        return Wait("awaiting_review", (gate.key,))
    case.passed.add(gate.key)
    case.gate_passed = not people_only or not (gate.enforces_checks or gate.runs_its_tool)
    return then
