"""A recorded decision under another version: `redecide`, without an engine (with one: tests/backtest)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.redeciding import LOOK, line, to, tried, word

ASKS = {"agentic": {"question": "Good?"}, "answer": "yes"}


AUTO = {
    **LOOK,
    "mode": "auto",
    "checks": {"all": [{"field": "exit_code", "operator": "exists", "action": "hold"}]},
}


TWO = {**LOOK, "approval": {"who": [{"role": "reviewer", "count": 2}]}}


ROUNDS = {**LOOK, "approval": {"max_rounds": 1}}


OFFERS = {**LOOK, "offers": ["approve"]}


READS = {"all": [{"field": "input.risk", "operator": "equals", "value": 1, "action": "hold"}]}


RISK = {**LOOK, "mode": "auto", "checks": READS}


WRITES = {"all": [{"field": "variables.v", "operator": "equals", "value": 1, "action": "hold"}]}


SEEN = {"edge": {"from": "old", "to": "build", "at_least": 2}}


CASES: dict[str, tuple[ParsedLine, ParsedLine, dict[str, Any], str, str]] = {
    "the same": (line(to("ship")), line(to("ship", name="other")), {}, "same", ""),
    "elsewhere": (line(to("ship")), line(to("fix")), {}, "different", ""),
    "fork in another order": (line(to(["ship", "fix"])), line(to(["fix", "ship"])), {}, "same", ""),
    "another end": (line(to("completed")), line(to("failed")), {}, "different", ""),
    "asked now": (line(to("ship")), line(to("ship", "look")), {}, "gate_newly_required", ""),
    "asked now, elsewhere": (line(to("ship")), line(to("fix", "look")), {}, "different", ""),
    "asked at the station": (
        line(to("ship")),
        line(to("ship"), build={"gate": "look"}),
        {},
        "gate_newly_required",
        "",
    ),
    "asked no more": (line(to("ship", "look")), line(to("ship")), {}, "gate_newly_skipped", ""),
    "station asks no more": (
        line(to("ship"), build={"gate": "look"}),
        line(to("ship")),
        {},
        "gate_newly_skipped",
        "",
    ),
    "approved, asked no more": (
        line(to("ship", "look")),
        line(to("ship")),
        {"gates": word("approve")},
        "gate_newly_skipped",
        "",
    ),
    "approved, one more": (
        line(to("ship", "look")),
        line(to("ship", "look", "lead")),
        {"gates": word("approve")},
        "gate_newly_required",
        "",
    ),
    "other people": (line(to("ship", "look")), line(to("ship", "lead")), {}, "different", "other_gates"),
    "rejected where nobody asks": (
        line(to("ship", "look")),
        line(to("ship")),
        {"gates": word("reject", reason="no")},
        "different",
        "",
    ),
    "rejected where checks pass": (
        line(to("ship", "look")),
        line(
            to("ship", "look"),
            gates=[{**AUTO, "checks": {"all": [{"field": "result", "operator": "exists"}]}}],
        ),
        {"gates": word("reject", reason="no")},
        "different",
        "",
    ),
    "rejected where others ask": (
        line(to("ship", "look")),
        line(to("ship", "lead")),
        {"gates": word("reject", reason="no")},
        "undecidable",
        "nobody_has_spoken",
    ),
    "a check holds": (
        line(to("ship")),
        line(to("ship", "look"), gates=[AUTO]),
        {},
        "gate_newly_required",
        "",
    ),
    "another approval": (
        line(to("ship", "look")),
        line(to("ship", "look"), gates=[TWO]),
        {"gates": word("approve")},
        "undecidable",
        "other_approval",
    ),
    "more rounds are no other approval": (
        line(to("ship", "look")),
        line(to("ship", "look"), gates=[ROUNDS]),
        {"gates": word("approve")},
        "same",
        "",
    ),
    "not offered": (
        line(to("ship", "look")),
        line(to("ship", "look"), gates=[OFFERS]),
        {"gates": word("send_back", reason="x")},
        "undecidable",
        "word_not_offered",
    ),
    "no round left": (
        line(to("ship", "look")),
        line(to("ship", "look"), gates=[ROUNDS]),
        {"gates": word("send_back", reason="x"), "rounds": {"look": 1}},
        "undecidable",
        "word_refused",
    ),
    "no route named": (
        line(to("ship", "look")),
        line(to("ship", "look"), policy={"on_reject": "reviewer_chooses"}),
        {"gates": word("reject", reason="x")},
        "undecidable",
        "word_does_not_fit",
    ),
    "not asked then": (
        line(to("ship")),
        line(to("fix", name="a", when=ASKS), to("ship"), flags={"agentic_conditions": True}),
        {},
        "undecidable",
        "not_answered",
    ),
    "asked and not asked any more": (
        line(to("fix", name="a", when=ASKS), to("ship"), flags={"agentic_conditions": True}),
        line(to("ship")),
        {},
        "different",
        "not_asked",
    ),
    "an input that nobody recorded": (
        line(to("ship")),
        line(to("ship", "look"), gates=[RISK]),
        {},
        "undecidable",
        "field_not_recorded",
    ),
    "an input that was left empty": (
        line(to("ship"), inputs=[{"key": "risk"}]),
        line(to("ship", "look"), gates=[RISK]),
        {},
        "gate_newly_required",
        "",
    ),
    "a variable that nobody set": (
        line(to("ship")),
        line(to("ship", "look"), gates=[{**RISK, "checks": WRITES}]),
        {},
        "undecidable",
        "field_not_recorded",
    ),
    "a variable that could have been set": (
        line(
            to("ship", name="never", when={"result": "failure"}, compose=[{"var": "v", "path": "x"}]),
            to("ship"),
        ),
        line(to("ship", "look"), gates=[{**RISK, "checks": WRITES}]),
        {},
        "gate_newly_required",
        "",
    ),
    "an origin that is gone": (
        line(
            to("@origin"),
            stations=[{"key": k, "rules": [to("@origin")] if k == "build" else []} for k in ("build", "old")],
        ),
        line(to("@origin")),
        {"origin": "old"},
        "undecidable",
        "origin_gone",
    ),
    "a budget under another name": (
        line(to("build", max_retries=1)),
        line(to("build", name="new", max_retries=1)),
        {"rules": {"on": 1}},
        "undecidable",
        "counter_not_recorded",
    ),
    "a budget that no count exhausts": (
        line(to("build", max_retries=3)),
        line(to("build", name="new", max_retries=3)),
        {"rules": {"on": 2}},
        "same",
        "",
    ),
    "an additional rule": (
        line(to("build")),
        line(to("build", name="new", max_retries=1), to("build")),
        {"rules": {"on": 1}},
        "same",
        "",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_verdict(case: tuple[ParsedLine, ParsedLine, dict[str, Any], str, str]) -> None:
    old, new, facts, verdict, reason = case
    found = tried(old, new, **facts)
    assert (found.verdict.value, found.reason) == (verdict, reason)
    assert (found.now is None) == (verdict == "undecidable")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_under_its_own_version_everything_is_the_same(
    case: tuple[ParsedLine, ParsedLine, dict[str, Any], str, str],
) -> None:
    old, _, facts, *_ = case
    assert tried(old, old, **facts).verdict == "same"


def test_a_station_that_is_gone_cannot_be_decided() -> None:
    new = read_line({"gateline": 1, "key": "l", "name": "L", "stations": [{"key": "make", "rules": []}]})
    assert tried(line(to("ship")), new).reason == "station_gone"


def test_an_edge_under_another_name_matters_only_where_it_was_counted() -> None:
    old = line(to("ship"))
    new = read_line(
        {
            "gateline": 1,
            "key": "l",
            "name": "L",
            "stations": [
                {"key": "old", "rules": []},
                {"key": "build", "rules": [to("fix", name="e", when=SEEN), to("ship")]},
                {"key": "ship", "rules": []},
                {"key": "fix", "rules": []},
            ],
        }
    )
    assert tried(old, new).verdict == "same"
    assert tried(old, new, edges={"gone->build": 1}).verdict == "same"
    assert tried(old, new, edges={"gone->build": 2}).reason == "counter_not_recorded"
    assert tried(old, new, edges={"build->completed": 2}).verdict == "same"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("asked now", "Somebody is asked at look, which nobody was then."),
        ("asked no more", "Nobody is asked at look any more."),
        ("other people", "The same way, but other people are asked: lead instead of look."),
        ("rejected where others ask", "look decided it then; now lead is asked, where nobody has spoken."),
        ("another approval", "“approve” was said at look under another approval policy."),
        ("not offered", "“send_back” was said at look, which does not offer it any more."),
        ("no round left", "What was said at look would be refused now."),
        ("not asked then", "It depends on an evaluation that was not asked then."),
        ("asked and not asked any more", "An evaluation was asked then; now it is decided without."),
        (
            "an input that nobody recorded",
            "A check reads input.risk, which the version of that time did not have.",
        ),
        ("an origin that is gone", "It came from old, a station that this version does not have."),
        (
            "a budget under another name",
            "It depends on how often new was taken, which was counted under a name that is gone.",
        ),
        ("elsewhere", ""),
        ("the same", ""),
    ],
)
def test_each_verdict_says_why_in_a_sentence(case: str, message: str) -> None:
    old, new, facts, *_ = CASES[case]
    assert tried(old, new, **facts).message == message


def test_what_does_not_fit_and_what_is_gone_is_said_with_its_name() -> None:
    old, new, facts, *_ = CASES["no route named"]
    assert tried(old, new, **facts).message.startswith("What was said there does not fit: ")
    gone = read_line({"gateline": 1, "key": "l", "name": "L", "stations": [{"key": "make", "rules": []}]})
    found = tried(line(to("ship")), gone)
    assert (found.message, found.then.to) == ("This version has no station build.", ("ship",))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_where_it_led_then_is_told_whatever_the_verdict(
    case: tuple[ParsedLine, ParsedLine, dict[str, Any], str, str],
) -> None:
    old, new, facts, *_ = case
    found = tried(old, new, **facts)
    assert found.then == tried(old, old, **facts).now
    assert set(found.asked).isdisjoint(found.skipped)


def test_the_gates_that_are_asked_now_and_those_that_are_not_are_named() -> None:
    old, new = line(to("ship", "look")), line(to("fix", "lead"))
    found = tried(old, new)
    assert (found.asked, found.skipped, found.verdict) == (("lead",), ("look",), "different")
    assert (tried(*CASES["asked now"][:2]).asked, tried(*CASES["asked now"][:2]).skipped) == (("look",), ())
    assert (tried(*CASES["asked no more"][:2]).asked, tried(*CASES["asked no more"][:2]).skipped) == (
        (),
        ("look",),
    )
