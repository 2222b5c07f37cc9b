"""A task chain of contenox (B1…B20)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.carrier import Carrier
from pipelines.formats.foreign.contenox import reading as reader
from pipelines.formats.foreign.contenox.reading import FAILED
from pipelines.formats.foreign.contenox.work import (
    CHATS,
    CHOICES,
    OF_A_MODEL,
    of_a_model,
    variable,
    with_names,
)
from pipelines.formats.foreign.parts import Json, extra, in_order, name_in, parted, texts
from pipelines.routing.basics import jsontext

HANDLERS: Final = {"noop": "noop", "error": "raise_error", "chat": "chat_completion", "route": "route"}
GUARD: Final = {"not": FAILED}
OPERATORS: Final = {"gt": ">", "lt": "<"}


def write(line: Json) -> Json:
    names = {each["key"]: name_in(each) for each in line["stations"]}
    for end in (
        "completed",
        *(each["key"] for each in line.get("ends") or [] if each["kind"] == "completed"),
    ):
        names[end] = "end"
    return {
        **extra(line),
        "id": extra(line).get("id") or line["key"],
        **({"description": line["description"]} if line.get("description") else {}),
        "tasks": [_task(each, names) for each in in_order(line)],
    }


def _task(station: Json, names: Mapping[str, str]) -> Json:
    kept, work = extra(station), station["work"]
    ids = {key: name for key, name in names.items() if name != "end"}
    system, prompt = (with_names(text, ids) for text in texts(work))
    if work["kind"] == "manual":
        system, prompt = parted(prompt, kept.get("system_instruction"))
    handler = HANDLERS.get(work["kind"], kept.get("handler") if work["kind"] == "manual" else None) or "hook"
    before = kept.get("handler")
    if handler in ("chat_completion", "route") and isinstance(before, str) and _alike(before, handler):
        handler = before
    if work["kind"] == "route" and work.get("strict") and handler == "route":
        handler = "condition_key"
    kept.pop("system_instruction", None)
    kept |= _config(work, kept.get("execute_config"))
    if work["kind"] in ("chat", "route") and prompt == variable(kept.get("input_var")):
        prompt = ""  # it says so itself
    limit = (station.get("limits") or {}).get("max_timeout")
    return {
        **kept,
        "id": name_in(station),
        "handler": handler,
        **({"system_instruction": system} if system else {}),
        **({"prompt_template": prompt} if prompt else {}),
        **({"timeout": f"{limit:g}s" if limit < 1e6 else f"{int(limit)}s"} if limit else {}),
        **_transition(station, names),
    }


def _alike(before: str, handler: str) -> bool:
    return before in (CHATS if handler == "chat_completion" else CHOICES)


def _config(work: Json, kept: Any) -> Json:
    """Write what the station says of its model; of what it does not say, only what could not be said here."""
    before: Json = dict(kept) if isinstance(kept, Mapping) else {}
    said = {key: work[key] for key in OF_A_MODEL if work.get(key) is not None}
    read = of_a_model(before)
    if work["kind"] not in ("chat", "route") or read == said:
        return {}
    rest = {key: each for key, each in before.items() if key not in read}
    return {"execute_config": {**rest, **said}}


def _transition(station: Json, names: Mapping[str, str]) -> Json:
    rules = list(station.get("rules") or [])
    made: Json = {}
    around: Json = {}
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
        branch for rule in rules if isinstance(rule["to"], str) and (branch := _branch(rule, names))
    ]
    return {**around, "transition": made}


def _branch(rule: Json, names: Mapping[str, str]) -> Json | None:
    if rule["to"] not in names:
        return None
    when = rule.get("when")
    parts = when.get("all") if isinstance(when, dict) else None
    condition = parts[1] if isinstance(parts, list) and len(parts) == 2 and parts[0] == GUARD else when
    said: Json = {"operator": "default", "when": ""}
    if isinstance(condition, dict) and isinstance(test := condition.get("eval"), dict):
        value = test.get("value")
        op = OPERATORS.get(str(test.get("op")), test.get("op"))
        said = {"operator": op, "when": value if isinstance(value, str) else jsontext.dumps(value)}
        # As it was spelt, where that still says it.
        spelling, _space, wanted = str(rule.get("label") or "").partition(" ")
        if spelling in reader.OPERATORS and reader.test_of(spelling, wanted, "", Carrier()) == condition:
            said = {"operator": spelling, "when": wanted}
    elif isinstance(condition, dict) and isinstance(edge := condition.get("edge"), dict):
        if edge.get("from") in names and edge.get("to") in names:
            said = {
                "operator": "edge_traversed_at_least",
                "when": str(edge.get("at_least")),
                "edge": f"{names[edge['from']]}->{names[edge['to']]}",
            }
    elif condition not in (None, GUARD, {"result": "success"}):
        return None
    composed = (rule.get("compose") or [None])[0]
    return {
        **extra(rule),
        **said,
        "goto": names[rule["to"]],
        **({"compose": _compose(composed)} if composed else {}),
    }


def _compose(given: Mapping[str, Any]) -> Json:
    strategy = f"json_path:{given['path']}" if given.get("path") else given.get("strategy", "override")
    return {"with_var": given["var"], "strategy": strategy}
