"""Differences in the definitions of a version beside its rules, in sentences for people: “New tasks started
at Build; now …”."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pipelines.routing.basics.wording import PartName, Wording, joined_wording, people_text
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.fields.field import Field
from pipelines.routing.document.fields.nested import ObjectField
from pipelines.routing.document.fields.plain_fields import Texts
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import LIMITS, STATION
from pipelines.routing.sentences import part_names as named
from pipelines.routing.sentences.differences import DecidedSample, VersionPair, sample_sentence
from pipelines.routing.sentences.fields import field_label, find_declared_field, quoted_value_words
from pipelines.routing.sentences.names import place_name, station_name
from pipelines.routing.sentences.values import unquoted_json


class DefinitionChange(Protocol):
    """Difference in a definition that is not a region."""

    @property
    def what(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def old(self) -> Any: ...
    @property
    def new(self) -> Any: ...
    @property
    def sample(self) -> DecidedSample | None: ...


Say = Callable[[VersionPair, DefinitionChange], str]


def structural_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    what = SENTENCES[change.what](pair, change)
    if change.sample is None:
        return _("%(what)s.", what=what)
    return _("%(what)s. %(sample)s", what=what, sample=sample_sentence(pair, change.sample))


def _start_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    return _(
        "New tasks started at %(old)s; now they start at %(new)s",
        old=station_name(pair.old, change.old),
        new=station_name(pair.new, change.new),
    )


def _station_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    words = {"old": change.old, "new": change.new}
    if change.new is None:
        return Wording.of(
            f"Station {change.old} ({change.key}) is gone; tasks that stand there have no place in the new version",
            _("Station %(old)s is gone; tasks there have no place in the new version", **words),
        )
    return Wording.of(f"Station {change.new} ({change.key}) is new", _("Station %(new)s is new", **words))


def _station_gate_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    words = {
        "station": station_name(pair.new, change.key),
        "old": _gate_name(pair.old, change.old),
        "new": _gate_name(pair.new, change.new),
    }
    if str(words["old"]) == str(words["new"]):
        return _("The gate %(new)s of station %(station)s is defined otherwise", **words)
    return _("Station %(station)s had %(old)s before its rules; now it has %(new)s", **words)


def _gate_name(line: ParsedLine, key: str | None) -> PartName | str:
    return named.gate_name_even_for_machines(line, key) if key else "no gate"


def _end_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    line = pair.old if change.new is None else pair.new
    words = {"end": named.target_part_name(line, change.key), "old": change.old, "new": change.new}
    if change.new is None:
        return _("End %(end)s is gone", **words)
    if change.old is None:
        return _("End %(end)s (%(new)s) is new", **words)
    return _("End %(end)s was %(old)s; now it is %(new)s", **words)


def _approval_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    parts = [
        _("%(part)s was %(old)s, now %(new)s", **_gate_part_values(pair, change, key))
        for key in change.new
        if change.old[key] != change.new[key]
    ]
    gate = named.gate_name_even_for_machines(pair.new, change.key)
    return _("Gate %(gate)s asks otherwise: %(parts)s", gate=gate, parts=joined_wording(parts, "; "))


def _gate_part_values(pair: VersionPair, change: DefinitionChange, key: str) -> dict[str, object]:
    field = find_declared_field("gate", f"approval.{key}") or find_declared_field("gate", key)
    sides = (("old", pair.old, change.old[key]), ("new", pair.new, change.new[key]))
    convert = _requirement_documents if key == "who" else lambda value: value
    return {
        "part": PartName(key, lambda: people_text(PARTS[key]) if key in PARTS else field_label(field, key)),
        **{
            side: PartName(unquoted_json(value), partial(_value_text, line, field, convert(value)))
            for side, line, value in sides
        },
    }


def _requirement_documents(rows: list[list[Any]]) -> list[dict[str, Any]]:
    """Return the requirements as the document writes them; `difference` has rows of kind, name and count."""
    return [{row[0]: row[1], "count": row[2]} for row in rows]


PARTS = {"who": "who decides", "due": "due time"}


def _value_text(line: ParsedLine, field: Field | None, value: Any) -> str:
    if value is None:
        return people_text("none")
    return quoted_value_words(field, value, partial(place_name, line))


def _order_sentence(pair: VersionPair, change: DefinitionChange) -> str:
    old, new = (", ".join(station_name(pair.new, key) for key in keys) for keys in (change.old, change.new))
    return _("The order of the stations was %(old)s; now it is %(new)s", old=old, new=new)


def _old_and_new_texts(pair: VersionPair, change: DefinitionChange, field: Field | None) -> dict[str, object]:
    """Return the old and the new value, with names."""
    sides = (("old", pair.old, change.old), ("new", pair.new, change.new))
    return {side: _value_text(line, field, value) for side, line, value in sides}


def _option_sentence_writer(machine: str, what: str, path: str) -> Say:
    """Return the sentence about an option of the line: its name for machines, what people do, and its path in
    the document."""

    def option_wording(pair: VersionPair, change: DefinitionChange) -> str:
        values = _old_and_new_texts(pair, change, find_declared_field("line", path))
        people = _("%(what)s: %(old)s → %(new)s", what=what, **values)
        return Wording.of(
            f"{machine} was {unquoted_json(change.old)}; now it is {unquoted_json(change.new)}", people
        )

    return option_wording


def _station_field_sentence_writer(machine: str, what: str, path: str = "") -> Say:
    def field_wording(pair: VersionPair, change: DefinitionChange) -> str:
        name = station_name(pair.new, change.key)
        old, new = ("none" if value is None else unquoted_json(value) for value in (change.old, change.new))
        field = EXPECTED if change.what == "expects" else find_declared_field("station", path)
        values = _old_and_new_texts(pair, change, field)
        people = _("%(station)s, %(what)s: %(old)s → %(new)s", what=what, station=name, **values)
        return Wording.of(f"{machine} {name}: was {old}, now {new}", people)

    return field_wording


EXPECTED = ObjectField(
    Record(
        dict,
        {
            "expects": STATION.fields["expects"],
            "outcome_of": replace(STATION.fields["outcome_of"], label="What failures count as"),
            "artifacts": Texts(label="Files that it has to leave"),
            "cost_usd": LIMITS.fields["cost_usd"],
        },
    )
)
"""What `difference` compares as one: the parts of a station that say what is expected of it."""
SENTENCES: dict[str, Say] = {
    "start": _start_sentence,
    "revisit": _option_sentence_writer("The policy revisit", "Coming to a station again", "policy.revisit"),
    "visit_cap": _option_sentence_writer("The cap of visits", "Most runs of one station", "policy.visit_cap"),
    "on_exhausted": _option_sentence_writer(
        "The policy on_exhausted", "When a limit is used up", "policy.on_exhausted"
    ),
    "condition_scope": _option_sentence_writer(
        "What conditions read (condition_scope)", "What conditions read", "policy.condition_scope"
    ),
    "contradiction": _option_sentence_writer(
        "The policy contradiction", "When branches contradict each other", "policy.contradiction"
    ),
    "jumps": _option_sentence_writer(
        "Where work may jump: it", "Where work may jump when it is complete", "jumps"
    ),
    "jump_review": _option_sentence_writer(
        "The review of jumps (on a reject)", "When the review of a jump rejects", "policy.on_reject"
    ),
    "order": _order_sentence,
    "forbidden_parallel": _option_sentence_writer(
        "Pairs that may not run in parallel: it",
        "Stations that never run in parallel",
        "forbidden_parallel",
    ),
    "budgets": _option_sentence_writer("The budgets of the line: it", "Limits of the line", "budgets"),
    "cost": _option_sentence_writer(
        "The most that a task may cost", "Most cost of a task", "limits.cost_usd"
    ),
    "escalations": _option_sentence_writer(
        "Who is told of escalations: it", "Who is told of escalations", "escalations"
    ),
    "station": _station_sentence,
    "station_gate": _station_gate_sentence,
    "max_visits": _station_field_sentence_writer("Entries allowed of", "most runs", "limits.max_visits"),
    "signal_reworks": _station_field_sentence_writer(
        "Reworks by signal allowed at", "most reworks by signal"
    ),
    "result_document": _station_field_sentence_writer(
        "Whether a result document is required of", "result document required"
    ),
    "failed": _station_field_sentence_writer("The eval of a failure at", "eval of a failure"),
    "expects": _station_field_sentence_writer("What is expected of", "what is expected"),
    "join": _station_field_sentence_writer("The join of", "join", "join"),
    "stage": _station_field_sentence_writer("The stage of", "stage", "stage"),
    "requires": _station_field_sentence_writer(
        "What a forward move needs at", "what a forward move needs", "requires"
    ),
    "agent": _station_field_sentence_writer("The agent of", "agent", "agent"),
    "handoff": _station_field_sentence_writer(
        "The schema of the handoff of", "schema of the handoff", "handoff"
    ),
    "approval": _approval_sentence,
    "end": _end_sentence,
}
