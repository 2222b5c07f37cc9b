"""Two people edit one line: disjoint edits are merged, conflicting ones are shown, none is lost unseen."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats.line_merge import merge_documents

Document = dict[str, Any]
Edit = Callable[[Document], None]


def base() -> Document:
    return {
        "key": "line",
        "name": "Line",
        "policy": {"no_match": "stuck"},
        "stations": [
            {"key": "a", "name": "A", "rules": [{"id": "a1", "to": "b"}, {"id": "a2", "to": "failed"}]},
            {"key": "b", "name": "B", "rules": [{"id": "b1", "to": "completed"}]},
        ],
    }


def edited(edit: Edit) -> Document:
    document = copy.deepcopy(base())
    edit(document)
    return document


def station(document: Document, key: str) -> Document:
    return next(each for each in document["stations"] if each["key"] == key)


def rename(key: str, name: str) -> Edit:
    return lambda document: station(document, key).update(name=name)


def retarget(rule: int, to: str) -> Edit:
    return lambda document: station(document, "a")["rules"][rule].update(to=to)


def add_rule(index: int, key: str) -> Edit:
    return lambda document: station(document, "a")["rules"].insert(index, {"id": key, "to": "b"})


def add_station(key: str) -> Edit:
    return lambda document: document["stations"].append({"key": key})


def swap_rules(document: Document) -> None:
    station(document, "a")["rules"].reverse()


def remove_a(document: Document) -> None:
    document["stations"] = document["stations"][1:]


DISJOINT = [
    (rename("a", "First"), rename("b", "Second")),
    (rename("a", "First"), retarget(0, "failed")),
    (retarget(0, "failed"), retarget(1, "completed")),
    (swap_rules, retarget(1, "completed")),
    (swap_rules, rename("a", "First")),
    (add_rule(0, "first"), add_rule(2, "last")),
    (add_station("c"), add_station("d")),
    (add_station("c"), remove_a),
    (lambda d: d.update(name="Other"), lambda d: d["policy"].update(no_match="fail")),
    (lambda d: d.update(flags={"agentic_conditions": True}), remove_a),
]

CLASHES = [
    (rename("a", "First"), rename("a", "Second"), ["stations[a].name"]),
    (retarget(0, "failed"), retarget(0, "completed"), ["stations[a].rules[a1].to"]),
    (remove_a, rename("a", "Second"), ["stations[a]"]),
    (add_rule(2, "mine"), add_rule(2, "theirs"), ['stations[a].rules["(order)"]']),
    (lambda d: d.update(name="Mine"), lambda d: d.pop("name"), ["name"]),
    (lambda d: d.update(stations="none"), rename("a", "Second"), ["stations"]),
]


@pytest.mark.parametrize(("mine", "theirs"), DISJOINT)
def test_disjoint_edits_are_both_there(mine: Edit, theirs: Edit) -> None:
    merged = merge_documents(base(), edited(mine), edited(theirs))
    assert merged.clashes == ()
    for change in (mine, theirs):
        alone = merge_documents(base(), edited(change), merged.document)
        assert alone.clashes == ()
        assert alone.document == merged.document  # what was merged holds the change already


@pytest.mark.parametrize(("mine", "theirs"), DISJOINT)
def test_whoever_saves_first_the_same_comes_out(mine: Edit, theirs: Edit) -> None:
    one = merge_documents(base(), edited(mine), edited(theirs)).document
    other = merge_documents(base(), edited(theirs), edited(mine)).document
    in_one, in_other = one.pop("stations"), other.pop("stations")
    assert sorted(in_one, key=lambda each: each["key"]) == sorted(in_other, key=lambda each: each["key"])
    assert one == other


@pytest.mark.parametrize(("mine", "theirs", "places"), CLASHES)
def test_what_both_changed_is_shown_with_both_sides(mine: Edit, theirs: Edit, places: list[str]) -> None:
    merged = merge_documents(base(), edited(mine), edited(theirs))
    assert [clash.path for clash in merged.clashes] == places
    assert merged.clashes[0].mine != merged.clashes[0].theirs


def test_both_reorder_the_same_rules_in_different_ways() -> None:
    ids = ["a1", "a2", "a3"]

    def with_rules(*order: str) -> Document:
        return {"stations": [{"key": "a", "rules": [{"id": each} for each in order]}]}

    merged = merge_documents(with_rules(*ids), with_rules("a2", "a1", "a3"), with_rules("a1", "a3", "a2"))
    assert len(merged.clashes) == 1
    assert merged.clashes[0].mine == ["a2", "a1", "a3"]


def test_true_and_one_are_two_values() -> None:
    merged = merge_documents({"x": 0}, {"x": True}, {"x": 1})
    assert [clash.path for clash in merged.clashes] == ["x"]


json = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
rules = (
    st.lists(st.fixed_dictionaries({"id": st.sampled_from("xyz")}, optional={"to": json}), max_size=3) | json
)
stations = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from("pqr")}, optional={"rules": rules, "name": json}),
    max_size=3,
)
documents = st.fixed_dictionaries({}, optional={"name": json, "stations": stations | json, "extra": json})


@given(documents, documents)
@settings(max_examples=150, deadline=None)
def test_who_is_alone_gets_exactly_what_they_made(first: Document, second: Document) -> None:
    assert merge_documents(first, second, first).document == second
    assert merge_documents(first, first, second).document == second
    assert merge_documents(first, second, second).document == second


@given(documents, documents, documents)
@settings(max_examples=300, deadline=None)
def test_nothing_that_either_added_is_lost_unseen(first: Document, mine: Document, theirs: Document) -> None:
    merged = merge_documents(first, mine, theirs)
    if merged.clashes:
        return
    for side in (mine, theirs):
        for key, value in side.items():
            if key not in first:
                assert key in merged.document
                assert key in (theirs if side is mine else mine) or merged.document[key] == value


@given(documents, documents, documents)
@settings(max_examples=200, deadline=None)
def test_both_sides_clash_at_the_same_places(first: Document, mine: Document, theirs: Document) -> None:
    one, other = merge_documents(first, mine, theirs), merge_documents(first, theirs, mine)
    assert sorted(clash.path for clash in one.clashes) == sorted(clash.path for clash in other.clashes)
