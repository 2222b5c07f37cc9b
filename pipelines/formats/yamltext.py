"""YAML 1.2 text to plain values, with the place of every value: built from ruamel's events.

The core schema is resolved here, not by the library, so that what reads as a number is what JSON calls one
(plus `+1`, `.5`, `1.`, 0o and 0x), exactly. Anchors and aliases work within MAX_VALUES, what they repeat
counted every time; tags are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.values import MAX_DEPTH, MAX_VALUES, unstorable_text_fault_or_empty
from pipelines.routing.basics.wording import Wording as _

_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
# \Z in all of these: $ would match before a line break at the end, too.
_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_TEXT_TAG = "tag:yaml.org,2002:str"
_BREAKS = "\x85\u2028\u2029"
"""Line breaks of YAML 1.1, which the library still takes for such: in YAML 1.2 they are characters like others."""
# Unicode's private use area: texts hardly have characters of it.
_PRIVATE = range(0xE000, 0xF900)
# Steps of a path: “stations”, “[0]”, “.key”, and “["a.b"]” for a key with a dot
_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*"|[0-9]+)\]|\.?([^.\[]+)')

Place = tuple[int, int]


class TextError(ValueError):
    """The text is not YAML that Gateline reads; `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        self.message = message
        self.line = line
        self.column = column
        super().__init__(f"line {line}, column {column}: {message}")


@dataclass
class Parsed:
    """The value of a text, and where each of its parts stands."""

    value: Any = None
    places: dict[str, Place] = field(default_factory=dict)

    def place_of_nearest_part(self, path: str) -> Place:
        """Return the place of a path, or of the nearest part around it."""
        while path and path not in self.places:
            path = _parent_path(path)
        return self.places.get(path, (1, 1))


@dataclass(frozen=True, slots=True)
class _Node:
    """A built value, how many values it holds and how deep it nests."""

    value: Any
    size: int = 1
    height: int = 0


def resolves_to_text(plain: str) -> bool:
    """Return whether a plain scalar reads as text."""
    patterns = (_NULL, _BOOL, _INT, _BASED, _FLOAT, _NOT_FINITE)
    return not any(pattern.match(plain) for pattern in patterns)


def parse_yaml(text: str, *, exact: bool) -> Parsed:
    """Raises TextError. Unless `exact`, numbers that no double holds exactly are refused."""
    try:
        return _Builder(text, exact).parsed_document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise TextError(error.problem or error.context or "not YAML", *place) from None
    except YAMLError as error:
        raise _reader_error(text, error) from None


def _reader_error(text: str, error: YAMLError) -> TextError:
    """The library's own reader stops at characters that YAML does not allow."""
    position = getattr(error, "position", 0)
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    reason = getattr(error, "reason", None) or str(error)
    return TextError(f"{reason}", line, column)


def _parent_path(path: str) -> str:
    steps = list(_STEP.finditer(path))
    return path[: steps[-1].start()] if steps else ""


class _Builder:
    def __init__(self, text: str, exact: bool) -> None:
        self.stand_ins = _stand_in_by_line_break(text)
        self.events: Iterator[Any] = iter(YAML(typ="safe", pure=True).parse(text.translate(self.stand_ins)))
        self.exact = exact
        self.parsed = Parsed()
        self.anchors: dict[str, _Node] = {}
        self.nodes = 0

    def parsed_document(self) -> Parsed:
        next(self.events)
        # Behind StreamStart: DocumentStart, or StreamEnd where there is nothing.
        start = next(self.events)
        if isinstance(start, StreamEndEvent):
            raise TextError("the document is empty", 1, 1)
        self.parsed.value = self._build_node(next(self.events), "", 0).value
        next(self.events)
        after = next(self.events)
        if isinstance(after, DocumentStartEvent):
            raise self._error_at_event(after, "a second document begins here; a file holds one")
        return self.parsed

    def _error_at_event(self, event: Any, message: str) -> TextError:
        return TextError(message, event.start_mark.line + 1, event.start_mark.column + 1)

    def _build_node(self, event: Any, path: str, depth: int) -> _Node:
        # A member of an object has the place of its key already.
        self.parsed.places.setdefault(path, (event.start_mark.line + 1, event.start_mark.column + 1))
        node = self._build_value(event, path, depth)
        # Aliases of aliases would let a few lines stand for billions of values.
        self.nodes += node.size if isinstance(event, AliasEvent) else 1
        if self.nodes > MAX_VALUES:
            raise self._error_at_event(
                event, _("the document holds more than %(most)s values", most=MAX_VALUES)
            )
        if depth + node.height > MAX_DEPTH:
            raise self._error_at_event(event, _("nested deeper than %(most)s", most=MAX_DEPTH))
        # Only once it is built, so that a value cannot hold itself.
        if event.anchor and not isinstance(event, AliasEvent):
            self.anchors[event.anchor] = node
        return node

    def _build_value(self, event: Any, path: str, depth: int) -> _Node:
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise self._error_at_event(event, _("nothing is anchored as %(name)s", name=event.anchor))
            return self.anchors[event.anchor]
        if isinstance(event, ScalarEvent):
            return _Node(self._read_scalar(event))
        if event.tag is not None:
            raise self._error_at_event(event, _("tags are not supported: %(tag)s", tag=event.tag))
        if depth >= MAX_DEPTH:
            raise self._error_at_event(event, _("nested deeper than %(most)s", most=MAX_DEPTH))
        if isinstance(event, MappingStartEvent):
            return self._build_mapping(path, depth)
        assert isinstance(event, SequenceStartEvent)
        return self._build_sequence(path, depth)

    def _build_mapping(self, path: str, depth: int) -> _Node:
        members: dict[str, _Node] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self._read_key(event)
            if key in members:
                raise self._error_at_event(
                    event, _("the key %(key)s appears twice in one object", key=jsontext.quoted(key))
                )
            below = member_path(path, key)
            self.parsed.places[below] = (event.start_mark.line + 1, event.start_mark.column + 1)
            members[key] = self._build_node(next(self.events), below, depth + 1)
        return _container_node({key: node.value for key, node in members.items()}, list(members.values()))

    def _build_sequence(self, path: str, depth: int) -> _Node:
        members: list[_Node] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            members.append(self._build_node(event, member_path(path, len(members)), depth + 1))
        return _container_node([node.value for node in members], members)

    def _read_key(self, event: Any) -> str:
        key = self._read_scalar(event) if isinstance(event, ScalarEvent) else None
        if type(key) is not str:
            raise self._error_at_event(event, "keys are text: put it in quotes")
        return key

    def _read_scalar(self, event: ScalarEvent) -> Any:
        if self.stand_ins:
            event.value = event.value.translate(
                {ord(stand_in): code for code, stand_in in self.stand_ins.items()}
            )
        fault = unstorable_text_fault_or_empty(event.value)
        if fault:
            raise self._error_at_event(event, fault)
        if event.tag not in (None, "!", _TEXT_TAG):
            raise self._error_at_event(event, _("tags are not supported: %(tag)s", tag=event.tag))
        # Quoted, or tagged as text: it is not resolved.
        if event.tag is not None or not event.implicit[0]:
            return str(event.value)
        try:
            value = _scalar_value(event.value)
        except jsontext.JsonTextError as error:
            raise self._error_at_event(event, error.message) from None
        if type(value) is Decimal and not self.exact and not _is_integer_too_long(value):
            raise self._error_at_event(
                event, "more digits than a number keeps here; write it as a text, in quotes"
            )
        return value


def _stand_in_by_line_break(text: str) -> dict[int, str]:
    """Return a character that the text lacks for each line break of YAML 1.1 that it has."""
    if not any(mark in text for mark in _BREAKS):
        return {}
    free = (chr(code) for code in _PRIVATE if chr(code) not in text)
    return {ord(mark): stand_in for mark, stand_in in zip(_BREAKS, free, strict=False)}


def _container_node(value: Any, members: list[_Node]) -> _Node:
    size = 1 + sum(node.size for node in members)
    return _Node(value, size, 1 + max((node.height for node in members), default=0))


def _is_integer_too_long(value: Decimal) -> bool:
    """An integer too long for `int`."""
    return value.as_tuple().exponent == 0


def _scalar_value(text: str) -> Any:
    """A plain scalar by the YAML 1.2 core schema. Raises JsonTextError."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text[0] in "tT"
    if _NOT_FINITE.match(text):
        raise jsontext.JsonTextError(_("%(text)s is not a number that JSON knows", text=text))
    if _BASED.match(text):
        return int(text, 0)
    if _INT.match(text) or _FLOAT.match(text):
        return jsontext.parse_number(_number_as_json(text))
    return text


def _number_as_json(text: str) -> str:
    """A YAML number as JSON writes it: no plus, no leading zeros, digits on both sides of the point."""
    sign = "-" if text[0] == "-" else ""
    digits, mark, exponent = text.lstrip("+-").replace("E", "e").partition("e")
    integer, point, fraction = digits.partition(".")
    integer = integer.lstrip("0") or "0"
    return f"{sign}{integer}{f'.{fraction or 0}' if point else ''}{mark}{exponent}"
