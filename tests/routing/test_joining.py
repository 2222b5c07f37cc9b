"""The join decision, pure: who has delivered, who still can, and what becomes of it (law §7)."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.branch_joins.branches import Arrival, Branch, Fork, Write
from pipelines.routing.decide.branch_joins.context_merge import contradicting_keys, merge_writes_later_wins
from pipelines.routing.decide.branch_joins.join_decision import (
    aggregate_verdict,
    first_decidable_merge_or_none,
    join_groups_with_waiting_tokens,
)
from pipelines.routing.decide.branch_joins.join_documents import join_answer
from pipelines.routing.decide.branch_joins.reachability import (
    next_stations_by_station,
    reachable_stations,
    routes_replacing_forks,
)
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import line

FORK = Fork(1, "plan", ("qa", "security"))


def to(key: str, *targets: str, **more: Any) -> dict[str, Any]:
    """A station with one rule to each target."""
    rules = [{"id": f"{key}-{target.strip('@')}", "to": target} for target in targets]
    return {"key": key, "rules": rules, **more}


def forked(*stations: dict[str, Any], aggregation: str = "all-pass", **more: Any) -> ParsedLine:
    """plan → (qa, security) → release, which joins them."""
    plan = {"key": "plan", "rules": [{"id": "fork", "to": ["qa", "security"]}]}
    known = {"qa": to("qa", "release"), "security": to("security", "release")}
    own = {each["key"]: each for each in stations}
    early = [own.pop("early")] if "early" in own else []
    join = {"wait_for": ["qa", "security"], "aggregation": aggregation}
    release = own.pop("release", to("release", "completed")) | {"join": join}
    return line(plan, *early, *{**known, **own}.values(), release, **more)


def at(pk: int, station: str, *within: Fork) -> Branch:
    return Branch(pk, station, within or (FORK,))


def waits(
    pk: int, source: str, *within: Fork, standing: str = "passed", at: str = "release", order: int = 0
) -> Branch:
    return Branch(pk, at, within or (FORK,), Arrival(source, standing, order or pk))


def test_it_waits_while_the_other_branch_works() -> None:
    of = forked()
    branches = [waits(2, "qa"), at(3, "security")]
    assert first_decidable_merge_or_none(of, branches) is None
    (group,) = join_groups_with_waiting_tokens(of, branches)
    assert (group.missing_stations_still_reachable, group.may, dict(group.delivered)) == (
        ("security",),
        {"security": (3,)},
        {"qa": "passed"},
    )


def test_it_merges_exactly_the_tokens_that_were_delivered() -> None:
    merge = first_decidable_merge_or_none(
        forked(), [waits(2, "qa", order=9), waits(3, "security", order=5), at(9, "plan", *())]
    )
    assert merge is not None
    assert (merge.arrived, merge.sources, merge.verdict) == ((3, 2), ("security", "qa"), "pass")
    assert merge.standings == {"qa": "passed", "security": "passed"}


def test_a_station_that_nobody_can_reach_any_more_counts_as_failed() -> None:
    of = forked(to("security", "release", "cleanup"), to("cleanup", "completed"))
    merge = first_decidable_merge_or_none(of, [waits(2, "qa"), at(3, "cleanup")])
    assert merge is not None
    assert (merge.verdict, merge.never, merge.alone) == ("fail", ("security",), False)
    assert merge.outcome()["output"] == {
        "branches": {"qa": "pass", "security": "fail"},
        "never": ["security"],
    }


def test_a_branch_that_ended_is_accounted_for() -> None:
    merge = first_decidable_merge_or_none(forked(aggregation="any-pass"), [waits(2, "qa")])
    assert merge is not None
    assert (merge.verdict, merge.never, merge.alone) == ("pass", ("security",), True)


@pytest.mark.parametrize(
    "security",
    [
        {"rules": [{"id": "s", "to": "triage"}]},
        {"rules": [{"id": "s", "to": "completed", "max_retries": 1, "on_exhausted": {"to": "triage"}}]},
        {"rules": [{"id": "s", "to": "completed", "gates": ["ask"]}]},
        {"gate": "ask", "rules": [{"id": "s", "to": "completed"}]},
    ],
)
def test_reaching_goes_by_rules_budgets_gates_and_origin(security: dict[str, Any]) -> None:
    gate = {"key": "ask", "name": "Ask", "on_reject": "route:triage"}
    of = forked({"key": "security", **security}, to("triage", "@origin"), gates=[gate])
    assert "security" in reachable_stations(next_stations_by_station(of), ["triage"])
    assert first_decidable_merge_or_none(of, [waits(2, "qa"), at(3, "triage")]) is None


@pytest.mark.parametrize(
    ("policy", "waiting"),
    [
        ({"no_match": "fail"}, False),
        ({"no_match": "default"}, True),
        ({"no_match": "fail", "on_failure": "station:qa"}, True),
    ],
)
def test_reaching_goes_by_the_policy(policy: dict[str, Any], waiting: bool) -> None:
    early = {"key": "early", "rules": [{"id": "e", "when": {"result": "success"}, "to": "completed"}]}
    of = forked(early, {"key": "qa"}, policy={"on_failure": "halt", "no_rules": "end", **policy})
    branches = [waits(3, "security"), at(2, "early")]
    assert (first_decidable_merge_or_none(of, branches) is None) is waiting


def test_no_way_back_leads_from_a_join_to_a_fork_that_counts_as_leading_there() -> None:
    of = line(
        {"key": "a", "rules": [{"id": "two", "to": ["b", "c"]}]},
        to("b", "d"),
        to("c", "d"),
        to("d", "@origin", join={"wait_for": ["b", "c"]}),
    )
    instead = routes_replacing_forks(of, {"two": "d"})
    assert instead["a"] == {"d"}
    assert instead["d"] == next_stations_by_station(of)["d"] == {"b", "c"}


@pytest.mark.parametrize("gate", [{"offers": ["approve", "abort"]}, {"mode": "skip"}])
def test_a_gate_at_which_nobody_rejects_leads_nowhere(gate: dict[str, Any]) -> None:
    asked = {"key": "ask", "name": "Ask", "on_reject": "route:security", **gate}
    of = forked({"key": "cleanup", "gate": "ask", "rules": [{"id": "c", "to": "completed"}]}, gates=[asked])
    assert "security" not in reachable_stations(next_stations_by_station(of), ["cleanup"])


def test_a_station_without_rules_leads_on_where_the_policy_says_so() -> None:
    assert next_stations_by_station(line({}, {}))["a"] == {"b"}
    assert next_stations_by_station(line({}, {}, policy={"no_rules": "end"}))["a"] == frozenset()


def test_a_reviewer_who_chooses_may_lead_anywhere() -> None:
    gate = {"key": "ask", "name": "Ask", "on_reject": "reviewer_chooses"}
    of = forked({"key": "cleanup", "gate": "ask", "rules": [{"id": "c", "to": "completed"}]}, gates=[gate])
    assert first_decidable_merge_or_none(of, [waits(2, "qa"), at(3, "cleanup")]) is None


@pytest.mark.parametrize(
    ("aggregation", "standings", "verdict"),
    [
        ("all-pass", "ppp", "pass"),
        ("all-pass", "ppf", "fail"),
        ("any-pass", "ffp", "pass"),
        ("any-pass", "fff", "fail"),
        ("majority-pass", "ppf", "pass"),
        ("majority-pass", "pf", "fail"),
        ("majority-pass", "ppff", "fail"),
        ("majority-pass", "pff", "fail"),
        ("all-pass", "pbf", "blocked"),
        ("any-pass", "ppb", "blocked"),
        ("majority-pass", "ppb", "blocked"),
        ("none", "fbf", "pass"),
    ],
)
def test_D21_flux_aggregations(aggregation: str, standings: str, verdict: str) -> None:
    words = {"p": "passed", "f": "failed", "b": "blocked"}
    assert aggregate_verdict(aggregation, [words[each] for each in standings]) == verdict


def test_a_station_that_delivered_twice_counts_by_the_worst() -> None:
    merge = first_decidable_merge_or_none(
        forked(), [waits(2, "qa"), waits(4, "qa", standing="failed"), waits(3, "security")]
    )
    assert merge is not None
    assert (merge.verdict, merge.arrived) == ("fail", (2, 3, 4))


def test_the_failure_type_of_the_first_failed_branch_is_the_joins() -> None:
    security = Branch(3, "release", (FORK,), Arrival("security", "failed", 1, "license"))
    merge = first_decidable_merge_or_none(forked(), [security, waits(2, "qa")])
    assert merge is not None and merge.outcome()["failure_type"] == "license"


# Forks nest


INNER = Fork(5, "split", ("left", "right"))
OUTER = Fork(1, "plan", ("split", "docs"))


def nested(wait_inner: list[str], wait_outer: list[str]) -> ParsedLine:
    return line(
        {"key": "plan", "rules": [{"id": "outer", "to": ["split", "docs"]}]},
        {"key": "split", "rules": [{"id": "inner", "to": ["left", "right"]}]},
        to("left", "meet", "plan"),
        to("right", "meet"),
        to("meet", "all") | ({"join": {"wait_for": wait_inner}} if wait_inner else {}),
        to("docs", "all"),
        to("all", "completed") | {"join": {"wait_for": wait_outer}},
    )


def test_forks_nest_each_with_its_own_join() -> None:
    of = nested(["left", "right"], ["meet", "docs"])
    inner = [waits(6, "left", OUTER, INNER, at="meet"), waits(7, "right", OUTER, INNER, at="meet")]
    merge = first_decidable_merge_or_none(of, [*inner, waits(3, "docs", OUTER, at="all")])
    assert merge is not None
    assert (merge.station, merge.fork, merge.arrived, merge.alone) == ("meet", INNER, (6, 7), True)
    after = [waits(5, "meet", OUTER, at="all", order=8), waits(3, "docs", OUTER, at="all")]
    outer = first_decidable_merge_or_none(of, after)
    assert outer is not None and (outer.fork, outer.verdict) == (OUTER, "pass")


def test_one_join_may_take_in_branches_of_several_depths() -> None:
    of = line(
        {"key": "plan", "rules": [{"id": "outer", "to": ["split", "docs"]}]},
        {"key": "split", "rules": [{"id": "inner", "to": ["left", "right"]}]},
        to("left", "all", "plan"),
        to("right", "all"),
        to("docs", "all"),
        to("all", "completed") | {"join": {"wait_for": ["left", "right", "docs"]}},
    )
    two = [waits(6, "left", OUTER, INNER, at="all"), waits(7, "right", OUTER, INNER, at="all")]
    assert first_decidable_merge_or_none(of, [*two, at(3, "docs", OUTER)]) is None
    merge = first_decidable_merge_or_none(of, [*two, waits(3, "docs", OUTER, at="all")])
    assert merge is not None
    assert (merge.fork, merge.arrived, merge.emptied, merge.alone) == (OUTER, (3, 6, 7), (5,), True)


def test_two_rounds_side_by_side_do_not_mix() -> None:
    first, second = Fork(4, "plan", ("qa", "security")), Fork(5, "plan", ("qa", "security"))
    outside = Fork(1, "begin", ("plan", "plan2"))
    of = forked(to("begin", "plan"))
    branches = [
        waits(6, "qa", outside, first),
        waits(7, "qa", outside, second),
        at(8, "security", outside, first),
        waits(9, "security", outside, second),
    ]
    merge = first_decidable_merge_or_none(of, branches)
    assert merge is not None and (merge.fork, merge.arrived) == (second, (7, 9))
    assert first_decidable_merge_or_none(of, [each for each in branches if each.id not in (7, 9)]) is None


def test_a_branch_that_forks_again_joins_again_and_comes_back_as_one() -> None:
    of = forked(to("qa", "release", "plan"), to("release", "completed", "plan"))
    again = Fork(2, "plan", ("qa", "security"))
    branches = [waits(3, "security"), at(6, "qa", FORK, again), at(7, "security", FORK, again)]
    # Whatever the inner round delivers is joined there; only what follows it can still come to this one.
    (group,) = join_groups_with_waiting_tokens(of, branches)
    assert (group.fork, group.missing_stations_still_reachable) == (FORK, ())


def test_without_a_fork_there_is_nobody_to_wait_for() -> None:
    merge = first_decidable_merge_or_none(forked(), [Branch(1, "release", (), Arrival("qa", "passed", 1))])
    assert merge is not None and (merge.verdict, merge.fork) == ("fail", None)


# Nobody waits for ever


def crossing() -> ParsedLine:
    """Each of two joins waits for what only the other one leads to."""
    return line(
        {"key": "plan", "rules": [{"id": "fork", "to": ["a", "b"]}]},
        to("a", "one"),
        to("b", "two"),
        to("one", "c") | {"join": {"wait_for": ["a", "d"]}},
        to("two", "d") | {"join": {"wait_for": ["b", "c"]}},
        to("c", "two"),
        to("d", "one"),
    )


def test_joins_that_wait_for_each_other_are_found_and_the_first_is_decided() -> None:
    fork = Fork(1, "plan", ("a", "b"))
    branches = [
        waits(2, "a", fork, at="one", order=2),
        waits(3, "b", fork, at="two", order=1),
    ]
    merge = first_decidable_merge_or_none(crossing(), branches)
    assert merge is not None and (merge.station, merge.circular, merge.never) == ("two", True, ("c",))


def test_while_somebody_can_still_come_no_circle_is_broken() -> None:
    fork = Fork(1, "plan", ("a", "b", "c"))
    branches = [
        waits(2, "a", fork, at="one"),
        waits(3, "b", fork, at="two"),
        at(4, "c", fork),
    ]
    assert first_decidable_merge_or_none(crossing(), branches) is None


def test_a_version_without_the_join_lets_those_go_on_that_wait() -> None:
    of = line(to("plan", "qa"), to("qa", "release"), to("release", "completed"))
    merge = first_decidable_merge_or_none(of, [waits(2, "qa", standing="failed"), at(3, "plan")])
    assert merge is not None and (merge.verdict, merge.arrived, merge.never) == ("pass", (2,), ())


# The context


def test_C24_later_overwrites_earlier_whichever_branch_wrote_it() -> None:
    one = [Write(3, {"n": 1, "a": 1}), Write(9, {"n": 3})]
    other = [Write(5, {"n": 2, "b": 2})]
    assert merge_writes_later_wins([one, other]) == {"n": 3, "a": 1, "b": 2}


@pytest.mark.parametrize(
    ("one", "other", "keys"),
    [
        ({"x": 1}, {"x": 2}, ("x",)),
        ({"x": 1}, {"x": 1.0}, ()),
        ({"x": 1}, {"x": True}, ("x",)),
        ({"x": [1]}, {"x": [1]}, ()),
        ({"x": 1}, {"y": 2}, ()),
    ],
)
def test_different_values_under_one_key_contradict(
    one: dict[str, Any], other: dict[str, Any], keys: tuple[str, ...]
) -> None:
    assert contradicting_keys([[Write(1, one)], [Write(2, other)]]) == keys


def test_what_a_branch_wrote_over_itself_and_what_both_have_in_common_contradict_nothing() -> None:
    common = Write(1, {"x": 0})
    assert contradicting_keys([[common, Write(2, {"x": 5})], [Write(3, {"x": 4}), Write(4, {"x": 5})]]) == ()
    assert contradicting_keys([[common], [common]]) == ()


# Over plain JSON


DEEP: Any = reduce(lambda inner, _: [inner], range(120), list[Any]())


def said(**more: Any) -> dict[str, Any]:
    fork = {"id": 1, "station": "plan", "to": ["qa", "security"]}
    return {"id": 2, "station": "release", "within": [fork], **more}


def test_the_tool_says_what_is_waited_for() -> None:
    waiting = said(arrival={"from": "qa", "standing": "passed"})
    answer = join_answer(forked(), {"branches": [waiting, said(id=3, station="security")]})
    assert answer == {
        "waiting": [{"station": "release", "arrived": [2], "waits_for": {"security": [3]}}],
        "merge": None,
    }


def test_the_tool_says_what_a_join_comes_to() -> None:
    qa = said(arrival={"from": "qa", "standing": "passed"}, wrote=[{"n": 1}])
    failed = {"from": "security", "standing": "failed", "failure_type": "license", "order": 7}
    security = said(id=3, arrival=failed, wrote=[{"n": 2}])
    merge = join_answer(forked(), {"branches": [qa, security]})["merge"]
    assert (merge["verdict"], merge["arrived"], merge["contradict"]) == ("fail", [2, 3], ["n"])
    assert merge["outcome"]["output"]["branches"] == {"qa": "pass", "security": "fail"}
    assert merge["outcome"]["failure_type"] == "license"
    early = join_answer(
        forked(), {"branches": [qa, {**security, "arrival": {**failed, "order": 0}, "id": 1}]}
    )["merge"]
    assert early["arrived"] == [2, 1]
    longer = said(arrival={"from": "qa", "standing": "passed"}, wrote=[{"m": 1}, {"n": 1}])
    assert join_answer(forked(), {"branches": [longer, security]})["merge"]["contradict"] == ["n"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "has to be an object"),
        ({"branches": [{"id": 1}]}, "branches[0].station: has to be the key of a station"),
        ({"branches": [said(station="moon")]}, "branches[0].station: the line has no station moon"),
        ({"branches": [{"station": "qa"}]}, "branches[0].id: is missing"),
        ({"branches": [said(arrival={"from": "qa", "standing": "good"})]}, "branches[0].arrival.standing: has to be"),
        ({"branches": [said(arrival={"from": "qa", "order": -1})]}, "branches[0].arrival.order: has to be 0 or more"),
        ({"branches": [said(at="qa")]}, "branches[0].at: unknown key"),
        ({"branches": [said(within=[{"id": 1, "station": "plan", "to": [1]}])]}, "branches[0].within[0].to[0]: has to"),
        ({"branches": [said(within=[{"station": "plan"}])]}, "branches[0].within[0].id: is missing"),
        ({"branches": [said(within=[{"id": 1, "station": "moon"}])]}, "branches[0].within[0].station: the line has no"),
        ({"branches": [said(id=-1)]}, "branches[0].id: has to be 0 or more"),
        ({"branches": [said(), said()]}, "branches[1].id: two branches have the id 2"),
        ({"branches": [said(wrote=[{"x": DEEP}])]}, "branches[0].wrote[0].x[0][0]"),
        ({"branches": [said(wrote=[{"x": "\0"}])]}, "branches[0].wrote[0].x: the text holds a NUL character"),
    ],
)  # fmt: skip
def test_what_the_tool_cannot_read_is_told_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        join_answer(forked(), data)
    assert str(refused.value).startswith(message)
