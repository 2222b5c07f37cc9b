"""A change in one sentence, with the names that people know; and both lines in one picture."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pipelines.formats.changes import document_changes
from pipelines.formats.overlay import PicturePlace, changed_place, overlay_documents
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.expected_results import TASK_LIMITS
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.gates import APPROVAL
from pipelines.routing.document.line import read_line
from pipelines.routing.document.model import FLAGS
from pipelines.routing.document.policy import POLICY
from pipelines.routing.document.stations import LIMITS
from pipelines.routing.sentences.changes import FIELDS, change_sentence, field_change
from pipelines.routing.sentences.excerpts import MAX_VALUE, both_texts_cut_where_they_differ
from pipelines.routing.sentences.fields import RECORDS
from tests.factories import document, station

HIGH = {"output": {"path": "$.high", "op": "gt", "value": 0}}


def line() -> dict[str, Any]:
    rules = [
        {"id": "high", "label": "High", "when": HIGH, "to": "fix", "gates": ["look"]},
        {"id": "rest", "to": "ship"},
    ]
    stations = [
        station("build", *rules, name="Build"),
        station("fix", name="Fix"),
        station("ship", name="Ship"),
    ]
    return read_line(document(stations, gates=[{"key": "look", "name": "A look"}])).to_document()


def edited(edit: Any) -> dict[str, Any]:
    found = copy.deepcopy(line())
    edit(found)
    return found


def build(found: dict[str, Any]) -> dict[str, Any]:
    return found["stations"][0]


def rule(found: dict[str, Any]) -> dict[str, Any]:
    return build(found)["rules"][0]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda d: rule(d).update(to="ship"), "Build, rule 1, “High”: Target: Fix → Ship."),
        (
            lambda d: rule(d).update(when={"result": "failure"}),
            "Build, rule 1, “High”: Condition: high is greater than 0 → result is failure.",
        ),
        (
            lambda d: rule(d).pop("gates"),
            "Build, rule 1, “High”: Gates: A look → nothing.",
        ),
        (lambda d: build(d)["rules"].pop(), "Build, rule 2, is gone: always → Ship."),
        (
            lambda d: build(d)["rules"].insert(0, {"id": "x", "when": {"odd": 1}, "to": ["fix", "@blocked"]}),
            'Build has a new rule 1: {"odd": 1} → Fix and an answer (blocked).',
        ),
        (
            lambda d: build(d)["rules"].reverse(),
            "The rules of Build are tried in another order: rule 2, “High”; before: “High”, rule 2.",
        ),
        (lambda d: d["stations"].pop(1), "Station Fix is gone."),
        (
            lambda d: d["policy"].update(no_match="fail"),
            "No rule matches a passed outcome: “The next station in order” → “The task fails”.",
        ),
        (
            lambda d: d["policy"].update(on_failure="station:fix"),
            "No rule matches a failure: “The task fails” → “On to Fix”.",
        ),
        (
            lambda d: d["policy"].update(revisit="limit:3"),
            "Coming to a station again: “Allowed” → “Allowed, limited to 3”.",
        ),
        (
            lambda d: d["flags"].update(agentic_conditions=True),
            "Conditions may ask an evaluator or a hook: “No” → “Yes”.",
        ),
        (
            lambda d: rule(d).update(on_exhausted={"to": "ship"}),
            "Build, rule 1, “High”: When a limit is used up: nothing → On to Ship.",
        ),
        (
            lambda d: build(d).update(limits={"max_timeout": 5400}),
            "Build: Timeout: nothing → 90m.",
        ),
        (
            lambda d: build(d)["work"].update(made_up=1),
            "Build: made up: nothing → 1.",
        ),
        (
            lambda d: build(d).update(join={"wait_for": ["fix", "ship"], "aggregation": "any-pass"}),
            "Build: Join: nothing → Joins the branches from: Fix, Ship; Continues when: one branch passed.",
        ),
        (
            lambda d: d["gates"][0].update(
                checks={"any": [{"field": "exit_code", "operator": "equals", "value": 0, "action": "rework"}]}
            ),
            "Gate A look: Checks: nothing → any of: exit_code is 0 (Rework: the rules as after a failure).",
        ),
        (
            lambda d: d["gates"][0]["approval"].update(who=[{"group": "leads", "count": 2}]),
            "Gate A look: Who decides: Role: reviewer; How many of them: 1 → "
            "Group: leads; How many of them: 2.",
        ),
        (lambda d: d.update(start="ship"), "First station: Build → Ship."),
        (
            lambda d: d.update(extra={"editor": {"positions": {"build": [0, 1]}}}),
            "Build stands elsewhere on the canvas.",
        ),
    ],
)
def test_a_change_is_said_in_one_sentence(edit: Any, words: str) -> None:
    new = edited(edit)
    (found,) = document_changes(line(), new)
    assert change_sentence(found, line(), new) == words


def test_a_guarantee_is_said_by_what_it_promises_and_not_by_its_id() -> None:
    promise = {"id": "own-id", "never": {"reach": "ship", "without": "look"}}
    [changed] = document_changes(line(), new := edited(lambda d: d.update(guarantees=[promise])))
    said = people_text(change_sentence(changed, line(), new))
    assert said == "Guarantees: nothing → “Nothing reaches Ship without A look”."


def test_long_texts_are_cut_where_they_begin_to_differ_and_kept_whole() -> None:
    long = "Plan the work. " * 20
    before, now = f"{long}Ask the owner first.", f"{long}Ask nobody at all."
    old = edited(lambda d: build(d)["work"].update(made_up=before))
    new = edited(lambda d: build(d)["work"].update(made_up=now))
    (found,) = document_changes(old, new)
    said = field_change(found, old, new)
    assert str(said.what) == "Build: made up"
    assert (str(said.before)[:2], str(said.now)[:2]) == ("“…", "“…")
    assert str(said.before).endswith("Ask the owner first.”")
    assert str(said.now).endswith("Ask nobody at all.”")
    assert said.whole is not None
    assert [str(each) for each in said.whole] == [f"“{before}”", f"“{now}”"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("a" * 500, "a" * 499 + "b"), ("a" * 130, ""), ("x y " * 60, "x y " * 90), ("1", "2" * 1000)],
)
def test_a_cut_text_shows_a_difference_and_is_no_longer_than_its_room(one: str, other: str) -> None:
    shown = [both_texts_cut_where_they_differ(one, other)(each) for each in (one, other)]
    assert shown[0] != shown[1]
    assert max(map(len, shown)) <= MAX_VALUE


OTHER = {
    "no_rules": "refuse",
    "no_match": "stuck",
    "on_failure": "escalate",
    "failure_rules": "no",
    "revisit": "forbid",
    "self_loop_limit": "none",
    "on_reject": "reviewer_chooses",
    "on_exhausted": "escalate",
    "condition_scope": "merged",
    "contradiction": "escalate",
    "visit_cap": 7,
    "standard_budgets": "yes",
    "preconditions": "yes",
    "deadlocks": "yes",
}


def test_every_policy_has_another_value_here() -> None:
    assert set(OTHER) == set(POLICY.fields)


@pytest.mark.parametrize(("policy", "value"), OTHER.items())
def test_a_policy_is_said_without_its_key_and_its_word(policy: str, value: Any) -> None:
    new = edited(lambda d: d["policy"].update({policy: value}))
    (found,) = document_changes(line(), new)
    said = change_sentence(found, line(), new)
    assert policy not in said
    assert "Policy" not in said
    assert isinstance(value, int) or f"“{value}”" not in said


@pytest.mark.parametrize("kind", RECORDS)
def test_every_field_has_a_name_that_is_no_key(kind: str) -> None:
    fields = {
        f"{part}.{key}" if part else key: field
        for part, record in (("", RECORDS[kind]), *PARTS.get(kind, {}).items())
        for key, field in record.fields.items()
    }
    nameless = [
        path for path, field in fields.items() if "_" in path and not (field.label or path in FIELDS[kind])
    ]
    assert not nameless


PARTS: dict[str, dict[str, Record[Any]]] = {
    "line": {"policy": POLICY, "flags": FLAGS, "limits": TASK_LIMITS},
    "station": {"limits": LIMITS},
    "gate": {"approval": APPROVAL},
}


def test_any_json_is_said_in_words() -> None:
    old, new = {"stations": [{"key": "a", "rules": [{"id": "x"}]}]}, {"stations": [{"key": "a", "rules": 3}]}
    assert [change_sentence(each, old, new) for each in document_changes(old, new)]
    assert [change_sentence(each, new, old) for each in document_changes(new, old)]
    assert [
        change_sentence(each, {}, {"gates": [7], "x": {"y": [1]}})
        for each in document_changes({}, {"gates": [7], "x": 1})
    ]


# The picture


def drawn(new: dict[str, Any]) -> Any:
    return overlay_documents(line(), new, document_changes(line(), new))


def keys(found: list[dict[str, Any]], identity: str = "key") -> list[str]:
    return [each[identity] for each in found]


def test_what_is_gone_stays_in_the_picture_where_it_stood() -> None:
    found = drawn(edited(lambda d: d["stations"].pop(1)))
    assert keys(found.document["stations"]) == ["build", "fix", "ship"]
    assert found.stations == {"fix": "removed"}


def test_a_rule_that_is_gone_stands_behind_those_that_keep_their_numbers() -> None:
    found = drawn(edited(lambda d: build(d)["rules"].pop(0)))
    assert keys(build(found.document)["rules"], "id") == ["rest", "high"]
    assert found.rules == {"high": "removed"}


def test_where_a_rule_led_before_is_a_ghost() -> None:
    found = drawn(edited(lambda d: rule(d).update(to="ship")))
    assert found.rules == {"high": "changed", "high (before)": "removed"}
    assert build(found.document)["rules"][2]["to"] == "fix"


def test_only_what_decides_counts_as_changed() -> None:
    renamed = drawn(edited(lambda d: build(d).update(name="Make")))
    assert renamed.stations == {"build": "edited"}
    moved = drawn(edited(lambda d: d.update(extra={"editor": {"positions": {"ship": [0, 1]}}})))
    assert moved.stations == {"ship": "moved"}


def test_a_gate_that_asks_otherwise_marks_the_rules_that_ask_it() -> None:
    new = edited(lambda d: d["gates"][0].update(mode="skip"))
    found = drawn(new)
    assert found.rules == {"high": "changed"}
    (change,) = document_changes(line(), new)
    assert changed_place(change, found.document) == PicturePlace("build", "high")
