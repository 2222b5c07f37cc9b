"""Documents of each system that went wrong somewhere: a right one, in which values, keys or pieces of its text are
others. The same number makes the same document."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pipelines.formats import native
from tests.dialects import test_imported as right
from tests.formats.foreign.test_aeef import EVENT, ITEM, MACHINE
from tests.formats.foreign.test_alp_drafts import LINE as DRAFTS
from tests.formats.foreign.test_written import ASKS

CHAIN: Final = {
    "id": "moderation",
    "token_limit": 9,
    "tasks": [
        {
            "id": "score",
            "handler": "prompt_to_int",
            "prompt_template": "Rate {{.input}}",
            "retry_on_failure": 2,
            "timeout": "30s",
            "execute_config": {"model": "m", "temperature": 0.5, "max_tokens": "{{var:n|512}}"},
            "transition": {
                "on_failure": "answer",
                "branches": [
                    {"operator": "default", "goto": "answer"},
                    {"operator": ">", "when": "6", "goto": "refuse"},
                    {"operator": "edge_traversed_at_least", "edge": "score->answer", "when": "3", "goto": "end"},
                ],
            },
        },
        {"id": "answer", "handler": "route", "transition": {"branches": [
            {"operator": "equals", "when": "yes", "goto": "end",
             "compose": {"with_var": "id", "strategy": "json_path:$.user.id"}}]}},
        {"id": "refuse", "handler": "raise_error", "transition": {"branches": []}},
    ],
}  # fmt: skip
FORKS: Final = {
    "name": "forks",
    "stages": [
        {"id": "both", "skill": "s", "parallel": ["qa", "sec"], "onPass": "again", "onFail": "both", "maxRetries": 2},
        {"id": "qa", "skill": "qa", "onPass": "_parallel_complete"},
        {"id": "sec", "skill": "sec", "timeoutSec": 30},
        {"id": "more", "type": "parallel", "children": [{"id": "x", "skill": "x"}, {"id": "y", "skill": "y"}],
         "aggregation": "any-pass", "onPass": "complete", "onFail": "again"},
        {"id": "again", "type": "loop", "skill": "fix", "until": "VERDICT_PASS", "maxIterations": 4,
         "onComplete": "more", "onExhausted": "blocked", "fallback": "blocked"},
    ],
}  # fmt: skip
CHOICE: Final = {
    "id": "Choice",
    "tasks": [
        {"id": "Ask", "handler": "condition_key", "valid_conditions": {"yes": True, "no": True, "off": False},
         "execute_config": {"model": "m", "provider": "p", "temperature": 0.5, "tools": ["t"], "think": "high"},
         "transition": {"branches": [{"operator": "equals", "when": "yes", "goto": "Say"},
                                     {"operator": "default", "goto": "end"}]}},
        {"id": "Say", "handler": "chat_completion", "input_var": "Ask", "print": "x", "system_instruction": "{{.Ask}}",
         "transition": {"branches": [{"operator": "in_range", "when": "3-5", "goto": "Last"}]}},
        {"id": "Last", "handler": "chat_completion", "prompt_template": "{{edge_count:Ask->Say}} {{var:x|y}}"},
    ],
}  # fmt: skip
LOGIC: Final = {
    "workflow": {"id": "wf", "name": "Logic"},
    "stations": [{"id": "a", "name": "A", "position": "BigInt(1)", "station_prompt": "{{x}}"},
                 {"id": "b", "name": "B", "position": 2, "is_terminator": "true", "output_context_keys": "a, b"}],
    "transitions": [
        {"source_station_id": "a", "target_station_id": "b", "condition_type": "conditional", "priority": priority,
         "created_at": "2025-01-01", "max_retries": 3, "condition_value": value}
        for priority, value in enumerate((
            {"and": [{"<": [1, {"var": "n"}, 3]}, {"!": {"in": ["x", {"var": "tags"}]}}]},
            {"some": [{"var": "r"}, {"==": [{"var": "s"}, "f"]}]}, '{"key": "a.b", "value": [1, {"c": null}]}',
            {"check_output_key": "k", "expected_value": 0}, "$.r[?(@.s == 'failed')].length == 0", "n >= 5", "flag"))
    ],
}  # fmt: skip
AGENTS: Final = {
    "agents": [{"agent_id": "qa-agent", "contract_version": "1.0", "forbidden_actions": ["merge"]}]
}
RIGHT: Final[Mapping[str, tuple[Any, ...]]] = {
    "alp": (right.ALP, DRAFTS, ASKS),
    "contenox": (CHAIN, CHOICE),
    "vibe-factory": (right.VIBE, LOGIC),
    "flux": (native.parsed_value(right.FLUX), FORKS),
    "aeef": (MACHINE, ITEM, EVENT, AGENTS, [ITEM, EVENT], native.parsed_value(right.AEEF)),
}
ODD: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1e308, 10**30, 0.1, "", " ", "x" * 5_000, "\u2028", "\ud7ff", "é" * 40, "end",
    "@origin", "@blocked", "{{", "}}", "{{.a.b}}", "{{$.x}}", "{{macro:x|y}}", "$[", "a < ", "<", "1,2,3", "{", "[1",
    "$.a[?(@.b == 'c')].length == 0", "null", "999999999999999999h", "-5m", "1e9", "../../etc/passwd", "<script>",
    "http://127.0.0.1/", "'; --", [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["x"] * 60, {"if": [1]},
    {"and": [{"==": [{"var": "x"}, 1]}]}, {"logic": "OR", "rules": [{}]},
)  # fmt: skip
PIECES: Final = (
    *"{}[],:\"\\\n\t\x00", "//", "/*", "&a ", "*a", "!!x ", "---\n", "1e", "\ufeff", "- ",
)  # fmt: skip


BROKEN: Final = 0.15
"""How many have pieces of their text changed. They are no JSON any more: YAML is read in pure Python, and costs nine
tenths of the whole."""


def documents(dialect: str, count: int, seed: int = 0, broken: float = BROKEN) -> Iterator[str]:
    for number in range(count):
        yield document(dialect, random.Random(f"{dialect} {seed} {number}"), broken)


def document(dialect: str, chance: random.Random, broken: float = BROKEN) -> str:
    made = copy.deepcopy(chance.choice(RIGHT[dialect]))
    for _time in range(chance.choice((1, 1, 2, 3, 5, 9))):
        try:
            made = _changed(made, chance)
        except RecursionError:
            break  # Nested again and again: deep enough to be tried, too deep for more.
    text = _yaml(made) if chance.random() < broken / 4 else json.dumps(made)
    if chance.random() < broken:
        for _time in range(chance.randint(1, 4)):
            at, length = chance.randrange(len(text) + 1), chance.choice((0, 0, 1, 5, 40))
            text = text[:at] + chance.choice(PIECES) + text[at + length :]
    return text


def _yaml(made: Any) -> str:
    try:
        return native.dumps(made)
    except (RecursionError, UnicodeEncodeError, AttributeError, TypeError):
        # Nobody could write this one as YAML.
        return json.dumps(made)


def _changed(made: Any, chance: random.Random) -> Any:
    """One place of it, anywhere."""
    places = list(_places(made))
    if not places:
        return chance.choice(ODD)
    holder, key = chance.choice(places)
    how = chance.randrange(7)
    if how == 0:
        del holder[key]
    elif how in (1, 2):
        holder[key] = copy.deepcopy(chance.choice(ODD))
    elif how == 3:
        # The value of another place.
        other, at = chance.choice(places)
        holder[key] = copy.deepcopy(other[at])
    elif how == 4 and isinstance(holder, dict):
        holder[str(chance.choice(ODD))[:40]] = holder.pop(key)
    elif how == 5:
        depth, inner = chance.choice((1, 3, 120)), holder[key]
        for _level in range(depth):
            inner = [inner] if chance.random() < 0.5 else {"stations": inner}
        holder[key] = inner
    elif isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[key]) for _time in range(chance.choice((1, 2, 30))))
    else:
        holder[f"{key}_"] = copy.deepcopy(holder[key])
    return made


def _places(made: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [made]
    while waiting:
        each = waiting.pop()
        keys = range(len(each)) if isinstance(each, list) else each if isinstance(each, dict) else ()
        for key in keys:
            yield each, key
            waiting.append(each[key])
