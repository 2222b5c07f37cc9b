"""The parts of an assembly line, by their ids: what its rules need of one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    note_repeated_ids,
    objects_in_list,
    shortened_json,
    text_or_none,
)
from pipelines.routing.basics.wording import Wording as _

# What real lines name where no station has that name (T4).
ENDS: Final = {
    **dict.fromkeys(("done", "completed", "complete", "end"), "completed"),
    "failed": "failed",
    "cancelled": "cancelled",
    "blocked": "@blocked",
}
FROM: Final = ("fromStationId", "fromColumnId", "from")
TO: Final = ("toStationId", "toColumnId", "to")
GATE: Final = ("gateId", "gate")
ALSO: Final = "_alsoEnforce"
WORKED: Final = "dispatch_worker"


def first_named_value(rule: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((rule[name] for name in names if name in rule), None)


def station_trigger(station: Mapping[str, Any]) -> Mapping[str, Any]:
    trigger = station.get("trigger")
    return trigger if isinstance(trigger, Mapping) else {}


class AssemblyLine:
    def __init__(self, document: Mapping[str, Any], import_notes: ImportNotes) -> None:
        self.import_notes = import_notes
        self.part = "stations" if "stations" in document else "columns"
        self.of_rules = "transitionRules" if "transitionRules" in document else "transitions"
        self.stations = objects_in_list(import_notes, document.get(self.part), self.part)
        self.rules = objects_in_list(import_notes, document.get(self.of_rules), self.of_rules)
        self._rules_by_source: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for at, rule in self.rules:
            self._rules_by_source.setdefault(str(first_named_value(rule, FROM)), []).append((at, rule))
        self.gates = objects_in_list(import_notes, document.get("gates"), "gates")
        self.keys = {
            str(station.get("id")): import_notes.claim_key(
                station.get("id") or station.get("name"), "station"
            )
            for _place, station in self.stations
        }
        note_repeated_ids(self.stations, import_notes)
        note_repeated_ids(self.gates, import_notes)
        self.gate_keys: dict[str, str] = {}
        for number, (_place, gate) in enumerate(self.gates, start=1):
            # Two ids may differ only in what a key cannot say
            self.gate_keys[str(gate.get("id"))] = import_notes.claim_gate_key(
                gate.get("id"), f"gate-{number}"
            )
        self.sinks = {
            str(station.get("id"))
            # Tasks start at the first station, so it is never an end.
            for _place, station in self.stations[1:]
            # Where nothing leads anywhere, every station would be an end.
            if self.rules
            and station_trigger(station).get("type") != WORKED
            and not self.rules_from(str(station.get("id")))
        }
        """Stations where nothing works and nothing leads on: tasks end there (T5)."""
        self.asks = False
        self.typed_tests = 0
        self.questions: dict[str, list[Json]] = {}
        """Of a station by its key: the stations that its typed conditions are here."""

    def rules_from(self, identity: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Its rules, with their places."""
        return self._rules_by_source.get(identity, [])

    def target_key_or_fault(self, document: Any, path: str) -> str | None:
        identity = document.get("toStationId") if isinstance(document, Mapping) else document
        if str(identity) in self.keys:
            return self.keys[str(identity)]
        if text_or_none(identity) in ENDS:
            self.import_notes.note_loss(
                path, _("no station is called %(name)s: it is read as an end", name=identity)
            )
            return ENDS[str(identity)]
        self.import_notes.note_fault(path, _("there is no station %(id)s", id=shortened_json(identity)))
        return None

    def required_gates(self, rule: Mapping[str, Any], at: str) -> list[str]:
        gate_ids = [value for name in GATE if (value := rule.get(name))]
        gate_ids += self.import_notes.texts_or_loss(rule.get(ALSO), f"{at}.{ALSO}")
        gate_keys = []
        for gate in dict.fromkeys(map(str, gate_ids)):
            if gate in self.gate_keys:
                gate_keys.append(self.gate_keys[gate])
            else:
                self.import_notes.note_fault(f"{at}.gateId", _("there is no gate %(id)s", id=gate[:80]))
        return gate_keys
