"""The native format: the text of a line document, YAML 1.2 or JSON, to plain values and back.

YAML 1.2 core schema: `on`, `no` and `12:30` stay text. Duplicate keys, NUL, lone surrogates, NaN, infinity,
tags and nesting deeper than 100 are refused with line and column.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

from pipelines.formats.foreign.known_systems import recognise_system
from pipelines.formats.schema import json_schema
from pipelines.formats.yamltext import Parsed, TextError, parse_yaml, resolves_to_text
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.basics.values import check_document
from pipelines.routing.document.line import DocumentError, ParsedLine, Problem, read_line

MAX_TEXT = 4 * 1024 * 1024
"""Characters of a document."""

__all__ = [
    "MAX_TEXT",
    "checked_utf8_text",
    "dumps",
    "json_schema",
    "loads",
    "problems_with_places",
    "read_text",
    "yaml_writer",
]


def loads(text: str | bytes, *, exact: bool = False) -> dict[str, Any]:
    """The document as plain values. Raises DocumentError with line and column in the problem, also for what seems to
    be a document of another system.

    Unless `exact`, a number that no double holds exactly is refused: stores and browsers would round it.
    With `exact` it is a `Decimal`.
    """
    document = parsed_value(text, exact=exact)
    if other := recognise_system(document).problems:
        # The place says it; the path would read as if only that part were wrong.
        raise DocumentError([replace(_problem_with_place(text, other[0]), path="")])
    if type(document) is not dict:
        raise DocumentError([Problem("", "a line document is one object", "", 1, 1)])
    try:
        check_document(document)
    except Malformed as error:
        raise DocumentError([_problem_with_place(text, Problem(error.path, error.message))]) from None
    return document


def parsed_value(text: str | bytes, *, exact: bool = False) -> Any:
    """Return any JSON value, of YAML or JSON. Raises DocumentError with line and column in the problem."""
    try:
        return _json_or_yaml_value(checked_utf8_text(text), exact)
    except Malformed as error:
        raise DocumentError([_problem_with_place(text, Problem(error.path, error.message))]) from None
    except (TextError, jsontext.JsonTextError) as error:
        raise DocumentError([Problem("", error.message, "", error.line, error.column)]) from None


def read_text(text: str | bytes, *, keep_faulty_rules: bool = False, exact: bool = False) -> ParsedLine:
    """The line that a text says. Raises DocumentError; every problem has its line and column."""
    document = loads(text, exact=exact)
    try:
        return read_line(document, keep_faulty_rules=keep_faulty_rules)
    except DocumentError as error:
        raise DocumentError(problems_with_places(text, error.problems)) from None


def problems_with_places(text: str | bytes, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems with line and column of their path, or of the nearest part around it that the text has.

    JSON that is no YAML (it writes one character as two escapes) gives no places."""
    all_problems = tuple(problems)
    try:
        parsed = parse_yaml(checked_utf8_text(text), exact=True)
    except TextError:
        return all_problems
    return tuple(_problem_placed_in(problem, parsed) for problem in all_problems)


def dumps(document: dict[str, Any]) -> str:
    """YAML that `loads` reads back to equal values; keys in the order given."""
    out = io.StringIO()
    yaml_writer().dump(document, out)
    return out.getvalue()


def yaml_writer() -> YAML:
    """Writes values in the way of this format."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = 110
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    return yaml


def checked_utf8_text(text: str | bytes) -> str:
    """UTF-8, not too long. Raises TextError."""
    if isinstance(text, bytes):
        try:
            # “-sig”: a byte order mark in front is dropped.
            return checked_utf8_text(text.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            before = text[: error.start]
            line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
            raise TextError("the text is not UTF-8", line, column) from None
    if len(text) > MAX_TEXT:
        raise TextError(f"the text is longer than {MAX_TEXT} characters", 1, 1)
    return text


def _json_or_yaml_value(text: str, exact: bool) -> Any:
    """JSON where it is JSON, else YAML, whose `\\u` escapes do not know surrogate pairs."""
    if not text.lstrip().startswith("{"):
        return parse_yaml(text, exact=exact).value
    try:
        value = jsontext.loads(text)
    except jsontext.JsonTextError as error:
        # It may be YAML in its flow style, which begins with a brace, too.
        parsed = parse_yaml(text, exact=exact)
        if error.line is None:  # JSON in form, but something in it is refused: NaN
            raise
        return parsed.value
    # Before anything goes down into it: what is nested too deeply would exhaust the interpreter's own stack.
    check_document(value)
    # `parse` refuses a number that no double holds exactly with its line and column.
    return parse_yaml(text, exact=exact).value if not exact and _has_decimal(value) else value


def _has_decimal(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_has_decimal, value.values()))
    return any(map(_has_decimal, value)) if type(value) is list else type(value) is Decimal


def _problem_with_place(text: str | bytes, problem: Problem) -> Problem:
    if not problem.path:
        return replace(problem, line=1, column=1)
    try:
        return _problem_placed_in(problem, parse_yaml(checked_utf8_text(text), exact=True))
    except TextError as error:
        return replace(problem, line=error.line, column=error.column)


def _problem_placed_in(problem: Problem, parsed: Parsed) -> Problem:
    line, column = parsed.place_of_nearest_part(problem.path)
    return replace(problem, line=line, column=column)


class _Representer(SafeRepresenter):
    """Texts that would read as something else are quoted, by the reading of `yamltext`."""

    def represent_text(self, text: str) -> ScalarNode:
        if "\n" in text and _reads_best_as_block(text):
            style: str | None = "|"
        else:
            style = None if text.isprintable() and resolves_to_text(text) else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def represent_number(self, number: Decimal) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:float", str(number))

    def represent_double(self, number: float) -> ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:float", jsontext.dumps(number))

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _reads_best_as_block(text: str) -> bool:
    """Several lines of plain text, which read best as a block."""
    lines = text.split("\n")
    return all(line.isprintable() and line == line.rstrip() for line in lines) and not text.startswith(
        (" ", "\n")
    )


_Representer.add_representer(str, _Representer.represent_text)
_Representer.add_representer(Decimal, _Representer.represent_number)
_Representer.add_representer(float, _Representer.represent_double)
