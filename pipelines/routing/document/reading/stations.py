"""Stations and ends of a document."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.problems import join
from pipelines.routing.document.ends import BUILT_IN_ENDS, End
from pipelines.routing.document.fields.field import NOWHERE
from pipelines.routing.document.kinds import DEFAULT, KINDS
from pipelines.routing.document.reading.names import Names, note_twins, read_key, refers
from pipelines.routing.document.reading.needs import read_handoff, read_requires
from pipelines.routing.document.reading.reader import Reader, quote
from pipelines.routing.document.reading.rules import RuleReader
from pipelines.routing.document.stations import RESOURCES, Join, Limits, Station

RESULT_DOCUMENT = ("required", "optional", "none")
AGGREGATIONS = ("all-pass", "any-pass", "majority-pass", "none")


class StationReader:
    def __init__(self, names: Names, rules: RuleReader) -> None:
        self.names = names
        self.rules = rules

    def __call__(self, reader: Reader) -> Station:
        key = read_key(reader)
        station = Station(
            key=key,
            name=reader.text("name", key),
            work=reader.one("work", read_work) or {"kind": DEFAULT.key},
            output_keys=reader.texts("output_keys"),
            result_document=reader.choice("result_document", RESULT_DOCUMENT, "none"),
            limits=reader.one("limits", _limits) or Limits(),
            labels=reader.texts("labels"),
            resources=reader.one("resources", _resources) or {},
            gate=reader.optional_text("gate"),
            join=reader.one("join", self._join),
            stage=reader.text("stage"),
            agent=reader.text("agent", longest=64),
            requires=read_requires(reader),
            handoff=read_handoff(reader),
            rules=reader.each("rules", self.rules),
            extra=reader.object("extra"),
        )
        refers(reader, "gate", station.gate, self.names.gates, "gate")
        refers(reader, "stage", station.stage, self.names.stations, "station")
        if reader.given.get("gate") == "":
            reader.note("gate", "is empty")
        reader.done()
        return station

    def _join(self, reader: Reader) -> Join:
        wait_for = reader.texts("wait_for")
        if not reader.given.get("wait_for"):
            reader.note("wait_for", "names no station")
        for index, station in enumerate(wait_for):
            if station not in self.names.stations:
                path = join(reader.at("wait_for"), index)
                reader.problems.note(path, f"the line has no station {quote(station)}")
        note_twins(reader, "wait_for", wait_for, "the station")
        found = Join(wait_for, reader.choice("aggregation", AGGREGATIONS, "all-pass"))
        reader.done()
        return found


def read_work(reader: Reader) -> dict[str, Any]:
    """The keys of the kinds that exist are checked; other kinds keep theirs as they are."""
    kind = reader.text("kind", required=True, longest=64)
    known = KINDS.get(kind)
    if known is None:
        return reader.given
    known.record.read(reader, NOWHERE)
    return reader.given


def _limits(reader: Reader) -> Limits:
    limits = Limits(
        idle_timeout=reader.duration("idle_timeout"),
        max_timeout=reader.duration("max_timeout"),
        expected=reader.duration("expected"),
        max_visits=reader.count("max_visits"),
        max_retries=reader.count("max_retries"),
    )
    reader.done()
    return limits


def _resources(reader: Reader) -> dict[str, int]:
    found = {key: reader.count(key, least=1) for key in RESOURCES}
    reader.done()
    return {key: value for key, value in found.items() if value is not None}


def read_end(reader: Reader) -> End:
    key = read_key(reader)
    kind = reader.choice("kind", tuple(BUILT_IN_ENDS), "completed")
    if not reader.has("kind"):
        reader.note("kind", "is missing")
    elif BUILT_IN_ENDS.get(key, kind) != kind:
        reader.note("kind", f"the end {quote(key)} exists always and is {BUILT_IN_ENDS[key]}")
    end = End(key, kind, reader.text("label"), reader.object("extra"))
    reader.done()
    return end
