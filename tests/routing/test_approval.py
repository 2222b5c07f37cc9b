"""Votes matched to requirements, exactly; bars for requester and producer."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.decide.approval import (
    UNPROVEN,
    CountedVote,
    Voter,
    approval_policy_with_extra_votes,
    barring_role_or_none,
    can_people_satisfy,
    tally_votes,
)
from pipelines.routing.document.line import Approval, Requirement

REVIEWER = Requirement("role", "reviewer")
SECURITY = Requirement("group", "security")
LEAD = Requirement("user", "lead")


ALL = Requirement("role", "reviewer", everyone=True)
OWNER = Requirement("owner", "build", agent="builder")


def voter(person: str, *, roles: str = "", groups: str = "", agents: str = "") -> Voter:
    return Voter(person, frozenset(roles.split()), frozenset(groups.split()), frozenset(agents.split()))


ANN = voter("ann", roles="reviewer")
BEN = voter("ben", roles="reviewer", groups="security")
EVA = voter("eva", groups="security")
LEA = voter("lead", roles="reviewer")


def status(requirements: list[Requirement], votes: list[str], eligible: list[Voter]) -> str:
    return tally_votes(requirements, [CountedVote(*vote.split(":")) for vote in votes], eligible).status


def test_one_approval_of_a_reviewer_is_enough_where_one_is_asked() -> None:
    assert status([REVIEWER], [], [ANN, BEN]) == "open"
    assert status([REVIEWER], ["ann"], [ANN, BEN]) == "approved"


def test_n_of_m_needs_n_people() -> None:
    two = [Requirement("role", "reviewer", 2)]
    assert status(two, ["ann"], [ANN, BEN]) == "open"
    assert status(two, ["ann", "ann"], [ANN, BEN]) == "open"
    assert status(two, ["ann", "ben"], [ANN, BEN]) == "approved"
    assert status(two, ["ann"], [ANN]) == "unsatisfiable"


def test_all_need_everybody_who_is_asked() -> None:
    assert status([ALL], ["ann"], [ANN, BEN, EVA]) == "open"
    assert status([ALL], ["ann", "eva"], [ANN, BEN, EVA]) == "open", "eva is not asked"
    assert status([ALL], ["ann", "ben"], [ANN, BEN, EVA]) == "approved"
    assert status([ALL], [], [EVA]) == "unsatisfiable", "all of nobody is no approval"
    assert status([ALL], ["ann", "ben:reject"], [ANN, BEN]) == "rejected"


@pytest.mark.parametrize("votes", list(permutations(["ann", "ben"])))
def test_one_of_all_may_fill_a_place_besides(votes: tuple[str, ...]) -> None:
    assert status([ALL, SECURITY], list(votes), [ANN, BEN]) == "approved"
    assert status([ALL, SECURITY], ["ann"], [ANN, BEN]) == "open"


def test_all_of_two_groups_are_asked_apart() -> None:
    groups = [Requirement("group", name, everyone=True) for name in ("security", "law")]
    assert status(groups, ["ben"], [BEN]) == "unsatisfiable", "nobody is in the other group"
    lex = voter("lex", groups="law security")
    assert status(groups, ["ben"], [BEN, lex]) == "open"
    assert status(groups, ["ben", "lex"], [BEN, lex]) == "approved"


def test_who_stood_in_for_one_of_all_need_not_vote_again() -> None:
    votes = [CountedVote("ann", by="ben")]
    assert tally_votes([ALL], votes, [ANN, BEN]).status == "approved"
    assert tally_votes([ALL], [CountedVote("ann", by="eva")], [ANN, BEN, EVA]).lacking == (1,)


def test_everybody_who_is_asked_counts_and_not_only_who_voted() -> None:
    assert tally_votes([ALL], [CountedVote("ann")], [ANN], [ANN, BEN]).lacking == (1,)
    assert tally_votes([ALL], [CountedVote("ann")], [ANN], [ANN]).status == "approved"


def test_the_owner_of_a_station_answers_for_its_agent() -> None:
    owner = voter("olga", roles="operator", agents="builder")
    assert status([OWNER], ["ann"], [ANN, owner]) == "open"
    assert status([OWNER], ["olga"], [ANN, owner]) == "approved"
    assert status([Requirement("owner", "build")], ["olga"], [owner]) == "unsatisfiable", (
        "no agent works there"
    )


def test_one_vote_fills_one_place() -> None:
    assert status([REVIEWER, SECURITY], ["ben"], [ANN, BEN]) == "open"
    assert status([REVIEWER, SECURITY], ["ben"], [BEN]) == "unsatisfiable"


@pytest.mark.parametrize("votes", list(permutations(["ann", "ben"])))
def test_a_vote_takes_the_place_that_leaves_the_others_theirs(votes: tuple[str, ...]) -> None:
    assert status([REVIEWER, SECURITY], list(votes), [ANN, BEN]) == "approved"


def test_the_tally_says_who_fills_what_and_what_is_lacking() -> None:
    found = tally_votes([REVIEWER, SECURITY], [CountedVote("ben"), CountedVote("ann")], [ANN, BEN, EVA])
    assert dict(found.filled) == {"ann": 0, "ben": 1}
    assert found.lacking == (0, 0)
    assert tally_votes([REVIEWER, SECURITY], [CountedVote("eva")], [ANN, BEN, EVA]).lacking == (1, 0)


def test_the_tally_names_the_word_that_decided_and_whose_it_was() -> None:
    approved = tally_votes([REVIEWER], [CountedVote("ben"), CountedVote("ann")], [ANN, BEN])
    assert (approved.word, approved.by) == ("approve", "ben")
    waiting = tally_votes([REVIEWER], [], [ANN, BEN])
    assert (waiting.word, waiting.by, waiting.filled, waiting.lacking) == (None, None, (), (1,))
    refused = tally_votes(
        [Requirement("role", "reviewer", 2)], [CountedVote("ann"), CountedVote("ben", "reject")], [ANN, BEN]
    )
    assert (refused.filled, refused.lacking) == ((("ann", 0),), (1,))


def test_places_are_found_by_moving_several_people_and_only_where_that_helps() -> None:
    """Ann may do all three, Ben two, Eva one: each comes last once."""
    needs = [Requirement("role", name) for name in ("x", "y", "z")]
    ann, ben, eva = voter("ann", roles="x y z"), voter("ben", roles="x y"), voter("eva", roles="x")
    for order in permutations([ann, ben, eva]):
        found = tally_votes(needs, [CountedVote(each.person) for each in order], [ann, ben, eva])
        assert (found.status, dict(found.filled)) == ("approved", {"eva": 0, "ben": 1, "ann": 2})
    only = tally_votes(needs, [CountedVote("eva"), CountedVote("ben")], [voter("ben", roles="x"), eva])
    assert (only.status, len(only.filled), sum(only.lacking)) == ("unsatisfiable", 1, 2)


def test_a_named_person_is_that_person() -> None:
    assert status([LEAD], ["ann"], [ANN, LEA]) == "open"
    assert status([LEAD], ["lead"], [ANN, LEA]) == "approved"
    assert status([LEAD], [], [ANN]) == "unsatisfiable"


@pytest.mark.parametrize("word", ["reject", "send_back", "rework", "abort"])
def test_the_first_word_other_than_approve_decides(word: str) -> None:
    found = tally_votes(
        [Requirement("role", "reviewer", 2)], [CountedVote("ann"), CountedVote("ben", word)], [ANN, BEN]
    )
    assert (found.status, found.word, found.by) == ("rejected", word, "ben")


def test_words_after_the_decision_change_nothing() -> None:
    assert status([REVIEWER], ["ann", "ben:reject"], [ANN, BEN]) == "approved"
    assert status([REVIEWER], ["ben:reject", "ann"], [ANN, BEN]) == "rejected"


def test_votes_of_people_who_are_not_entitled_do_not_count() -> None:
    assert status([REVIEWER], ["zoe", "zoe:reject", "eva:reject"], [ANN, EVA]) == "open"


BARS = [
    ({}, {"ann", "eva"}),
    ({"requester_may": True}, {"ann", "ben", "eva"}),
    ({"producer_may": True}, {"ann", "lead", "eva"}),
    ({"requester_may": True, "producer_may": True}, {"ann", "ben", "lead", "eva"}),
]


@pytest.mark.parametrize(("may", "people"), BARS)
def test_e30_requester_and_producer_are_barred_unless_the_gate_says_so(
    may: dict[str, bool], people: set[str]
) -> None:
    approval = Approval(who=(REVIEWER, SECURITY), **may)
    members = ("ann", "ben", "eva", "lead")
    assert {
        each for each in members if barring_role_or_none(approval, each, ["ben"], {"lead"}) is None
    } == people


def test_who_is_requester_and_producer_needs_both_permissions() -> None:
    assert barring_role_or_none(Approval(requester_may=True), "ann", ["ann"], {"ann"}) == "producer"


needs = st.lists(
    st.builds(
        Requirement,
        st.sampled_from(["role", "group"]),
        st.sampled_from(["x", "y"]),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=3,
)
sets = st.frozensets(st.sampled_from(["x", "y"]))
crowds = st.lists(st.tuples(sets, sets), max_size=5)


@given(needs, crowds)
@settings(max_examples=100, deadline=None)
def test_the_matching_is_exact(
    requirements: list[Requirement], crowd: list[tuple[frozenset[str], frozenset[str]]]
) -> None:
    voters = [Voter(f"p{i}", roles, groups) for i, (roles, groups) in enumerate(crowd)]
    votes = [CountedVote(each.person) for each in voters]
    assert (tally_votes(requirements, votes, voters).status == "approved") is _by_trying(requirements, voters)
    assert can_people_satisfy(requirements, voters) is _by_trying(requirements, voters)


def _by_trying(requirements: list[Requirement], voters: list[Voter]) -> bool:
    """Every assignment of people to places."""
    places = [need for need in requirements for _ in range(need.count)]

    def fits(each: Voter, need: Requirement) -> bool:
        return need.name in (each.roles if need.kind == "role" else each.groups)

    chosen = permutations(voters, len(places))
    return any(all(map(fits, people, places)) for people in chosen)


@pytest.mark.parametrize(
    ("who", "one", "two"),
    [
        ([REVIEWER], ["ann"], ["ann", "ben"]),
        ([SECURITY], ["eva"], ["eva", "ben"]),
        ([LEAD], ["lead"], ["lead", "ann"]),
        ([LEAD, SECURITY], ["lead", "eva"], ["lead", "eva", "ben"]),
        ([ALL], ["ann", "ben", "lead"], ["ann", "ben", "lead"]),
    ],
)
def test_of_an_unproven_push_whoever_made_it_never_approves_alone(
    who: list[Requirement], one: list[str], two: list[str]
) -> None:
    """Whichever one of those who approve pushed, another of them did not."""
    policy, people = Approval(who=tuple(who)), [ANN, BEN, EVA, LEA]
    assert approval_policy_with_extra_votes(policy, ["person:7"]) == policy
    assert (
        approval_policy_with_extra_votes(Approval(who=tuple(who), producer_may=True), [UNPROVEN]).who
        == policy.who
    )
    more = list(approval_policy_with_extra_votes(policy, [UNPROVEN]).who)
    assert status(more, two, people) == "approved" and (one == two or status(more, one, people) == "open")
    alone = [voter("ann", roles="reviewer", groups="security"), voter("lead", roles="reviewer")]
    assert status(more, ["ann"], alone) != "approved" and status(more, ["lead"], alone) != "approved"
