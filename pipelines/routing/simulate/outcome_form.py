"""An outcome that a person fills in field by field, as a value: texts become what they say, places in the output are
named by the paths that rules read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonpath_rfc9535.segments import JSONPathChildSegment
from jsonpath_rfc9535.selectors import IndexSelector, NameSelector

from pipelines.routing.basics import jsonpath, jsontext, values
from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.simulate.candidates import to_storable_json

TEXTS = ("result", "verdict", "eval", "failure_type", "summary", "comment")
KNOWN = (*TEXTS, "exit_code", "output", "json")
# A list is filled up with nulls as far as the index of a path.
MOST_INDEX = 100

Part = str | int


def path_parts_or_none(path: str) -> tuple[Part, ...] | None:
    """The one place that a path names: names and indices. None where it names several, or none that can be made."""
    if not path.startswith("$"):
        return tuple(path.split("."))
    try:
        query = jsonpath.parse_query(path)
    except jsonpath.SYNTAX_ERRORS:
        return None
    parts: list[Part] = []
    for segment in query.segments:
        alone = isinstance(segment, JSONPathChildSegment) and len(segment.selectors) == 1
        selector = segment.selectors[0] if alone else None
        if isinstance(selector, NameSelector):
            parts.append(selector.name)
        elif isinstance(selector, IndexSelector) and 0 <= selector.index <= MOST_INDEX:
            parts.append(selector.index)
        else:
            return None
    return tuple(parts) or None


def outcome_from_form(form: Any, at: str = "form") -> dict[str, Any]:
    """`{result, verdict, …, exit_code, output: {path: text}}`, all of them texts, blank where nothing is said; or
    `{json: text}` for the whole outcome. A text that is JSON says its value, any other one itself.

    Raises Malformed with the place in the form."""
    fields = values.read_mapping(form, at)
    values.check_keys(fields, at, KNOWN)
    if fields.get("json") is not None:
        return _outcome_from_json(
            values.read_text(fields["json"], member_path(at, "json")) or "", member_path(at, "json")
        )
    texts = {name: text for name in TEXTS if (text := _text_field(fields, name, at))}
    outcome: dict[str, Any] = {**texts}
    code = _text_field(fields, "exit_code", at)
    if code:
        outcome["exit_code"] = _json_value_or_text(code)
    output = _output_value(fields.get("output"), member_path(at, "output"))
    if output:
        outcome["output"] = output
    _check_outcome(outcome, at)
    return outcome


def _outcome_from_json(text: str, at: str) -> dict[str, Any]:
    try:
        outcome = jsontext.loads(text)
    except jsontext.JsonTextError as fault:
        raise Malformed(at, f"is not JSON: {fault}") from None
    try:
        read_outcome(outcome)
    except Malformed as fault:
        raise Malformed(at, f"{fault.path}: {fault.message}" if fault.path else fault.message) from None
    return dict(to_storable_json(outcome))


def _check_outcome(outcome: dict[str, Any], at: str) -> None:
    try:
        read_outcome(outcome, at)
    except Malformed as fault:
        if fault.path == at and len(outcome.keys() - {"summary", "comment", "failure_type", "output"}) == 0:
            raise Malformed(
                member_path(at, "result"), "is missing: say a result, a verdict, an eval or an exit code"
            ) from None
        raise


def _text_field(fields: dict[str, Any], name: str, at: str) -> str:
    return (values.read_text(fields.get(name), member_path(at, name)) or "").strip()


def _json_value_or_text(text: str) -> Any:
    try:
        return to_storable_json(jsontext.loads(text))
    except jsontext.JsonTextError:
        return text


def _output_value(output_fields: Any, at: str) -> dict[str, Any]:
    output: dict[str, Any] = {}
    for path, text in _nonblank_fields(values.read_mapping(output_fields, at), at):
        place = f"{at}[{path}]"
        parts = path_parts_or_none(path)
        if parts is None or not isinstance(parts[0], str):
            raise Malformed(place, "names no single place; say the outcome as JSON")
        _put_value_at_path(output, parts, _json_value_or_text(text), place)
    return output


def _nonblank_fields(output_fields: dict[str, Any], at: str) -> Iterator[tuple[str, str]]:
    for path, text in output_fields.items():
        stripped = (values.read_text(text, f"{at}[{path}]") or "").strip()
        if stripped:
            yield path, stripped


def _put_value_at_path(output: dict[str, Any], parts: tuple[Part, ...], value: Any, place: str) -> None:
    """Makes the objects and lists on the way; a list is filled up with nulls."""
    here: Any = output
    for part, following in zip(parts, (*parts[1:], None), strict=True):
        fresh: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(part, int) and type(here) is list:
            here.extend([None] * (part + 1 - len(here)))
            here[part] = fresh if following is None or here[part] is None else here[part]
        elif isinstance(part, str) and type(here) is dict:
            here[part] = fresh if following is None or here.get(part) is None else here[part]
        else:
            raise Malformed(place, "does not fit what another field says of the same place")
        here = here[part]
