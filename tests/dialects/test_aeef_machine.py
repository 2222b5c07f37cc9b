"""AEEF E2 to E13: the states and the ways between them, also of the line of the demo. No database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.formats import native
from pipelines.lines.demo import example
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.document.publishable import publishing_problems
from tests.dialects.aeef import FAILS, HANDOFF, OWNERS, REWORKS, STAGES, machine, owned
from tests.routing.support import decided, goes

PASS, FAIL = ({"verdict": verdict, "handoff": HANDOFF} for verdict in ("pass", "fail"))


@pytest.fixture(scope="module")
def aeef() -> ParsedLine:
    return read_line(machine())


def ways(of: ParsedLine, station: str) -> set[str]:
    return {target for rule in of.station(station).rules for target in rule.to}


def after(of: ParsedLine, station: str, outcome: dict[str, Any], **facts: Any) -> str:
    """Where this outcome leads."""
    answer = decided(of, outcome, station, **facts)
    return answer["end"] if answer["decision"] == "finish" else "+".join(answer["to"])


def failed(failure: str | None) -> dict[str, Any]:
    return {**FAIL, "failure_type": failure} if failure else FAIL


def test_E2_the_machine_has_these_states_and_may_be_published(aeef: ParsedLine) -> None:
    assert [station.key for station in aeef.stations if station.key in STAGES] == list(STAGES)
    assert {end.key for end in aeef.ends} == {"deployed", "rolled_back"}
    assert publishing_problems(aeef) == ()


def test_E2_a_state_is_entered_only_while_its_owner_can_take_it() -> None:
    of = read_line(owned())
    assert {key: of.station(key).agent for key in OWNERS} == OWNERS
    answer = decided(of, PASS, "intake")
    assert (answer["status"], answer["missing"]) == ("held", ["agent:product-agent"])
    free = {"product-agent": {"state": "available", "free": 1}}
    assert goes(of, PASS, station="intake", agents=free) == "move requirements by rule intake-pass"


def test_E2_a_state_with_two_owners_is_entered_only_while_both_are_available() -> None:
    document = owned()
    requirements = next(each for each in document["stations"] if each["key"] == "requirements")
    requirements["second_agent"] = "scrum-agent"
    of = read_line(document)
    first = {"product-agent": {"state": "available", "free": 1}}
    answer = decided(of, PASS, "intake", agents=first)
    assert (answer["status"], answer["missing"]) == ("held", ["agent:scrum-agent"])
    for state in ("suspended", "no_contract"):
        kept = {**first, "scrum-agent": {"state": state}}
        assert decided(of, PASS, "intake", agents=kept)["missing"] == ["agent:scrum-agent"]
    busy = {**first, "scrum-agent": {"state": "available", "free": 0}}
    assert goes(of, PASS, station="intake", agents=busy) == "move requirements by rule intake-pass"


def test_E2_the_demo_names_both_owners_of_a_state(demo: ParsedLine) -> None:
    both = {station.key: station.agents for station in demo.stations if station.second_agent}
    assert both == {
        "rollback": ("ops-agent", "platform-agent"),
        "requirements": ("product-agent", "scrum-agent"),
        "operations": ("ops-agent", "executive-agent"),
    }


def test_E3_each_stage_has_its_rework_and_a_rollback_passes_on_to_its_end(aeef: ParsedLine) -> None:
    assert len(REWORKS) == 6
    assert all(aeef.station(rework) for rework in REWORKS.values())
    assert after(aeef, "rollback", PASS) == "rolled_back"
    assert goes(aeef, FAIL, station="rollback") == "finish rolled_back by rule rollback-done"


def test_E4_from_intake_only_requirements_is_reached(aeef: ParsedLine) -> None:
    assert ways(aeef, "intake") == {"requirements"}
    assert after(aeef, "intake", PASS) == "requirements"
    assert goes(aeef, FAIL, station="intake") == "escalate on_failure"


def test_E5_requirements(aeef: ParsedLine) -> None:
    assert (after(aeef, "requirements", PASS), after(aeef, "requirements", FAIL)) == ("design", "rework_req")


def test_E6_design(aeef: ParsedLine) -> None:
    assert (after(aeef, "design", PASS), after(aeef, "design", FAIL)) == ("implementation", "rework_design")


def test_E7_implementation(aeef: ParsedLine) -> None:
    assert (after(aeef, "implementation", PASS), after(aeef, "implementation", FAIL)) == (
        "testing",
        "rework_impl",
    )


@pytest.mark.parametrize(("failure", "to"), FAILS["testing"].items())
def test_E8_testing_passes_on_or_is_mended_where_its_failure_belongs(
    aeef: ParsedLine, failure: str, to: str
) -> None:
    assert after(aeef, "testing", PASS) == "security"
    assert after(aeef, "testing", failed(failure)) == to


@pytest.mark.parametrize(("failure", "to"), FAILS["security"].items())
def test_E9_security_passes_on_or_is_mended_where_its_failure_belongs(
    aeef: ParsedLine, failure: str, to: str
) -> None:
    assert after(aeef, "security", PASS) == "deployment"
    assert after(aeef, "security", failed(failure)) == to


def test_E10_deployment_passes_on_or_is_reworked(aeef: ParsedLine) -> None:
    assert after(aeef, "deployment", PASS) == "operations"
    assert after(aeef, "deployment", FAIL) == "rework_deploy"


def test_E11_operations_ends_deployed_or_rolls_back(aeef: ParsedLine) -> None:
    assert goes(aeef, PASS, station="operations") == "finish deployed by rule operations-stable"
    assert after(aeef, "operations", FAIL) == "rollback"


@pytest.mark.parametrize("stage", ["testing", "security", "implementation"])
def test_E12_a_rework_returns_to_the_stage_that_sent_it_there(aeef: ParsedLine, stage: str) -> None:
    assert after(aeef, "rework_impl", PASS, origin=stage) == stage
    assert goes(aeef, PASS, station="rework_impl") == "stuck NoOrigin rework_impl-done"


WAYS = {
    "intake": {"requirements"},
    "requirements": {"design", "rework_req"},
    "design": {"implementation", "rework_design"},
    "implementation": {"testing", "rework_impl"},
    "testing": {"security", "rework_impl", "rework_test", "rework_req"},
    "security": {"deployment", "rework_impl", "rework_sec"},
    "deployment": {"operations", "rework_deploy"},
    "operations": {"deployed", "rollback"},
}


@pytest.mark.parametrize(("stage", "expected"), WAYS.items())
def test_E13_no_way_leads_anywhere_else(aeef: ParsedLine, stage: str, expected: set[str]) -> None:
    types = {failure for failures in FAILS.values() for failure in failures} | {"strange"}
    taken = {
        after(aeef, stage, outcome) for outcome in (PASS, *map(failed, types)) if moves(aeef, stage, outcome)
    }
    assert taken == ways(aeef, stage) == expected


def moves(of: ParsedLine, stage: str, outcome: dict[str, Any]) -> bool:
    return decided(of, outcome, stage)["decision"] in ("move", "finish")


@pytest.mark.parametrize("stage", ["testing", "security"])
def test_E13_what_no_way_takes_is_refused_and_said(aeef: ParsedLine, stage: str) -> None:
    assert goes(aeef, failed("strange"), station=stage) == "escalate on_failure"


# The line of the demo, with the parallel path after Gate 3 (E24)

BACK = {"@origin"}
DEMO = {
    "rework-req": ("product-agent", None, BACK),
    "rework-req-of-testing": ("product-agent", None, {"testing"}),
    "rework-design": ("architect-agent", None, BACK),
    "rework-impl": ("developer-agent", None, BACK),
    "rework-test": ("qa-agent", None, BACK),
    "rework-sec": ("compliance-agent", None, BACK),
    "rework-deploy": ("platform-agent", None, BACK),
    "rollback": ("ops-agent", None, {"rolled-back"}),
    "intake": ("orchestrator", None, {"requirements"}),
    "requirements": ("product-agent", "gate_1", {"design", "rework-req"}),
    "design": ("architect-agent", "gate_2", {"implementation", "rework-design"}),
    "implementation": ("developer-agent", "gate_3", {"testing", "security", "compliance", "rework-impl"}),
    "testing": ("qa-agent", "gate_4", {"release", "rework-impl", "rework-test", "rework-req-of-testing"}),
    "security": ("security-agent", None, {"release", "rework-impl", "rework-sec"}),
    "compliance": ("compliance-agent", None, {"release", "rework-sec"}),
    "release": ("devmgr-agent", "gate_5", {"deployment"}),
    "deployment": ("platform-agent", "gate_6", {"operations", "rework-deploy"}),
    "operations": ("ops-agent", "gate_7", {"deployed", "rollback"}),
}
"""State → owner, gate, ways."""

TYPES = [
    ("testing", "test failure", "rework-impl"),
    ("testing", "test gap", "rework-test"),
    ("testing", "acceptance mismatch", "rework-req-of-testing"),
    ("security", "vulnerability", "rework-impl"),
    ("security", "license", "rework-impl"),
    ("security", "evidence gap", "rework-sec"),
    ("deployment", "configuration error", "rework-deploy"),
    ("deployment", "environment mismatch", "rework-deploy"),
    ("operations", "health check", "rollback"),
    ("operations", "critical incident", "rollback"),
]


@pytest.fixture(scope="module")
def demo() -> ParsedLine:
    return native.read_text((example.LINES / "aeef-delivery.yaml").read_bytes())


def test_E2_the_line_of_the_demo_has_every_state_with_its_owner_its_gate_and_its_ways(
    demo: ParsedLine,
) -> None:
    assert {each.key: (each.agent, each.gate, ways(demo, each.key)) for each in demo.stations} == DEMO
    assert all(each.limits.expected for each in demo.stations), "none is there for ever unnoticed (E22)"
    assert {end.label: end.kind for end in demo.ends} == {"DEPLOYED": "completed", "ROLLED_BACK": "failed"}


@pytest.mark.parametrize(("stage", "failure", "to"), TYPES)
def test_E16_the_line_of_the_demo_leads_each_type_of_failure_to_its_rework(
    demo: ParsedLine, stage: str, failure: str, to: str
) -> None:
    gate = demo.station(stage).gate
    approved = {gate: {"decision": "approve"}} if gate else {}
    for name in (failure, failure.replace(" ", "_")):
        assert after(demo, stage, failed(name), gates=approved) == to
    assert decided(demo, failed("strange"), stage, gates=approved)["decision"] == "escalate"


def test_E14_every_forward_move_of_the_demo_asks_for_gate_handoff_and_agent(demo: ParsedLine) -> None:
    ahead = [key for key in DEMO if "rework" not in key and key != "rollback"]
    assert all({"station_gate", "handoff", "agent"} <= set(demo.requirements_of(key)) for key in ahead)


def test_E24_E26_the_demo_joins_before_gate_5_and_keeps_apart_what_must_not_run_beside_each_other(
    demo: ParsedLine,
) -> None:
    join = demo.station("release").join
    assert join and (set(join.wait_for), join.aggregation) == (
        {"testing", "security", "compliance"},
        "all-pass",
    )
    assert {frozenset(pair) for pair in demo.forbidden_parallel} == {
        frozenset(pair)
        for pair in (
            ("requirements", "design"),
            ("design", "implementation"),
            ("security", "deployment"),
            ("compliance", "deployment"),
            ("deployment", "operations"),
        )
    }
