"""What migrating does to one position of a task (with an engine: tests/engine/test_impact)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.routing.analysis.migration_impact import (
    MigratingPosition,
    MigrationEffect,
    compose_mappings,
    mapped_station_key_or_none,
    migration_effect,
    next_stations,
    remapped_situation,
)
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import decided, line

LOOK, LEAD = {"key": "look", "name": "Look"}, {"key": "lead", "name": "Lead"}
ON = {"id": "on", "to": "b"}
NOOP = {"kind": "noop"}


def version(*rules: dict[str, Any], **more: Any) -> ParsedLine:
    """Stations a, b, c, of which b is done by hand; a has these rules, `on` to b if none is given."""
    first = {"work": NOOP, "rules": list(rules or (ON,))}
    return line(first, {"work": {"kind": "manual"}}, {"work": NOOP}, **{"gates": [LOOK, LEAD], **more})


OLD = version()


def at(station: str = "a", status: str = "queued", judge: ParsedLine = OLD, **more: Any) -> MigratingPosition:
    return MigratingPosition(7, station, status, judge, **more)


def rests(judge: ParsedLine, outcome: dict[str, Any] | None = None, **more: Any) -> MigratingPosition:
    """At rest at `a` after the decision of `judge` on this outcome."""
    situation = {"station": "a", "outcome": outcome or {"result": "success"}, "facts": more.pop("facts", {})}
    answer = decided(judge, situation["outcome"], **situation["facts"])
    status = more.pop("status", answer.get("status", "stuck"))
    error = answer.get("error") or ""
    return at(status=status, judge=judge, situation=situation, answer=answer, error=error, **more)


def outline(effect: MigrationEffect) -> tuple[str, str, str, str]:
    return effect.effect, effect.how, effect.station, effect.status


# Where a station is


def test_a_station_lands_at_its_name_or_where_the_mapping_says_if_that_is_there() -> None:
    assert mapped_station_key_or_none(OLD, {}, "a") == "a"
    assert mapped_station_key_or_none(OLD, {"x": "c"}, "x") == "c"
    assert mapped_station_key_or_none(OLD, {"a": "c"}, "a") == "c"
    assert mapped_station_key_or_none(OLD, {}, "x") is None
    assert mapped_station_key_or_none(OLD, {"a": "x"}, "a") is None
    assert mapped_station_key_or_none(OLD, {}, "completed") is None


def test_one_mapping_after_another_leads_from_the_first_names_to_the_last() -> None:
    assert compose_mappings({"p": "q", "s": "t"}, {"q": "r", "x": "y"}) == {
        "p": "r",
        "s": "t",
        "q": "r",
        "x": "y",
    }
    assert compose_mappings({}, {"a": "b"}) == {"a": "b"}
    assert compose_mappings({"a": "b"}, {"a": "z"}) == {"a": "b"}


def test_a_station_that_is_gone_needs_a_mapping_and_nothing_is_done_without() -> None:
    found = migration_effect(at("x", "queued", work="queued", mapping={"x": "y"}), OLD, {})
    assert outline(found) == ("stuck", "refuse", "x", "queued")
    assert (found.token, found.error, found.needs) == (7, "StationGone", "y")
    assert migration_effect(at("x", "running", work="running"), OLD, {}).needs == "x"


def test_a_mapping_of_now_carries_on_where_an_earlier_one_ended() -> None:
    found = migration_effect(at("x", work="queued", mapping={"x": "y"}), OLD, {"y": "c"})
    assert outline(found) == ("moves", "carry", "c", "queued")


# Work that has not begun, and work that has


def test_there_already_there_is_nothing_to_do() -> None:
    found = migration_effect(at("a", "stuck", there=True, error="NoRule"), OLD, {})
    assert (*outline(found), found.error, found.token) == ("stays", "there", "a", "stuck", "NoRule", 7)
    assert migration_effect(at("a", work="queued", there=True), OLD, {"a": "c"}).how == "carry"


def test_a_queued_job_starts_under_the_new_version_where_it_stands() -> None:
    found = migration_effect(at("a", work="queued"), OLD, {})
    assert (*outline(found), found.to, found.token) == ("stays", "pin", "a", "queued", (), 7)


@pytest.mark.parametrize(("target", "status"), [("c", "queued"), ("b", "running")])
def test_a_queued_job_of_a_mapped_station_is_carried_there(target: str, status: str) -> None:
    """A job by hand runs at once."""
    found = migration_effect(at("x", work="queued"), OLD, {"x": target})
    assert (*outline(found), found.to) == ("moves", "carry", target, status, (target,))


def test_what_a_person_holds_stays_held_wherever_it_is_carried() -> None:
    assert outline(migration_effect(at("x", "held", work="queued"), OLD, {"x": "b"})) == (
        "moves",
        "carry",
        "b",
        "held",
    )
    assert outline(migration_effect(at("b", "held", work="queued"), OLD, {})) == ("stays", "pin", "b", "held")
    assert migration_effect(at("b", "queued", work="queued"), OLD, {}).status == "running"


def test_work_that_runs_is_judged_by_its_version_and_what_is_gone_by_then_is_said() -> None:
    judge = version({"id": "go", "to": ["b", "c"]}, {"id": "back", "to": "@origin"})
    new = line({"rules": [ON]}, {"key": "b"})
    found = migration_effect(at("a", "running", judge, work="running"), new, {})
    assert (*outline(found), found.next_gone) == ("stays", "keep", "a", "running", ("c",))
    assert migration_effect(at("a", "running", judge, work="running"), new, {"c": "b"}).next_gone == ()
    assert found.gates == () and found.token == 7


def test_a_no_of_a_person_is_never_decided_again() -> None:
    position = replace(
        rests(version({**ON, "gates": ["look"]})), against=True, status="stuck", error="Rejected"
    )
    found = migration_effect(position, version({"id": "other", "to": "c"}), {})
    assert (*outline(found), found.error, found.gates) == ("stays", "keep", "a", "stuck", "Rejected", ())


def test_work_that_runs_beside_votes_has_to_be_approved_again() -> None:
    judge = version({**ON, "gates": ["look", "lead"]})
    position = replace(rests(judge), work="running", voted=True, approved=("look",))
    found = migration_effect(position, OLD, {})
    assert (found.effect, found.how, found.gates) == ("approve_again", "keep", ("lead",))
    assert migration_effect(replace(position, voted=False), OLD, {}).effect == "stays"
    assert migration_effect(replace(position, answer=None), OLD, {}).gates == ()


def test_where_nothing_was_decided_yet_it_stands_still() -> None:
    found = migration_effect(at("a", "blocked", error="E"), OLD, {})
    assert (*outline(found), found.error, found.token) == ("stays", "still", "a", "blocked", "E", 7)


# Decided again


WAITING = rests(version({**ON, "gates": ["look"]}))


def test_the_same_question_stays_asked() -> None:
    found = migration_effect(WAITING, version({"id": "new-name", "to": "b", "gates": ["look"]}), {})
    assert (*outline(found), found.to, found.gates) == (
        ("stays", "again", "a", "awaiting_review", ("b",), ("look",))
    )
    assert found.token == 7 and found.decision is not None


def test_the_same_question_before_a_station_under_its_new_name_stays_asked() -> None:
    new = line({"rules": [{"id": "on", "to": "z", "gates": ["look"]}]}, {"key": "z"}, gates=[LOOK])
    assert migration_effect(WAITING, new, {"b": "z"}).effect == "stays"
    assert migration_effect(WAITING, new, {}).effect == "approve_again"


@pytest.mark.parametrize(
    "rule",
    [
        {"id": "on", "to": "c", "gates": ["look"]},
        {**ON, "gates": ["lead"]},
        {**ON, "gates": ["look", "lead"]},
    ],
    ids=["another target", "another gate", "one more gate"],
)
def test_another_question_has_to_be_answered_anew(rule: dict[str, Any]) -> None:
    found = migration_effect(WAITING, version(rule), {})
    assert (found.effect, found.how, found.gates) == ("approve_again", "again", tuple(rule["gates"]))


def test_votes_are_lost_with_the_question_and_so_it_is_asked_again() -> None:
    same = version({**ON, "gates": ["look"]})
    assert migration_effect(replace(WAITING, voted=True), same, {}).effect == "approve_again"
    assert migration_effect(replace(WAITING, approved=("lead",)), same, {}).effect == "approve_again"
    assert migration_effect(replace(WAITING, status="blocked"), same, {}).effect == "approve_again"
    assert migration_effect(replace(WAITING, answer=None), same, {}).effect == "approve_again"


def test_where_nobody_is_asked_any_more_it_moves() -> None:
    found = migration_effect(WAITING, version(), {})
    assert (*outline(found), found.to, found.gates) == ("moves", "again", "a", "running", ("b",), ())
    assert migration_effect(WAITING, version({"id": "on", "to": "c"}), {}).status == "queued"
    fork = migration_effect(WAITING, version({"id": "on", "to": ["b", "c"]}), {})
    assert (fork.effect, fork.status, fork.to) == ("moves", "", ("b", "c"))


def test_an_end_is_named_with_its_kind_and_error() -> None:
    found = migration_effect(WAITING, version({"id": "on", "to": "failed"}), {})
    assert (*outline(found), found.to, found.error) == ("moves", "again", "a", "failed", ("failed",), "")
    nothing = version({"id": "never", "when": {"result": "failure"}, "to": "b"}, policy={"no_match": "fail"})
    found = migration_effect(WAITING, nothing, {})
    assert (found.effect, found.to) == ("moves", ("failed",))
    assert found.error == decided(nothing, {"result": "success"})["error"]


NOWHERE = {"id": "never", "when": {"result": "failure"}, "to": "b"}


def test_what_gets_stuck_is_told_from_what_was_stuck_for_the_same_reason() -> None:
    stuck = version(NOWHERE, policy={"no_match": "stuck"})
    found = migration_effect(WAITING, stuck, {})
    assert (*outline(found), found.error) == ("stuck", "again", "a", "stuck", "NoValidTransition")
    position = rests(stuck)
    assert (position.status, position.error) == ("stuck", "NoValidTransition")
    assert migration_effect(position, stuck, {}).effect == "stays"
    assert migration_effect(replace(position, error="Other"), stuck, {}).effect == "stuck"
    assert migration_effect(replace(position, status="blocked"), stuck, {}).effect == "stuck"


def test_gates_passed_under_the_old_version_are_asked_again_by_the_new_one() -> None:
    asks = version({**ON, "gates": ["look"]})
    position = rests(
        asks, facts={"gates": {"look": {"decision": "send_back", "reason": "x"}}}, status="stuck"
    )
    assert migration_effect(position, asks, {}).gates == ("look",)


def test_the_recorded_situation_is_read_with_the_names_of_the_new_version() -> None:
    facts = {"gates": {"look": {"decision": "approve"}}, "origin": "p", "edges": {"a->b": 2}}
    recorded = {"station": "q", "outcome": {"result": "success"}, "facts": facts}
    read = remapped_situation(recorded, OLD, {"q": "a", "p": "c"})
    assert read == {
        "station": "a",
        "outcome": {"result": "success"},
        "facts": {"origin": "c", "edges": {"a->b": 2}},
    }
    assert remapped_situation(recorded, OLD, {"q": "a"})["facts"]["origin"] == "p"
    assert remapped_situation({**recorded, "facts": {}}, OLD, {"q": "a"})["facts"] == {"origin": None}


def test_a_move_back_leads_to_where_the_origin_is_now() -> None:
    asks = version({"id": "back", "to": "@origin", "gates": ["look"]})
    position = rests(asks, facts={"origin": "c"})
    new = line({"rules": [{"id": "back", "to": "@origin"}]}, {"key": "z"}, gates=[LOOK])
    assert migration_effect(position, new, {"c": "z"}).to == ("z",)


# What may come next


STUCK = {"no_match": "stuck"}
SPENT = {"id": "x", "to": "a", "max_retries": 1, "on_exhausted": {"to": "c"}}


@pytest.mark.parametrize(
    ("of", "station", "keys"),
    [
        (
            version({"id": "x", "to": "c"}, {"id": "y", "to": ["a", "completed"]}, policy=STUCK),
            "a",
            ("a", "c"),
        ),
        (version({"id": "x", "to": "@origin"}, policy=STUCK), "a", ()),
        (version(SPENT, policy=STUCK), "a", ("a", "c")),
        (version(), "b", ("c",)),
        (version(), "c", ()),
        (version(), "nowhere", ()),
        (version(policy={"on_failure": "station:c"}), "a", ("b", "c")),
        (version(policy={"no_rules": "end"}), "b", ()),
        (version({"id": "x", "to": "c"}, policy={"no_match": "default"}), "a", ("b", "c")),
        (version({"id": "x", "to": "c"}, policy=STUCK), "a", ("c",)),
    ],
)
def test_the_stations_that_may_come_next_in_the_order_of_the_line(
    of: ParsedLine, station: str, keys: tuple[str, ...]
) -> None:
    assert next_stations(of, station) == keys


def test_plain_data_says_all_but_the_decision() -> None:
    found = migration_effect(WAITING, version({**ON, "gates": ["lead"]}), {})
    assert found.to_dict() == {
        "token": 7,
        "effect": "approve_again",
        "how": "again",
        "station": "a",
        "status": "awaiting_review",
        "to": ["b"],
        "gates": ["lead"],
        "error": "",
        "needs": "",
        "next_gone": [],
    }
