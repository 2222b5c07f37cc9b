"""Vibe Factory: `{workflow, stations, transitions}` (C1…C33). The native document has the preset `vibe-factory`."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Final

from pipelines.formats.foreign.import_notes import (
    ImportNotes,
    Json,
    key_slug,
    manual_work,
    note_repeated_ids,
    objects_in_list,
    shortened_json,
    text_or_none,
    unread_parts,
)
from pipelines.formats.foreign.paths import path_for_key
from pipelines.formats.foreign.vibe_factory.json_logic import InexpressibleLogic, is_json_logic
from pipelines.formats.foreign.vibe_factory.json_logic import logic_condition as of_json_logic
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.values import is_number
from pipelines.routing.basics.wording import Wording as _

PRESET: Final = "vibe-factory"
# The editor of that system writes words that its own server refuses.
RESULTS: Final = {
    "success": "success",
    "on_success": "success",
    "on_approval": "success",
    "on_tests_pass": "success",
    "failure": "failure",
    "on_failure": "failure",
    "on_rejection": "failure",
    "on_tests_fail": "failure",
}
ALWAYS: Final = (None, "", "always", "unconditional")
REVIEW: Final[Json] = {"key": "in-review", "name": "In review"}
"""Whatever completes an execution puts its task in review there (C16)."""
NEVER: Final[Json] = {"any": []}
READ_OF_STATION: Final = ("name", "station_prompt", "output_context_keys")
READ_OF_TRANSITION: Final = ("label", "allow_revisit", "max_retries")
OPERATORS: Final = {"==": "equals", "!=": "not_equals", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
UNSAID: Final = "this JSONLogic cannot be said here: the rule is never taken until you give it a condition"
_SIGN = re.compile(r"==|!=|<=|>=|<|>")
LONGEST = 10_000
"""Characters of a condition: what follows each of its signs is tried as a value."""
_NUMBER = re.compile(r"\D*(-?\d+)")


def read_workflow(document: Mapping[str, Any], import_notes: ImportNotes) -> Json:
    head = import_notes.object_or_loss(document.get("workflow"), "workflow") or document
    name = str(head.get("name") or "Workflow")
    listed = objects_in_list(import_notes, document.get("stations"), "stations")
    ordered = sorted(
        listed, key=lambda entry: _number_or_default(entry[1].get("position"), listed.index(entry))
    )
    note_repeated_ids(listed, import_notes)
    where = "transitions" if "transitions" in document else "station_transitions"
    transitions = objects_in_list(import_notes, document.get(where), where)
    terminators = {
        str(station.get("id"))
        for place, station in ordered
        if _is_true_or_loss(station.get("is_terminator"), f"{place}.is_terminator", import_notes)
    }
    if ordered and (first := str(ordered[0][1].get("id"))) in terminators:
        terminators.remove(first)
        message = "a task starts at the first station, which is no end here"
        import_notes.note_loss(f"{ordered[0][0]}.is_terminator", message)
    keys = {
        str(station.get("id")): import_notes.claim_key(station.get("name") or station.get("id"), "station")
        for _place, station in ordered
    }
    stations, ends = [], []
    for place, station in ordered:
        identity = str(station.get("id"))
        outgoing = [entry for entry in transitions if str(entry[1].get("source_station_id")) == identity]
        if identity in terminators:
            # To reach it completes the execution: nothing runs there, and nothing leads on.
            ends.append(_end_document(station, keys[identity]))
            for at, _transition in outgoing:
                import_notes.note_loss(
                    at,
                    _(
                        "%(name)s ends the workflow, so this transition is never taken",
                        name=station.get("name"),
                    ),
                )
        else:
            stations.append(_station_document(station, place, keys, terminators, outgoing, import_notes))
    for at, transition in transitions:
        for end in ("source_station_id", "target_station_id"):
            if str(transition.get(end)) not in keys:
                import_notes.note_fault(
                    f"{at}.{end}",
                    _("there is no station %(id)s", id=jsontext.dumps(transition.get(end))),
                    "name one of the stations of this document",
                )
    # What both levels say is kept; of one key the workflow's value.
    around = {**document, **head} if head is not document else head
    return {
        "gateline": 1,
        "key": key_slug(name, "workflow"),
        "name": name,
        **({"description": str(head["description"])} if head.get("description") else {}),
        "preset": PRESET,
        "stations": stations,
        **(
            {"gates": [REVIEW]}
            if any("gates" in rule for station in stations for rule in station["rules"])
            else {}
        ),
        **({"ends": ends} if ends else {}),
        **unread_parts(around, ("name", "description", "workflow", "stations", where)),
    }


def _end_document(station: Mapping[str, Any], key: str) -> Json:
    label = str(station.get("name") or key)
    return {"key": key, "kind": "completed", "label": label, **unread_parts(station, ("name",))}


def _station_document(
    station: Mapping[str, Any],
    place: str,
    keys: Mapping[str, str],
    terminators: Container[str],
    outgoing: list[tuple[str, Mapping[str, Any]]],
    import_notes: ImportNotes,
) -> Json:
    key = keys[str(station.get("id"))]
    name = str(station.get("name") or key)
    prompt = import_notes.escaped_template(
        f"{place}.station_prompt", station.get("station_prompt") or station.get("description")
    )
    output_keys = _output_keys(
        station.get("output_context_keys"), f"{place}.output_context_keys", import_notes
    )
    rules = [
        rule
        for at, transition in sorted(outgoing, key=_priority_key)
        if (rule := _rule_document_or_none(transition, at, keys, terminators, import_notes)) is not None
    ]
    # Without transitions a success completes, and its task is in review (C16).
    if not outgoing:
        ends = {"when": {"result": "success"}, "to": "completed", "gates": [REVIEW["key"]]}
        rules.append({"id": import_notes.claim_rule_id(f"{key}-done", "rule"), **ends})
    return {
        "key": key,
        "name": name,
        "work": manual_work(import_notes, f"{place}.agent_id", name, station.get("agent_id"), prompt),
        **({"output_keys": output_keys} if output_keys else {}),
        "rules": rules,
        **unread_parts(station, READ_OF_STATION),
    }


def _priority_key(entry: tuple[str, Mapping[str, Any]]) -> tuple[float, str]:
    """Return a sort key: greatest priority first, then the oldest (C14, C29)."""
    return -_number_or_default(entry[1].get("priority"), 0), str(entry[1].get("created_at") or "")


def _rule_document_or_none(
    transition: Mapping[str, Any],
    at: str,
    keys: Mapping[str, str],
    terminators: Container[str],
    import_notes: ImportNotes,
) -> Json | None:
    identity = str(transition.get("target_station_id"))
    target = keys.get(identity)
    if target is None:
        return None
    kind, label = transition.get("condition_type"), transition.get("label")
    result = RESULTS.get(text_or_none(kind) or "")
    when: Json | None = None
    if result:
        when = {"result": result}
        if kind not in ("success", "failure"):
            words = {"said": kind, "read": result}
            import_notes.note_loss(f"{at}.condition_type", _("%(said)s is read as %(read)s", **words))
    elif kind == "conditional":
        when = transition_condition_or_none(
            transition.get("condition_value"), f"{at}.condition_value", import_notes
        )
        if when is None:
            return None
    elif kind not in ALWAYS:
        import_notes.note_fault(
            f"{at}.condition_type",
            _("Unknown condition_type: %(kind)s", kind=jsontext.dumps(kind)),
            "it is always, success, failure or conditional",
        )
        return None
    most = import_notes.whole_number_or_loss(
        _number_or_value(transition.get("max_retries")), f"{at}.max_retries", least=0
    )
    return {
        "id": import_notes.claim_rule_id(label or f"{kind or 'always'}-to-{target}", "rule"),
        **({"label": str(label)} if label else {}),
        **({"when": when} if when else {}),
        "to": target,
        **({"gates": [REVIEW["key"]]} if identity in terminators else {}),
        **(
            {"allow_revisit": True}
            if _is_true_or_loss(transition.get("allow_revisit"), f"{at}.allow_revisit", import_notes)
            else {}
        ),
        # That system counts entries, the first one included (C30).
        **({"max_visits": most} if most is not None else {}),
        **unread_parts(transition, READ_OF_TRANSITION),
    }


def transition_condition_or_none(value: Any, at: str, import_notes: ImportNotes) -> Json | None:
    """C6 to C10, C28. None where it is refused."""
    # A condition may stand in a text, as JSON (C7).
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            value = jsontext.loads(value)
        except jsontext.JsonTextError as fault:
            import_notes.note_fault(at, _("Invalid JSON in condition_value: %(fault)s", fault=fault.message))
            return None
    if isinstance(value, str) and value.strip():
        return _condition_of_text_or_none(value.strip(), at, import_notes)
    if isinstance(value, Mapping):
        if {"key", "value"} <= value.keys():
            return _equality_document_or_none(value["key"], value["value"], at, import_notes)
        if {"check_output_key", "expected_value"} <= value.keys():
            import_notes.note_loss(at, "check_output_key is read as key and value")
            return _equality_document_or_none(
                value["check_output_key"], value["expected_value"], at, import_notes
            )
        if is_json_logic(value):
            return _condition_of_logic(value, at, import_notes)
    if value in (None, ""):
        import_notes.note_fault(at, "Conditional transition requires condition_value")
    else:
        import_notes.note_fault(
            at,
            _(
                "Unsupported condition type. Expected string or object, got: %(value)s",
                value=shortened_json(value),
            ),
            "write the name of an output key, or {“key”: …, “value”: …}",
        )
    return None


def _condition_of_logic(value: Mapping[str, Any], at: str, import_notes: ImportNotes) -> Json:
    different: list[str] = []
    try:
        test = of_json_logic(value, different)
    except InexpressibleLogic:
        test, different = dict(NEVER), [UNSAID]
    for message in different:
        import_notes.note_loss(at, message)
    return test


def _condition_of_text_or_none(text: str, at: str, import_notes: ImportNotes) -> Json | None:
    """The name of a key; or a path or a name, an operator and a literal. A filter of a path has operators, too."""
    if len(text) > LONGEST:
        import_notes.note_fault(at, _("is longer than %(most)s characters", most=LONGEST))
        return None
    signs = list(_SIGN.finditer(text))
    if not signs:
        return {"output": {"path": path_for_key(text), "op": "exists"}}
    # From the last on: those of a filter come before it, and one within the literal
    # leaves no literal behind itself.
    for sign in reversed(signs):
        left, right = text[: sign.start()].strip(), text[sign.end() :].strip()
        known, value = _is_literal_and_value(right)
        if known and left:
            path = left.removesuffix(".length")
            # `$.items[*].length` counts what the path finds.
            of = {"of": "count"} if path != left else {}
            path = path if path.startswith("$") else path_for_key(path)
            return {"output": {"path": path, "op": OPERATORS[sign[0]], "value": value, **of}}
    hint = "write a number, true, false, null or a text in quotes"
    import_notes.note_fault(at, _("%(text)s is no value", text=text[signs[-1].end() :].strip()[:80]), hint)
    return None


def _is_literal_and_value(text: str) -> tuple[bool, Any]:
    """Return whether the text is a literal, and its value."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return True, text[1:-1]
    try:
        return True, jsontext.loads(text)
    except jsontext.JsonTextError:
        return False, None


def _equality_document_or_none(key: Any, value: Any, at: str, import_notes: ImportNotes) -> Json | None:
    if not isinstance(key, str) or not key:
        import_notes.note_fault(f"{at}.key", "has to be the name of an output key")
        return None
    return {"output": {"path": path_for_key(key), "op": "equals", "value": value}}


def _output_keys(document: Any, at: str, import_notes: ImportNotes) -> list[str]:
    """A list, a JSON list in a text, or names with commas between them."""
    if isinstance(document, str):
        try:
            document = jsontext.loads(document) if document.lstrip().startswith("[") else document.split(",")
        except jsontext.JsonTextError as fault:
            import_notes.note_loss(
                at, _("is no list, so no output is asked for: %(fault)s", fault=fault.message)
            )
            return []
    if not isinstance(document, list):
        if document:
            message = _("%(value)s is no list, so no output is asked for", value=shortened_json(document))
            import_notes.note_loss(at, message)
        return []
    return list(dict.fromkeys(key.strip() for key in document if isinstance(key, str) and key.strip()))


def _number_or_default(document: Any, otherwise: int) -> Any:
    number = _number_or_value(document)
    return number if is_number(number) else otherwise


def _number_or_value(document: Any) -> Any:
    """Return the number in a text: of `BigInt(3), // …` it is 3; else the value itself."""
    match = _NUMBER.match(document) if isinstance(document, str) else None
    return int(match[1]) if match and len(match[1]) < 12 else document


def _is_true_or_loss(document: Any, at: str, import_notes: ImportNotes) -> bool:
    """A database may write 1 for true."""
    word = document.strip().lower() if isinstance(document, str) else document
    if (
        word is True
        or (type(word) is int and word == 1)
        or (isinstance(word, str) and word.startswith("true"))
    ):
        return True
    if word and not (isinstance(word, str) and word.startswith("false")):
        import_notes.note_loss(at, _("%(value)s is read as false", value=shortened_json(document)))
    return False
