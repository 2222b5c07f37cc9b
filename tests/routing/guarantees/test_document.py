"""Guarantees in the document: what is wrong with one, where, and the round trip."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipelines.formats.schema import json_schema
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.routing.document.networks import document_to_publish
from pipelines.routing.guarantees.guarantee_proofs import REFUTED, prove_guarantees
from tests.routing.support import decided, document, line

GATES = [{"key": "g"}]
KINDS: list[dict[str, Any]] = [
    {"id": "p", "never": {"reach": "b", "without": "g"}},
    {"id": "p", "never": {"reach": "completed", "without": "a"}},
    {"id": "p", "never": {"reach": "g", "without": "a"}},
    {"id": "p", "after": {"gate": "g", "word": "send_back"}, "never": {"reach": "b"}},
    {"id": "p", "at_most": {"visit": "a", "times": 3}},
    {"id": "p", "ends_within": 12},
    {"id": "p", "cost_at_most": "41.50"},
]


@pytest.mark.parametrize("said", KINDS)
def test_every_form_reads_back_as_it_was_written(said: dict[str, Any]) -> None:
    of = document({}, {}, gates=GATES, guarantees=[said])
    assert read_line(of).to_document()["guarantees"] == [said]
    assert Draft202012Validator(json_schema()).is_valid(of)


NONE = "(known: never, at_most, ends_within, cost_at_most)"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, f"guarantees[0].never: says nothing {NONE}"),
    (
        {"ends_within": 2, "cost_at_most": "1"},
        f"guarantees[0].cost_at_most: says what it promises in exactly one form {NONE}",
    ),
    ({"never": {"reach": "b"}}, "guarantees[0].never: names what has to come before, as `without`"),
    (
        {"never": {"reach": "b", "without": "a"}, "after": {"gate": "g", "word": "reject"}},
        "guarantees[0].never: has no `without` where `after` says when",
    ),
    (
        {"ends_within": 3, "after": {"gate": "g", "word": "reject"}},
        "guarantees[0].after: goes with never only",
    ),
    (
        {"never": {"reach": "bb", "without": "a"}},
        "guarantees[0].never.reach: the line has no station, end or gate “bb” (did you mean b?)",
    ),
    (
        {"never": {"reach": "b", "without": "completed"}},
        "guarantees[0].never.without: the line has no station or gate “completed”",
    ),
    (
        {"after": {"gate": "g", "word": "approve"}, "never": {"reach": "b"}},
        "guarantees[0].after.word: “approve” is not known",
    ),
    ({"at_most": {"visit": "g", "times": 1}}, "guarantees[0].at_most.visit: the line has no station “g”"),
    ({"at_most": {"visit": "a", "times": -1}}, "guarantees[0].at_most.times: "),
    ({"ends_within": 0}, "guarantees[0].ends_within: "),
    (
        {"cost_at_most": "cheap"},
        'guarantees[0].cost_at_most: has to be an amount in dollars, as a text (such as "41.50")',
    ),
    ({"ends_within": 3, "often": 1}, "guarantees[0].often: "),
]


@pytest.mark.parametrize(("said", "told"), WRONG)
def test_a_guarantee_that_cannot_be_read_is_refused(said: dict[str, Any], told: str) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line(document({}, {}, gates=GATES, guarantees=[{"id": "p", **said}]))
    assert any(str(problem).startswith(told) for problem in refused.value.problems), str(refused.value)


def test_two_guarantees_do_not_share_an_id() -> None:
    with pytest.raises(DocumentError, match="appears twice"):
        read_line(document({}, {}, guarantees=[{"id": "p", "ends_within": 2}, {"id": "p", "ends_within": 3}]))


def jump(to: str) -> dict[str, Any]:
    meta = {"targetState": to}
    return {"result": "success", "signals": [{"verdict": "hold", "reason": "already_complete", "meta": meta}]}


def test_a_jump_leads_only_where_the_line_says() -> None:
    assert decided(line({}, {}, {}, jumps=["c"]), jump("c"))["to"] == ["c"]
    assert decided(line({}, {}, {}, jumps=["c"]), jump("b"))["status"] == "blocked"
    assert decided(line({}, {}, {}, jumps=[]), jump("c"))["status"] == "blocked"
    assert decided(line({}, {}, {}), jump("c"))["status"] == "blocked"
    assert decided(line({}, {}, {}, jumps="all"), jump("c"))["to"] == ["c"]


def test_who_rejects_a_jump_may_send_the_task_anywhere() -> None:
    """Found by 5,000 drawn guarantees: it was proved that nothing gets to c without what comes before."""
    said = {"id": "p", "never": {"reach": "c", "without": "g"}}
    gated = {"rules": [{"id": "to-c", "to": "c", "gates": ["g"]}]}
    promising = line(
        {"rules": [{"id": "to-b", "to": "b"}]},
        gated,
        {},
        gates=[{"key": "g", "on_reject": "fail"}],
        jumps=["a"],
        policy={"on_reject": "reviewer_chooses"},
        guarantees=[said],
    )
    [answer] = prove_guarantees(promising)
    assert answer.answer == REFUTED
    assert "@jump" in answer.steps[-1].gates


def test_publishing_writes_nothing_of_jumps() -> None:
    promising = document({}, guarantees=[{"id": "p", "ends_within": 9}])
    assert "jumps" not in document_to_publish(promising)
    assert document_to_publish({**promising, "jumps": "all"})["jumps"] == "all"


@pytest.mark.parametrize(
    ("said", "revision", "targets"),
    [
        ({}, 3, []),
        ({}, 2, ["a", "b", "completed", "failed", "cancelled"]),
        ({"preset": "flux"}, 3, ["a", "b", "completed", "failed", "cancelled"]),
        ({"preset": "flux", "jumps": []}, 3, []),
        ({"jumps": "all"}, 3, ["a", "b", "completed", "failed", "cancelled"]),
        ({"jumps": ["b"]}, 2, ["b"]),
    ],
)
def test_jumps_are_read_under_the_revision_of_the_line(
    said: dict[str, Any], revision: int, targets: list[str]
) -> None:
    of = document({}, {}, **said)
    assert sorted(read_line(of, revision=revision).jump_targets) == sorted(targets)
    assert Draft202012Validator(json_schema()).is_valid(of)
    assert read_line(of, revision=revision).to_document().get("jumps") == said.get("jumps")


@pytest.mark.parametrize("said", ["some", 3, ["nowhere"], [""], {"to": "a"}])
def test_jumps_that_cannot_be_read_are_refused_at_their_place(said: Any) -> None:
    with pytest.raises(DocumentError) as refused:
        read_line(document({}, jumps=said))
    assert all(problem.path.startswith("jumps") for problem in refused.value.problems)


PROCEED = {"exit_code": 1, "signals": [{"verdict": "proceed"}]}
TESTED = [{"id": "p", "never": {"reach": "c", "without": "b"}}]


def to(target: str, **more: Any) -> dict[str, Any]:
    return {"id": f"to-{target}", "when": {"result": "success"}, "to": target, **more}


def test_a_signal_that_leads_on_makes_no_failed_visit_pass() -> None:
    """A station signalled `proceed` and exited 1, and what was proved to need its tests was entered."""
    of = line({"rules": [to("b")]}, {"rules": [to("c")]}, {}, guarantees=TESTED)
    [answer] = prove_guarantees(of)
    assert answer.answer == REFUTED
    assert decided(of, PROCEED, "b")["to"] == ["c"]


def test_a_visit_passes_where_a_person_has_to_approve_at_its_rule_or_not() -> None:
    """A gate of a rule takes nothing back of the visit that it comes after, and approves none either."""
    gated = line({"rules": [to("b")]}, {"rules": [to("c", gates=["g"])]}, {}, gates=GATES, guarantees=TESTED)
    assert prove_guarantees(gated)[0].answer == REFUTED
    promised = [{"id": "p", "never": {"reach": "c", "without": "g"}}]
    assert (
        prove_guarantees(
            line(
                {"rules": [to("b")]}, {"rules": [to("c", gates=["g"])]}, {}, gates=GATES, guarantees=promised
            )
        )[0].answer
        == "proved"
    )
