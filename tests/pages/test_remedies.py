"""Every remedy that the canvas offers takes its finding away, and makes nothing worse: applied, and looked at again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pipelines.routing.guarantees.refutation import Refuter
from pipelines.web.editor.findings import draft_findings
from tests.factories import World, document, station
from tests.pages.applying import applied

pytestmark = pytest.mark.django_db

OK = {"result": "success"}
FAILED = {"result": "failure"}
HIGH = {"output": {"path": "high", "op": "gt", "value": 0}}
ASK = {
    "key": "ask",
    "approval": {"who": [{"role": "reviewer", "count": 1}], "requester_may": True, "producer_may": True},
}


def rule(name: str, to: Any = "ship", when: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": name, **({} if when is None else {"when": when}), "to": to, **more}


def line(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Stations build and ship; build has these rules."""
    return document([station("build", *rules), "ship"], **more)


BAD = rule("bad", "repair")


def rejected(bad: dict[str, Any], word: str = "reject", policy: Any = None, **gate: Any) -> dict[str, Any]:
    """Nothing is to reach ship once the gate before it has said the word; from repair a task goes on to ship."""
    return document(
        [
            station("build", rule("on", "ship", OK, gates=["ask"]), bad),
            station("repair", rule("repaired", "ship")),
            station("ship", rule("shipped", "completed")),
        ],
        gates=[{**ASK, "offers": ["approve", "send_back", "reject"], **gate}],
        guarantees=[{"id": "none", "never": {"reach": "ship"}, "after": {"gate": "ask", "word": word}}],
        policy=policy or {},
    )


STUCK = {"policy": {"no_match": "stuck"}}
GATED = {"gates": [ASK]}
FORKED = [
    station("plan", rule("both", ["qa", "security"])),
    station("qa", rule("tested", "release")),
    station("security", rule("secured", "release")),
]
REPAIR = station("repair", rule("repaired", "testing"), stage="testing")
TESTING = station("testing", rule("good", "release", OK), rule("bad", "repair", max_retries=3))
RELEASE = station("release", rule("out", "completed"))
BROKEN: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "branches that meet without a join": (
        "unjoined-fork",
        document([*FORKED, RELEASE]),
        ["Wait for both"],
    ),
    "three branches that meet without a join": (
        "unjoined-fork",
        document(
            [
                station("plan", rule("all", ["qa", "security", "docs"])),
                *FORKED[1:],
                station("docs", rule("written", "release")),
                RELEASE,
            ]
        ),
        ["Wait for all 3"],
    ),
    "a join that waits for a deleted station": (
        "not-publishable",
        document([*FORKED, {**RELEASE, "join": {"wait_for": ["qa", "gone"], "aggregation": "any-pass"}}]),
        ["Wait for both"],
    ),
    "a join that waits for a station that leads elsewhere": (
        "unfillable-join",
        document([*FORKED, {**RELEASE, "join": {"wait_for": ["qa", "plan"]}}]),
        ["Wait for both"],
    ),
    "rework below its stage": (
        "rework-below",
        document([station("plan", rule("on", "testing")), TESTING, RELEASE, REPAIR]),
        ["Move above testing"],
    ),
    "rework below its stage, which is the first": (
        "rework-below",
        document([TESTING, RELEASE, REPAIR]),
        ["Move above testing"],
    ),
    "rework below its stage, to which the order of the line leads": (
        "rework-below",
        document(["plan", TESTING, RELEASE, REPAIR]),
        [],
    ),
    "dead, moved above the rule that takes it": (
        "dead-rule",
        line(rule("all", when=OK), rule("high", when={"all": [OK, HIGH]}), rule("rest", "failed")),
        ["Move above 1", "Delete"],
    ),
    "dead only together, moved above the first of them": (
        "dead-rule",
        line(rule("ok", when=OK), rule("bad", "failed", {"not": OK}), rule("high", "failed", HIGH)),
        ["Move above 1", "Delete"],
    ),
    "dead, and the only one that asks a person": (
        "dead-rule",
        line(rule("all"), rule("asked", gates=["ask"]), **GATED),
        ["Delete rule 1, keep ask", "Delete with its gate ask"],
    ),
    "dead, and another gate keeps everything from it": (
        "dead-rule",
        line(rule("all", gates=["ask"]), rule("asked", gates=["other"]), gates=[ASK, {**ASK, "key": "other"}]),
        ["Delete with its gate other"],
    ),
    "dead, and the only way to where it leads": (
        "dead-rule",
        line(rule("ok", "completed", OK), rule("high", when={"all": [OK, HIGH]}), rule("rest", "failed")),
        ["Move above 1", "Delete"],
    ),
    "dead, and where it leads goes round for ever": (
        "dead-rule",
        document(
            [
                station("build", rule("ok", "completed", OK), rule("high", "ship", {"all": [OK, HIGH]})),
                station("ship", rule("round", "fix")),
                station("fix", rule("and-round", "ship")),
            ]
        ),
        ["Delete"],
    ),
    "dead twins: neither may kill the other": (
        "dead-rule",
        line(rule("one", when=OK), rule("two", "failed", OK), rule("rest", "failed")),
        ["Delete"],
    ),
    "dead, and alive it would close a cycle": (
        "dead-rule",
        document(
            [
                station("build", rule("on")),
                station("ship", rule("done", "completed", OK), rule("back", "build", {"all": [OK, HIGH]})),
            ]
        ),
        ["Move above 1, at most 3 times", "Delete"],
    ),
    "never true": (
        "constant-condition",
        line(rule("never", when={"all": [OK, {"not": OK}]}), rule("rest")),
        ["Delete"],
    ),
    "always true, at the end": (
        "constant-condition",
        line(rule("bad", "failed", FAILED), rule("every", when={"any": [OK, {"not": OK}]})),
        ["Take whatever is left"],
    ),
    "a rule without a condition in the middle": (
        "default-not-last",
        line(rule("all"), rule("bad", "failed", FAILED)),
        ["Move to the end"],
    ),
    "past the gate": (
        "shadowed-gate",
        line(rule("high", when=HIGH), rule("ok", when=OK, gates=["ask"]), rule("rest", "failed"), **GATED),
        ["Put the gate on rule 1, too"],
    ),
    "what passed is taken by no rule": (
        "no-rule-takes",
        line(rule("high", when={"all": [OK, HIGH]}), rule("bad", "failed", {"not": OK}), **STUCK),
        ["Add a rule to ship"],
    ),
    "what failed is taken by no rule": (
        "no-rule-takes",
        line(rule("ok", when={"all": [OK, {"verdict": "pass"}]})),
        ["Add a rule to the end “failed”"],
    ),
    "what is blocked is taken by no rule": (
        "no-rule-takes",
        line(
            rule("some", "failed", {"all": [{"result": "blocked"}, HIGH]}),
            rule("rest", when={"not": {"any": [{"result": "blocked"}, {"verdict": "blocked"}]}}),
        ),
        ["Add a rule that waits for an answer"],
    ),
    "a station that nothing leads to": (
        "unreachable-station",
        document([station("build", rule("done", "completed")), "ship"]),
        ["Delete the station"],
    ),
    "a cycle without a budget": (
        "unbounded-cycle",
        document(
            [
                station("build", rule("on")),
                station("ship", rule("ok", "completed", OK), rule("again", "build"), limits={"expected": "5m"}),
            ]
        ),
        ["At most 10 runs of build"],
    ),
    "two cycles through each other": (
        "unbounded-cycle",
        document(
            [
                station("build", rule("on", "test")),
                station("test", rule("on-2", "ship", OK), rule("back", "build")),
                station("ship", rule("ok", "completed", OK), rule("back-2", "test")),
            ]
        ),
        ["At most 10 runs of build, test"],
    ),
    "no way to an end": (
        "no-way-to-an-end",
        document(
            [station("build", rule("again", "build", HIGH, max_retries=2))],
            policy={"no_match": "stuck", "on_failure": "stuck"},
        ),
        ["Add a rule to the end “completed”"],
    ),
    "a target that is not there": (
        "unknown-reference",
        line(rule("on", "shipp", OK), rule("bad", "failed", FAILED), rule("rest")),
        ["Lead to ship", "Add the end “shipp”", "Delete the rule"],
    ),
    "a branch that is not there": (
        "unknown-reference",
        line(rule("on", ["ship", "gone"])),
        ["Take “gone” out of the fork"],
    ),
    "a gate that is not there": (
        "unknown-reference",
        line(rule("on", gates=["look"])),
        ["Take the gate off the rule", "Add the gate “look”"],
    ),
    "a gate that nobody can approve": (
        "unsatisfiable-gate",
        line(rule("on", gates=["ask"]), gates=[{**ASK, "offers": ["reject"]}]),
        ["Offer approve"],
    ),
    "a condition that asks, switched off": (
        "not-publishable",
        line(rule("on", when={"agentic": {"question": "Good?"}, "answer": "yes"}), rule("rest")),
        ["Switch them on in this line"],
    ),
    "no rules, where the policy wants some": (
        "not-publishable",
        document([station("build", rule("on")), "ship"], policy={"no_rules": "refuse"}),
        ["Add a rule to Completed"],
    ),
    "a start that is gone": ("not-publishable", line(start="gone"), ["Start at the first station"]),
    "a station gate that is gone": (
        "not-publishable",
        document([station("build", gate="gone")]),
        ["Take the gate off the station"],
    ),
    "a way out of a budget to what is gone": (
        "not-publishable",
        line(rule("on", max_retries=2, on_exhausted={"to": "gone"})),
        ["Leave what happens then to the line's policy"],
    ),
    "a gate after whose rejection what must not be is reached": (
        "broken-guarantee",
        rejected(BAD, on_reject="route:repair"),
        ["End the task"],
    ),
    "the same where the line's policy says what follows": (
        "broken-guarantee",
        rejected(BAD, policy={"on_reject": "route:repair"}),
        ["End the task"],
    ),
    "a rejection that alone leads to a station": (
        "broken-guarantee",
        rejected(rule("bad", "failed"), on_reject="route:repair"),
        [],
    ),
    "another word than a rejection": ("broken-guarantee", rejected(BAD, word="send_back"), []),
    "a key that nobody reads": ("not-publishable", line(rule("on", wen=OK)), ["Remove “wen”"]),
    "a key of the line that nobody reads": ("not-publishable", line(colour="red"), ["Remove “colour”"]),
    "a knob that nobody knows": (
        "not-publishable",
        line(policy={"no_match": "dance"}),
        ["Use the preset"],
    ),
    "a pair of which one is gone": (
        "not-publishable",
        line(forbidden_parallel=[["build", "gone"]]),
        ["Remove the pair"],
    ),
}  # fmt: skip


def grave(told: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    found = (f for f in told["findings"] if f["severity"] != "info")
    return Counter((f["check"], f["station"], f["rule"], f["gate"]) for f in found)


@pytest.mark.parametrize("name", BROKEN)
def test_a_remedy_takes_its_finding_away_and_makes_nothing_worse(world: World, name: str) -> None:
    check, broken, labels = BROKEN[name]
    people = world.reviewers(2)
    assert people
    before = draft_findings(broken, world.project)
    finding = next(f for f in before["findings"] if f["check"] == check)
    assert [remedy["label"] for remedy in finding["remedies"]] == labels
    for remedy in finding["remedies"]:
        after = draft_findings(applied(broken, remedy["edits"]), world.project)
        same = [f for f in after["findings"] if (f["check"], f["path"]) == (check, finding["path"])]
        assert finding["message"] not in [f["message"] for f in after["findings"]], remedy
        assert not [f for f in same if f["rule"] == finding["rule"] and f["rule"]], remedy
        assert not grave(after) - grave(before), remedy


def fixes_of_guarantees(project: Any, guarantees: list[dict[str, Any]]) -> dict[str, list[str]]:
    """By the path of each refuted guarantee: what its remedies are called."""
    broken = {**rejected(BAD, on_reject="route:repair"), "guarantees": guarantees}
    found = draft_findings(broken, project)["findings"]
    return {
        each["path"]: [remedy["label"] for remedy in each["remedies"]]
        for each in found
        if each["check"] == "broken-guarantee"
    }


AFTER_REJECT = {"after": {"gate": "ask", "word": "reject"}}
SHIPS = {"id": "ships", "never": {"reach": "ship"}, **AFTER_REJECT}


def test_every_guarantee_that_one_gate_breaks_has_its_fix(world: World) -> None:
    assert world.reviewers(2)
    repaired = {"id": "repaired", "never": {"reach": "repair"}, **AFTER_REJECT}
    completed = {"id": "completed", "never": {"reach": "completed"}, **AFTER_REJECT}
    assert fixes_of_guarantees(world.project, [SHIPS, repaired, completed]) == {
        f"guarantees[{index}]": ["End the task"] for index in range(3)
    }


def test_ending_the_task_searches_for_no_path_that_breaks_another_guarantee(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.reviewers(2)
    searched: list[str] = []
    find = Refuter.find_refutation

    def counted(self: Refuter, guarantee: Any, near: Any) -> Any:
        searched.append(guarantee.id)
        return find(self, guarantee, near)

    monkeypatch.setattr(Refuter, "find_refutation", counted)
    found = fixes_of_guarantees(world.project, [SHIPS, {"id": "moves", "ends_within": 1}])
    assert found["guarantees[0]"] == ["End the task"]
    assert searched == ["ships", "moves"]


def test_what_no_rule_takes_comes_with_an_example_what_happens_then_and_a_rule_for_it(world: World) -> None:
    of = line(rule("bad", "failed", {"not": OK}), rule("high", when={"all": [OK, HIGH]}))
    told = draft_findings(of, world.project)["untaken"]["build"]
    passed = next(each for each in told if each["outcomes"] == "passed")
    assert passed["example"] == "{result: success}"
    assert passed["then"] == "the policy sends the task to ship"
    after = draft_findings(applied(of, passed["remedies"][0]["edits"]), world.project)
    assert "passed" not in [each["outcomes"] for each in after["untaken"].get("build", [])]


def test_a_dead_rule_is_shown_with_an_outcome_that_it_would_take(world: World) -> None:
    told = draft_findings(BROKEN["dead, moved above the rule that takes it"][1], world.project)
    assert told["rules"]["high"]["example"] == "{result: success, output: {high: 1}}"
    assert "1" in told["rules"]["high"]["why"]


def test_an_edit_of_what_is_gone_meanwhile_changes_nothing() -> None:
    given = line(rule("on"))
    for edit in (
        {"do": "moveRule", "rule": "gone", "before": "on"},
        {"do": "removeRule", "rule": "gone"},
        {"do": "changeRule", "rule": "gone", "set": {"to": "x"}, "unset": []},
        {"do": "removeStation", "station": "gone"},
        {"do": "moveStation", "station": "gone", "before": "build"},
        {"do": "moveStation", "station": "ship", "before": "gone"},
        {"do": "addRule", "station": "gone", "rule": {"id": "new", "to": "ship"}},
    ):
        assert applied(given, [edit]) == given


def test_every_rule_added_has_an_id_of_its_own() -> None:
    given = line(rule("on"))
    edit = {"do": "addRule", "station": "build", "rule": {"id": "on", "to": "ship"}}
    rules = applied(given, [edit, edit])["stations"][0]["rules"]
    assert [each["id"] for each in rules] == ["on", "on-2", "on-3"]
