"""What differs between two documents: typed, placed, and told apart by what it does to tasks."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats.changes import DocumentChange, Member, document_changes, paths_overlap
from pipelines.formats.line_merge import IDENTITY, ORDER, is_same_value
from pipelines.routing.document.line import read_line
from tests.factories import document, station

Document = dict[str, Any]


def line(**more: Any) -> Document:
    gates = [{"key": "look", "name": "A look"}]
    rules = [
        {"id": "good", "when": {"result": "success"}, "to": "ship", "gates": ["look"]},
        {"id": "bad", "label": "Bad", "to": "failed"},
    ]
    given = document([station("build", *rules), "ship"], gates=gates, **more)
    return read_line(given).to_document()


def edited(change: Any) -> Document:
    found = copy.deepcopy(line())
    change(found)
    return found


def build(found: Document) -> Document:
    return found["stations"][0]


def said(found: tuple[DocumentChange, ...]) -> list[tuple[str, str, str]]:
    return [(each.path, each.what, each.affects) for each in found]


@pytest.mark.parametrize(
    ("edit", "path", "what", "affects"),
    [
        (lambda d: build(d)["rules"][0].update(to="failed"), "stations[build].rules[good].to", "changed", "routing"),
        (lambda d: build(d)["rules"][0].update(gates=[]), "stations[build].rules[good].gates", "changed", "routing"),
        (lambda d: build(d)["rules"][0].pop("gates"), "stations[build].rules[good].gates", "removed", "routing"),
        (lambda d: build(d)["rules"].reverse(), f'stations[build].rules["{ORDER}"]', "order", "routing"),
        (lambda d: build(d)["rules"][1].update(label="No"), "stations[build].rules[bad].label", "changed", "words"),
        (lambda d: build(d)["rules"].pop(), "stations[build].rules[bad]", "removed", "routing"),
        (lambda d: build(d).update(name="Make"), "stations[build].name", "changed", "words"),
        (lambda d: build(d)["work"].update(kind="manual"), "stations[build].work.kind", "changed", "work"),
        (lambda d: build(d).update(gate="look"), "stations[build].gate", "added", "routing"),
        (lambda d: build(d).update(limits={"max_visits": 3}), "stations[build].limits.max_visits", "added", "routing"),
        (lambda d: build(d).update(limits={"expected": 3}), "stations[build].limits.expected", "added", "work"),
        (lambda d: d["stations"].append({"key": "new"}), "stations[new]", "added", "routing"),
        (lambda d: d["gates"].clear(), "gates[look]", "removed", "routing"),
        (lambda d: d["gates"][0].update(name="Looks"), "gates[look].name", "changed", "words"),
        (lambda d: d["gates"][0]["approval"].update(max_rounds=1),
         "gates[look].approval.max_rounds", "changed", "routing"),
        (lambda d: d["gates"][0].update(notify=["a@b.c"]), "gates[look].notify", "added", "work"),
        (lambda d: d["inputs"].append({"key": "ref"}), "inputs[ref]", "added", "form"),
        (lambda d: d["policy"].update(no_match="fail"), "policy.no_match", "changed", "routing"),
        (lambda d: d.update(start="ship"), "start", "changed", "routing"),
        (lambda d: d.update(name="Else"), "name", "changed", "words"),
        (lambda d: d.update(extra={"editor": {"positions": {"build": [1, 2]}}}),
         "extra.editor.positions.build", "added", "layout"),
        (lambda d: d.update(extra={"editor": {"notes": ["a"]}}), "extra.editor.notes", "added", "words"),
    ],
)  # fmt: skip
def test_each_edit_is_one_change_at_its_place(edit: Any, path: str, what: str, affects: str) -> None:
    assert said(document_changes(line(), edited(edit))) == [(path, what, affects)]


def test_a_move_on_the_canvas_is_no_change_of_the_line_and_tidying_neither() -> None:
    moved = line(extra={"editor": {"positions": {"build": [1, 2], "ship": [3, 4]}}})
    again = line(extra={"editor": {"positions": {"build": [1, 2], "ship": [3, 5]}}})
    assert said(document_changes(moved, again)) == [("extra.editor.positions.ship", "changed", "layout")]
    assert said(document_changes(moved, line())) == [("extra", "removed", "layout")]
    noted = line(extra={"editor": {"positions": {}, "notes": ["look here"]}})
    assert {each.affects for each in document_changes(noted, line())} == {"words"}


def test_a_rule_knows_its_station_and_where_it_stands_among_the_others() -> None:
    new = edited(lambda d: build(d)["rules"].insert(1, {"id": "new", "to": "ship"}))
    (found,) = document_changes(line(), new)
    assert (found.kind, found.key, found.station, found.place) == ("rule", "new", "build", 2)
    assert found.affects_routing


def test_a_document_that_is_no_line_is_compared_all_the_same() -> None:
    assert said(document_changes({"stations": "none"}, {"stations": [{"key": "a"}, {"key": "a"}]})) == [
        ("stations", "changed", "routing")
    ]
    assert document_changes({"name": True}, {"name": 1}), "strict by type, as JSON is"


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("stations[a]", "stations[a].rules[b].to", True),
        ("stations[a]", "stations[ab]", False),
        ("name", "name", True),
        ("na", "name", False),
        ("", "name", True),
    ],
)
def test_paths_touch_when_one_leads_to_the_other(one: str, other: str, together: bool) -> None:
    assert paths_overlap(one, other) is paths_overlap(other, one) is together


# Whatever the two are: the changes put into the first give the second, and none means that they are the same.

texts = st.sampled_from(["a", "b", "c"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(0, 2), texts)
fields = st.dictionaries(st.sampled_from(["name", "to", "work", "limits", "gate"]), st.one_of(
    scalars, st.lists(scalars, max_size=2), st.dictionaries(texts, scalars, max_size=2)), max_size=3)  # fmt: skip


def members(identity: str, inner: st.SearchStrategy[Document]) -> st.SearchStrategy[list[Document]]:
    one = st.tuples(texts, inner).map(lambda pair: {identity: pair[0], **pair[1]})
    return st.lists(one, max_size=3, unique_by=lambda each: each[identity])


rules = members("id", fields)
stations = members("key", st.tuples(fields, st.one_of(st.none(), rules)).map(
    lambda pair: {**pair[0], **({} if pair[1] is None else {"rules": pair[1]})}))  # fmt: skip
positions = st.dictionaries(texts, st.lists(st.integers(0, 2), max_size=2), max_size=2)
extras = st.one_of(st.just({}), positions.map(lambda at: {"editor": {"positions": at}}), fields)
documents = st.fixed_dictionaries(
    {},
    optional={
        "name": scalars,
        "stations": st.one_of(stations, scalars),
        "gates": members("key", fields),
        "policy": st.dictionaries(texts, scalars, max_size=2),
        "extra": extras,
    },
)


@given(documents, documents)
@settings(max_examples=300, deadline=None)
def test_no_change_means_the_same_document_and_the_changes_lead_from_one_to_the_other(
    one: Document, other: Document
) -> None:
    found = document_changes(one, other)
    assert (not found) is is_same_value(one, other)
    assert is_same_value(applied(one, found), other)
    assert document_changes(one, copy.deepcopy(one)) == ()


def applied(old: Mapping[str, Any], found: tuple[DocumentChange, ...]) -> Document:
    """As a reader of the list would do it by hand: what is gone, then the order, then the rest from the top."""
    made = copy.deepcopy(dict(old))
    rank = {"removed": 0, "order": 1, "added": 2, "changed": 2}
    for change in sorted(found, key=lambda each: rank[each.what]):
        *way, last = change.steps
        if last == ORDER:
            holder, name = _at(made, tuple(way[:-1])), str(way[-1])
            identity = IDENTITY[name]
            there = {each[identity]: each for each in holder[name]}
            holder[name] = [there[key] for key in change.new if key in there]
        elif isinstance(last, Member):
            holder, name = _at(made, tuple(way[:-1])), str(way[-1])
            if change.what == "removed":
                holder[name] = [each for each in holder[name] if each[IDENTITY[name]] != last.key]
            else:
                holder.setdefault(name, []).insert(change.place - 1, change.new)
        elif change.what == "removed":
            del _at(made, tuple(way))[last]
        else:
            _at(made, tuple(way))[last] = change.new
    return made


def _at(made: Any, steps: tuple[Any, ...]) -> Any:
    for index, step in enumerate(steps):
        if isinstance(step, Member):
            identity = IDENTITY[str(steps[index - 1])]
            made = next(each for each in made if each[identity] == step.key)
        else:
            made = made.setdefault(step, {})
    return made
