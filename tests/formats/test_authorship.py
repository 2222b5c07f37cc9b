"""Who changed what in a draft: noted place by place, forgotten when it is replaced, never more than the document."""

from __future__ import annotations

import copy
from typing import Any

from pipelines.formats.authorship import Author, authors_of_path, last_authors_since, updated_authorship
from pipelines.formats.changes import document_changes

BASE: dict[str, Any] = {
    "name": "Line",
    "stations": [{"key": "a", "rules": [{"id": "x", "to": "b"}]}, {"key": "b", "rules": []}],
}


class Draft:
    """Saved again and again, by these hands."""

    def __init__(self) -> None:
        self.document, self.notes, self.number = copy.deepcopy(BASE), {}, 1

    def save(self, person: str, edit: Any) -> None:
        new = copy.deepcopy(self.document)
        edit(new)
        self.number += 1
        self.notes = updated_authorship(
            self.notes, self.document, new, Author(person, self.number, f"t{self.number}")
        )
        self.document = new

    def by(self) -> dict[str, list[str]]:
        found = document_changes(BASE, self.document)
        return {each.path: [hand.person for hand in authors_of_path(each.path, self.notes)] for each in found}


def test_each_change_has_its_hand() -> None:
    draft = Draft()
    draft.save("ada", lambda d: d["stations"][0]["rules"][0].update(to="failed"))
    draft.save("bob", lambda d: d.update(name="Else"))
    assert draft.by() == {"stations[a].rules[x].to": ["ada"], "name": ["bob"]}


def test_what_is_new_has_the_hands_of_all_who_worked_on_it() -> None:
    draft = Draft()
    draft.save("ada", lambda d: d["stations"].append({"key": "c"}))
    draft.save("bob", lambda d: d["stations"][2].update(name="C"))
    assert draft.by() == {"stations[c]": ["ada", "bob"]}


def test_what_was_taken_out_is_the_last_ones_and_nothing_inside_it_is_remembered() -> None:
    draft = Draft()
    draft.save("ada", lambda d: d["stations"][0]["rules"][0].update(to="failed"))
    draft.save("bob", lambda d: d["stations"].pop(0))
    assert draft.by() == {"stations[a]": ["bob"]}
    assert list(draft.notes) == ["stations[a]"]


def test_what_was_put_back_is_no_change_of_anybody() -> None:
    draft = Draft()
    draft.save("ada", lambda d: d.update(name="Else"))
    draft.save("bob", lambda d: d.update(name="Line"))
    assert draft.by() == {}


def test_who_made_the_document_made_what_nobody_else_did() -> None:
    notes = {"": {"ada": [1, "t1"]}, "name": {"bob": [2, "t2"]}}
    assert [hand.person for hand in authors_of_path("stations[a]", notes)] == ["ada"]
    assert [hand.person for hand in authors_of_path("name", notes)] == ["bob"]
    assert authors_of_path("name", {}) == ()


def test_a_preset_is_the_hand_behind_every_knob_it_fills() -> None:
    draft = Draft()
    draft.save("ada", lambda d: d.update(preset="aeef"))
    assert [hand.person for hand in authors_of_path("policy.no_match", draft.notes)] == ["ada"]


def test_what_changed_since_a_draft_that_was_seen() -> None:
    draft = Draft()
    draft.save("ada", lambda d: d.update(name="Else"))
    seen = draft.number
    draft.save("bob", lambda d: d["stations"][1].update(name="B"))
    draft.save("ada", lambda d: d["stations"][1].update(name="Bee"))
    assert last_authors_since(seen, draft.notes) == {"stations[b].name": Author("ada", 4, "t4")}
    assert last_authors_since(draft.number, draft.notes) == {}
