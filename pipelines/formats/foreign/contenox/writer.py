"""A task chain of contenox (B1…B20)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.contenox import reader as reader
from pipelines.formats.foreign.contenox.reader import FAILED
from pipelines.formats.foreign.contenox.work import (
    CHATS,
    CHOICES,
    OF_A_MODEL,
    rename_variables,
    settings_for_model,
    variable_template,
)
from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.writer_helpers import (
    Json,
    original_name,
    stations_in_order,
    stored_extra,
    system_and_prompt,
    system_and_prompt_split,
)
from pipelines.routing.basics import jsontext

HANDLERS: Final = {"noop": "noop", "error": "raise_error", "chat": "chat_completion", "route": "route"}
GUARD: Final = {"not": FAILED}
OPERATORS: Final = {"gt": ">", "lt": "<"}


def write_chain(line: Json) -> Json:
    names = {station["key"]: original_name(station) for station in line["stations"]}
    for end in (
        "completed",
        *(line_end["key"] for line_end in line.get("ends") or [] if line_end["kind"] == "completed"),
    ):
        names[end] = "end"
    return {
        **stored_extra(line),
        "id": stored_extra(line).get("id") or line["key"],
        **({"description": line["description"]} if line.get("description") else {}),
        "tasks": [_task_document(station, names) for station in stations_in_order(line)],
    }


def _task_document(station: Json, names: Mapping[str, str]) -> Json:
    stored, work = stored_extra(station), station["work"]
    ids = {key: name for key, name in names.items() if name != "end"}
    system, prompt = (rename_variables(text, ids) for text in system_and_prompt(work))
    if work["kind"] == "manual":
        system, prompt = system_and_prompt_split(prompt, stored.get("system_instruction"))
    handler = (
        HANDLERS.get(work["kind"], stored.get("handler") if work["kind"] == "manual" else None) or "hook"
    )
    before = stored.get("handler")
    if (
        handler in ("chat_completion", "route")
        and isinstance(before, str)
        and _is_handler_spelling(before, handler)
    ):
        handler = before
    if work["kind"] == "route" and work.get("strict") and handler == "route":
        handler = "condition_key"
    stored.pop("system_instruction", None)
    stored |= _config_document(work, stored.get("execute_config"))
    if work["kind"] in ("chat", "route") and prompt == variable_template(stored.get("input_var")):
        prompt = ""  # it says so itself
    limit = (station.get("limits") or {}).get("max_timeout")
    return {
        **stored,
        "id": original_name(station),
        "handler": handler,
        **({"system_instruction": system} if system else {}),
        **({"prompt_template": prompt} if prompt else {}),
        # From 1e6 on `g` writes an exponent, which is no duration there.
        **({"timeout": f"{limit:g}s" if limit < 1e6 else f"{int(limit)}s"} if limit else {}),
        **_transition_document(station, names, stored.get("transition")),
    }


def _is_handler_spelling(before: str, handler: str) -> bool:
    return before in (CHATS if handler == "chat_completion" else CHOICES)


def _config_document(work: Json, stored: Any) -> Json:
    """Write what the station says of its model; of what it does not say, only what could not be said here."""
    before: Json = dict(stored) if isinstance(stored, Mapping) else {}
    model_settings = {key: work[key] for key in OF_A_MODEL if work.get(key) is not None}
    read = settings_for_model(before)
    if work["kind"] not in ("chat", "route") or read == model_settings:
        return {}
    rest = {key: value for key, value in before.items() if key not in read}
    return {"execute_config": {**rest, **model_settings}}


def _transition_document(station: Json, names: Mapping[str, str], stored: Any) -> Json:
    """`stored`: what the original says of the transition besides."""
    rules = list(station.get("rules") or [])
    made: Json = dict(stored) if isinstance(stored, Mapping) else {}
    around: Json = {}
    # A retry and `on_failure` are read as the first rule (B19).
    if rules and rules[0].get("when") == FAILED and isinstance(rules[0]["to"], str):
        first = rules.pop(0)
        target = first["to"]
        if target == station["key"] and first.get("max_retries"):
            around["retry_on_failure"] = first["max_retries"]
            then = first.get("on_exhausted")
            target = then.get("to", "failed") if isinstance(then, dict) else "failed"
        if target in names and names[target] != "end":
            made["on_failure"] = names[target]
    made["branches"] = [
        branch
        for rule in rules
        if isinstance(rule["to"], str) and (branch := _branch_document_or_none(rule, names))
    ]
    return {**around, "transition": made}


def _branch_document_or_none(rule: Json, names: Mapping[str, str]) -> Json | None:
    if rule["to"] not in names:
        return None
    when = rule.get("when")
    parts = when.get("all") if isinstance(when, dict) else None
    condition = parts[1] if isinstance(parts, list) and len(parts) == 2 and parts[0] == GUARD else when
    branch_test: Json = {"operator": "default", "when": ""}
    if isinstance(condition, dict) and isinstance(test := condition.get("eval"), dict):
        value = test.get("value")
        op = OPERATORS.get(str(test.get("op")), test.get("op"))
        branch_test = {"operator": op, "when": value if isinstance(value, str) else jsontext.dumps(value)}
        # As it was spelt, where that still says it.
        spelling, _space, expected = str(rule.get("label") or "").partition(" ")
        if (
            spelling in reader.OPERATORS
            and reader.output_test_or_none(spelling, expected, "", ImportNotes()) == condition
        ):
            branch_test = {"operator": spelling, "when": expected}
    elif isinstance(condition, dict) and isinstance(edge := condition.get("edge"), dict):
        if edge.get("from") in names and edge.get("to") in names:
            branch_test = {
                "operator": "edge_traversed_at_least",
                "when": str(edge.get("at_least")),
                "edge": f"{names[edge['from']]}->{names[edge['to']]}",
            }
    elif condition not in (None, GUARD, {"result": "success"}):
        return None
    composed = (rule.get("compose") or [None])[0]
    return {
        **stored_extra(rule),
        **branch_test,
        "goto": names[rule["to"]],
        **({"compose": _compose_document(composed)} if composed else {}),
    }


def _compose_document(compose: Mapping[str, Any]) -> Json:
    strategy = f"json_path:{compose['path']}" if compose.get("path") else compose.get("strategy", "override")
    return {"with_var": compose["var"], "strategy": strategy}
