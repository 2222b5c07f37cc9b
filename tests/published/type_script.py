"""Faults of a value by the types of a TypeScript declaration file: names that nobody published, other types, other
words of a list. A missing field is none: a server of the tests says what Gateline reads, not all that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DECLARED = re.compile(
    r"^(?:export )?(?:declare )?(?:interface (?P<interface>\w+)(?:<[^{]*>)?(?: extends (?P<bases>[^{]+))?"
    r"|type (?P<type>\w+) =) (?P<body>\{.*?^\}|[^{};][^;]*;)",
    re.M | re.S,
)
TOKEN = re.compile(r"\s*('[^']*'|\"[^\"]*\"|\w+|\[\]|[{}<>()|&,;:?\[\]])")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
PLAIN: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "undefined": (type(None),),
    "true": (bool,),
    "false": (bool,),
}
ANYTHING = frozenset({"any", "unknown", "Record", "never"})


@dataclass(frozen=True)
class Kind:
    """A type as it is written: a `name` with its arguments, the `fields` of an object, a list of `items`, a `word`,
    or one of several `choices`."""

    name: str = ""
    fields: Mapping[str, Kind] | None = None
    items: Kind | None = None
    word: str | None = None
    choices: tuple[Kind, ...] = ()


class DeclaredTypes:
    """Types of a file by their names. One that is taken from another file, or is computed, takes any value."""

    def __init__(self, text: str) -> None:
        self._kinds: dict[str, Kind] = {}
        self._bases: dict[str, list[str]] = {}
        for match in DECLARED.finditer(COMMENT.sub("", text)):
            name = match["interface"] or match["type"]
            self._bases[name] = re.findall(r"\b[A-Z]\w+", match["bases"] or "")
            self._kinds[name] = kind_of(match["body"])

    def faults(self, name: str, value: Any) -> list[str]:
        """Return what is wrong with a value of this type, each with its place."""
        assert name in self._kinds, f"{name} is not published"
        return list(self._faults(Kind(name), value, name))

    def _faults(self, kind: Kind, value: Any, at: str) -> Iterator[str]:
        if kind.choices:
            found = [list(self._faults(choice, value, at)) for choice in kind.choices]
            yield from min(found, key=len)
        elif kind.word is not None:
            if value != kind.word:
                yield f"{at}: {value!r} is not {kind.word!r}"
        elif kind.items is not None:
            if not isinstance(value, list):
                yield f"{at}: {value!r:.60} is no list"
            else:
                for number, item in enumerate(value):
                    yield from self._faults(kind.items, item, f"{at}[{number}]")
        elif kind.name in PLAIN:
            # A truth value is a number of Python
            if not isinstance(value, PLAIN[kind.name]) or (kind.name == "number" and isinstance(value, bool)):
                yield f"{at}: {value!r:.60} is no {kind.name}"
        elif (fields := self._fields_of(kind)) is not None:
            yield from self._object_faults(fields, value, at)
        elif kind.name in self._kinds:
            yield from self._faults(self._kinds[kind.name], value, at)

    def _object_faults(self, fields: Mapping[str, Kind], value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: {value!r:.60} is no object"
            return
        for name, part in value.items():
            if name not in fields:
                yield f"{at}.{name}: nobody published it"
            else:
                yield from self._faults(fields[name], part, f"{at}.{name}")

    def _fields_of(self, kind: Kind) -> dict[str, Kind] | None:
        """Return the fields of an object, with those that it inherits; None of what is no object."""
        if kind.fields is not None:
            return dict(kind.fields)
        declared = self._kinds.get(kind.name)
        if declared is None or declared.fields is None:
            return None
        inherited: dict[str, Kind] = {}
        for base in self._bases[kind.name]:
            inherited |= self._fields_of(Kind(base)) or {}
        return inherited | dict(declared.fields)


def kind_of(text: str) -> Kind:
    """Read a type; one that cannot be read takes any value."""
    try:
        return _Reader(text).kind()
    except ValueError:
        return Kind("any")


class _Reader:
    """Reads one type from its text."""

    def __init__(self, text: str) -> None:
        self._tokens = TOKEN.findall(text)
        self._at = 0

    def kind(self) -> Kind:
        choices = [self._listed()]
        while self._next() in ("|", "&"):
            self._at += 1
            choices.append(self._listed())
        return choices[0] if len(choices) == 1 else Kind(choices=tuple(choices))

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        self._at += 1
        return str(self._tokens[self._at - 1]) if self._at <= len(self._tokens) else ""

    def _listed(self) -> Kind:
        if self._next() == "|":
            self._at += 1
        found = self._single()
        while self._next() in ("[]", "["):
            if self._take() == "[]":
                found = Kind(items=found)
            else:
                # A field of a type, such as Post['id']: any value
                self._skip_to("]")
                found = Kind("any")
        return found

    def _single(self) -> Kind:
        token = self._take()
        if token == "{":
            return Kind(fields=dict(self._fields()))
        if token == "(":
            found = self.kind()
            self._skip_to(")")
            return found
        if token[:1] in "'\"":
            return Kind(word=token[1:-1])
        if self._next() == "<":
            self._at += 1
            first = self.kind()
            self._skip_to(">")
            if token == "Array":
                return Kind(items=first)
            # Some fields of it are left out, or may be
            return first if token in ("MappedOmit", "Omit", "Partial") else Kind("any")
        return Kind(token)

    def _fields(self) -> Iterator[tuple[str, Kind]]:
        while self._next() not in ("}", ""):
            name = self._take().strip("'\"")
            if name == "[":
                self._skip_to("]")
            if self._next() == "?":
                self._at += 1
            if self._take() != ":":
                raise ValueError(name)
            yield name, self.kind()
            if self._next() in (";", ","):
                self._at += 1
        self._at += 1

    def _skip_to(self, closing: str) -> None:
        opening = {"]": "[", ">": "<", ")": "("}[closing]
        depth = 1
        while depth and self._at < len(self._tokens):
            token = self._take()
            depth += (token == opening) - (token == closing)
