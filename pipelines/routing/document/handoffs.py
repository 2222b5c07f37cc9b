"""Handoff documents: what one station says to the next, held against a JSON Schema (AEEF REQ-009-06, 09). Arguments of
tools are held against theirs in the same way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Protocol

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing.exceptions import Unresolvable

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.values import kind_phrase
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined_wording
from pipelines.routing.document.operators import OperandError, compile_pattern

LARGEST = 256 * 1024
"""Characters of a document that is looked at."""
MOST = 20
"""Faults of one document that are told."""

_TEXTS: Final = {"type": "array", "items": {"type": "string"}}

DEFAULT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["change_summary", "evidence"],
    "properties": {
        "handoff_id": {"type": "string"},
        "source_agent": {"type": "string"},
        "target_agent": {"type": "string"},
        "timestamp": {"type": "string"},
        "change_summary": {
            "type": "object",
            "required": ["what_changed", "files_touched", "rationale"],
            "properties": {
                "what_changed": {"type": "string"},
                "files_touched": _TEXTS,
                "rationale": {"type": "string"},
            },
        },
        "evidence": {
            "type": "object",
            "required": ["prompt_reference", "contract_version", "test_evidence", "security_scan_result"],
            "properties": {
                "prompt_reference": {"type": "string"},
                "contract_version": {"type": "string"},
                "security_scan_result": {"enum": ["pass", "fail", "not_run"]},
            },
        },
        "risks": {
            "type": "object",
            "properties": {"known_risks": _TEXTS, "assumptions": _TEXTS, "open_questions": _TEXTS},
        },
        "decision_request": {"type": "string"},
    },
}
"""The handoff schema of AEEF. Its id, agents and time are Gateline's to write, so the work need not know them."""


def handoff_faults(document: Any, schema: Mapping[str, Any] | None = None) -> tuple[Problem, ...]:
    """Return the faults of a handoff document, each with its place in it; empty where it is valid. None: no
    document was handed over. `schema`: that of the line or the station, by default that of AEEF."""
    if document is None:
        return (Problem("handoff", "is missing"),)
    return schema_violations(document, DEFAULT if schema is None else schema, "handoff")


def schema_violations(document: Any, schema: Mapping[str, Any], at: str) -> tuple[Problem, ...]:
    """Return the faults of the document; their paths begin with `at`. The schema is usable, see
    `schema_faults`."""
    text = jsontext.dumps(document)
    # A validator takes longer the larger a document is, and this one comes from a station
    if len(text) > LARGEST:
        return (Problem(at, _("is longer than %(most)s characters", most=LARGEST)),)
    validator = _schema_validator(jsontext.dumps(schema))
    try:
        problems = [
            problem_of_fault(at, error)
            for error in islice(validator.iter_errors(_parse_json_with_floats(text)), MOST)
        ]
    except RecursionError:
        return (Problem(at, "its schema refers to itself without end"),)
    return tuple(sorted(problems, key=lambda fault: fault.path))


def schema_faults(schema: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return the faults that make a schema unusable; their paths begin below it."""
    schema_problems = list(_unsupported_parts(schema, ""))
    if not schema_problems:
        try:
            Draft202012Validator.check_schema(schema)
            # References are resolved only when something is held against the schema.
            _schema_validator(jsontext.dumps(schema)).is_valid({})
        except SchemaError as error:
            schema_problems.append(problem_of_fault("", error))
        except RecursionError:
            schema_problems.append(Problem("", "refers to itself without end"))
        except Unresolvable as error:
            schema_problems.append(Problem("", _("refers to nothing: %(ref)s", ref=error.ref)))
    return tuple(schema_problems)


def _unsupported_parts(schema: Any, path: str) -> Iterator[Problem]:
    """Yield the parts that would read from elsewhere, or take unbounded time."""
    if isinstance(schema, list):
        for index, member in enumerate(schema):
            yield from _unsupported_parts(member, member_path(path, index))
    if not isinstance(schema, Mapping):
        return
    for key, member in schema.items():
        where = member_path(path, key)
        if key == "$ref" and not str(member).startswith("#"):
            yield Problem(where, "refers to another document", "write it out under $defs")
        # Their patterns would be matched by `re`, which backtracks without bound
        elif key in ("patternProperties", "$dynamicRef"):
            yield Problem(where, "is not supported here")
        elif key == "pattern" and isinstance(member, str):
            yield from _pattern_fault(member, where)
        yield from _unsupported_parts(member, where)


def _pattern_fault(pattern: str, where: str) -> Iterator[Problem]:
    try:
        compile_pattern(pattern)
    except OperandError as error:
        yield Problem(where, str(error))


def _match_re2(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Match a pattern by RE2, in linear time, as `matches` of conditions does."""
    if isinstance(instance, str) and not compile_pattern(pattern).search(instance):
        yield ValidationError(f"does not match {pattern}")


# The library matches patterns by Python's `re`, whose time is not bounded.
_Validator = extend(Draft202012Validator, {"pattern": _match_re2})


@lru_cache(maxsize=256)
def _schema_validator(schema: str) -> Any:
    return _Validator(_parse_json_with_floats(schema))


def _parse_json_with_floats(text: str) -> Any:
    """Parse JSON with floats for numbers that are exact elsewhere: the library calculates with nothing else."""
    return json.loads(text, parse_int=_parse_integer)


def _parse_integer(digits: str) -> int | float:
    # Python converts long integers in quadratic time, and refuses very long ones.
    return int(digits) if len(digits) <= jsontext.MAX_INT_DIGITS else float(digits)


# Faults that JSON Schema finds, in the words of every other fault: the library's speak of Python's values.


LONGEST = 300
"""Characters of a message that nobody here has written."""


class SchemaFault(Protocol):
    """Part of the library's errors that this module reads, for documents and schemas."""

    validator: Any
    validator_value: Any
    instance: Any
    message: str

    @property
    def absolute_path(self) -> Iterable[str | int]: ...


def problem_of_fault(path: str, fault: SchemaFault) -> Problem:
    """Return the fault as a problem, with its location below `path`."""
    for step in fault.absolute_path:
        path = member_path(path, step)
    if fault.validator == "required":
        return Problem(member_path(path, _missing_key(fault)), "is missing")
    say = _WORDS.get(str(fault.validator))
    return Problem(path, say(fault) if say else fault.message[:LONGEST])


def _missing_key(fault: SchemaFault) -> str:
    """Return the missing key: each is a fault of its own, which only its message names."""
    missing = (key for key in fault.validator_value if key not in fault.instance)
    # The library writes “'name' is a required property”.
    return next((key for key in missing if fault.message.startswith(f"{key!r} ")), "")


def _type_message(fault: SchemaFault) -> str:
    types = fault.validator_value
    expected = [
        _TYPES.get(type_name, type_name) for type_name in ([types] if isinstance(types, str) else types)
    ]
    return _(
        "has to be %(words)s, not %(value)s",
        words=joined_wording(expected, " or "),
        value=kind_phrase(fault.instance),
    )


def _enum_message(fault: SchemaFault) -> str:
    values = [value if isinstance(value, str) else jsontext.dumps(value) for value in fault.validator_value]
    return _("has to be one of %(known)s", known=", ".join(values)[:LONGEST])


_TYPES: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}

_WORDS: Final[Mapping[str, Callable[[SchemaFault], Any]]] = {
    "type": _type_message,
    "enum": _enum_message,
    "anyOf": lambda fault: "fits none of the forms that it may have",
    "oneOf": lambda fault: "fits none, or more than one, of the forms that it may have",
    "minLength": lambda fault: _("has to have at least %(least)s characters", least=fault.validator_value),
    "minItems": lambda fault: _("has to have at least %(least)s members", least=fault.validator_value),
}
