"""Named budgets of a document (law §8): each kind with the lists that it reads."""

from __future__ import annotations

from collections.abc import Collection

from pipelines.routing.basics.problems import join
from pipelines.routing.document.budgets import KINDS, NEEDS, Budget
from pipelines.routing.document.reading.names import Names, read_key
from pipelines.routing.document.reading.reader import Reader, expected, quote
from pipelines.routing.document.reading.rules import read_exhausted

DEFAULT_KIND = "rules"
MAX_ROLE = 64


class BudgetReader:
    def __init__(self, names: Names) -> None:
        self.names = names

    def __call__(self, reader: Reader) -> Budget:
        key = read_key(reader)
        kind = reader.choice("kind", tuple(KINDS), DEFAULT_KIND)
        if not reader.has("kind"):
            reader.note("kind", "is missing", f"known: {', '.join(KINDS)}")
        on_exhausted, to = read_exhausted(reader, self.names)
        budget = Budget(
            key=key,
            kind=kind,
            most=_most(reader),
            rules=self._listed(reader, kind, "rules", self.names.rules, "rule"),
            edges=self._edges(reader, kind),
            stations=self._listed(reader, kind, "stations", self.names.stations, "station"),
            failure_types=self._listed(reader, kind, "failure_types", None, "failure type"),
            on_exhausted=on_exhausted,
            exhausted_to=to,
            role=reader.text("role", longest=MAX_ROLE) or None,
            label=reader.text("label"),
            extra=reader.object("extra"),
        )
        reader.done()
        return budget

    def _listed(
        self, reader: Reader, kind: str, name: str, known: Collection[str] | None, what: str
    ) -> tuple[str, ...]:
        if name not in KINDS[kind]:
            # Unknown to this kind: `done` says so.
            return ()
        found = reader.texts(name)
        _needed(reader, kind, name, found)
        for index, each in enumerate(found):
            if known is not None and each not in known:
                path = join(reader.at(name), index)
                reader.problems.note(path, f"the line has no {what} {quote(each)}", expected(each, known))
        return tuple(dict.fromkeys(found))

    def _edges(self, reader: Reader, kind: str) -> tuple[str, ...]:
        if kind != "edges":
            return ()
        found = reader.texts("edges")
        _needed(reader, kind, "edges", found)
        for index, edge in enumerate(found):
            path = join(reader.at("edges"), index)
            source, arrow, target = edge.partition("->")
            if not arrow:
                reader.problems.note(path, f"{quote(edge)} is no edge", "write it as from->to")
            elif source not in self.names.stations:
                message = f"the line has no station {quote(source)}"
                reader.problems.note(path, message, expected(source, self.names.stations))
            elif target not in self.names.places:
                message = f"the line has no station or end {quote(target)}"
                reader.problems.note(path, message, expected(target, self.names.places))
        return tuple(dict.fromkeys(found))


def _needed(reader: Reader, kind: str, name: str, found: Collection[str]) -> None:
    if not found and kind in NEEDS and name == KINDS[kind][0]:
        reader.note(name, f"a budget of kind {kind} names some")


def _most(reader: Reader) -> int | None:
    """A whole number, or `none`, which switches a standard budget off."""
    if reader.given.get("most") == "none":
        return reader.raw("most") and None
    if not reader.has("most"):
        reader.note("most", "is missing", "a whole number, or none")
    return reader.count("most")
