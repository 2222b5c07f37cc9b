"""Inputs of a task taken from the document that comes with an occasion, by path (RFC 9535, or a dotted key)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from pipelines.engine.commands.inputs import TITLE
from pipelines.engine.commands.typed_values import parsed_value_or_text
from pipelines.errors import Invalid
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed
from pipelines.routing.basics.values import MISSING
from pipelines.routing.basics.wording import as_sentence
from pipelines.routing.document.inputs import Input
from pipelines.routing.document.line import Problem
from pipelines.routing.document.paths import PathError, compile_path
from pipelines.work.results.text import escaped_for_storage
from pipelines.work.triggers.kind import Options

FIXED_ONLY: Final = ("secret", "file")
"""Types of inputs that no document may name: whoever sends it would choose what a station gets."""
PATHS: Final = {
    "title": "Title",
    "requester": "Requested by",
    "only_if": "Only if",
}
"""Paths besides those of inputs. `requester`: who asked for the task; `only_if`: it has to find something."""
DEFAULTS: Final = {"inputs": {}, **dict.fromkeys(PATHS, "")}
MOST_PEOPLE = 20


def parsed_body_and_fault(text: str) -> tuple[Any, str]:
    """Return what a body says, and why it cannot be read."""
    try:
        return jsontext.loads(text), ""
    except (ValueError, RecursionError) as error:
        return MISSING, f"The body is no JSON: {error}. Set the content type to application/json."


def checked_paths_to_store(options: Options) -> dict[str, Any]:
    """Return the paths as they are stored. Raises Invalid with every path that is none."""
    inputs = options.get("inputs", {})
    if not isinstance(inputs, Mapping):
        raise Invalid.at("inputs", "Write an object: the key of each input, and its path.")
    typed = {f"inputs.{key}": path for key, path in inputs.items()} | {
        name: options.get(name, "") for name in PATHS
    }
    problems, paths = [], {}
    for name, path in typed.items():
        try:
            paths[name] = checked_path(path)
        except Invalid as fault:
            problems.append(Problem(name, fault.message))
    if problems:
        raise Invalid(problems)
    return {
        "inputs": {key: path for key in inputs if (path := paths[f"inputs.{key}"])},
        **{name: paths[name] for name in PATHS},
    }


def check_input_paths(options: Options, fields: Iterable[Input]) -> None:
    """Raises Invalid with each path of an input that the line does not have, or that no document may name."""
    types = {field.key: field.type for field in fields}
    problems = [
        Problem(f"inputs.{key}", "is not an input of this line", "Remove it.")
        if key not in types
        else Problem(f"inputs.{key}", f"is a {types[key]}, which nobody outside may choose", "Set it here.")
        for key in options["inputs"]
        if types.get(key) in (None, *FIXED_ONLY)
    ]
    if problems:
        raise Invalid(problems)


def mapped_inputs(options: Options, fields: Iterable[Input], document: Any) -> dict[str, Any]:
    """Return the values of inputs that the paths find; what they do not find is left out. Raises Invalid."""
    values, problems = {}, []
    for field in fields:
        path = options["inputs"].get(field.key, "")
        try:
            value = single_value_or_none(path, document)
        except Invalid as fault:
            problems.append(Problem(f"inputs.{field.key}", fault.message, fault.problems[0].hint))
        else:
            if value is not None:
                values[field.key] = _input_value(field, value)
    if problems:
        raise Invalid(problems)
    return values


def mapped_title_or_empty(options: Options, document: Any) -> str:
    """Return the title that the document gives, "" where it gives none. Raises Invalid."""
    try:
        value = single_value_or_none(options["title"], document)
    except Invalid as fault:
        raise Invalid.at("title", fault.message, fault.problems[0].hint) from fault
    return escaped_for_storage(" ".join(_value_text(value).split()))[:TITLE] if value is not None else ""


def mapped_people(options: Options, document: Any) -> list[str]:
    """Return the names or addresses that the document gives of who asked for the task."""
    return [value for value in values_at_path(options["requester"], document) if isinstance(value, str)][
        :MOST_PEOPLE
    ]


def refusal_reason_or_empty(options: Options, document: Any) -> str:
    """Say why this document starts nothing, or ""."""
    path = options["only_if"]
    if not path:
        return ""
    # A comparison that is false, and a flag that is, are no reason to start.
    if any(value not in (None, False) for value in values_at_path(path, document)):
        return ""
    return f"{path} finds nothing in it."


def single_value_or_none(path: str, document: Any) -> Any:
    """Return the value that a path finds, None where there is none. Raises Invalid where there are several."""
    values = values_at_path(path, document)
    if len(values) > 1:
        raise Invalid.at(
            "", f"finds {len(values)} values at {path}", "Name one of them, such as the first: [0]."
        )
    return values[0] if values else None


def values_at_path(path: str, document: Any) -> list[Any]:
    """Return the values that a path finds. Raises Invalid where that is too much work."""
    if not path:
        return []
    try:
        return list(compile_path(path).nodes(document, EvaluationBudget()))
    except EvaluationFailed as fault:
        raise Invalid.at("", f"{path}: {fault}", "Write a shorter path.") from fault


def checked_path(path: Any) -> str:
    """Return a path without blanks around it. Raises Invalid."""
    if not isinstance(path, str):
        raise Invalid.at("", "The path is no text.")
    path = path.strip()
    try:
        if path:
            compile_path(path)
    except PathError as fault:
        raise Invalid.at("", as_sentence(str(fault))) from fault
    return path


def _input_value(field: Input, value: Any) -> Any:
    """Return a value as an input of this type takes it: text as somebody would type it."""
    if field.type in ("number", "yes_no") and isinstance(value, (int, float)):
        return value
    if isinstance(value, (dict, list)) and field.type == "long_text":
        return escaped_for_storage(jsontext.dumps(value, indent=2, ascii_only=False))
    return parsed_value_or_text(field, escaped_for_storage(_value_text(value)))


def _value_text(value: Any) -> str:
    written: dict[type, Callable[[Any], str]] = {str: str, Decimal: str}
    return written.get(type(value), lambda other: jsontext.dumps(other, ascii_only=False))(value)
