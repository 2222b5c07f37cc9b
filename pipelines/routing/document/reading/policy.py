"""Policy knobs of a document: the preset fills what is not named (law §4)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from pipelines.routing.document.policy import DEFAULT_PRESET, PRESETS, Policy
from pipelines.routing.document.reading.names import Names, refers
from pipelines.routing.document.reading.reader import Reader, expected, quote

NO_RULES = ("advance", "end", "refuse")
NO_MATCH = ("default", "fail", "stuck", "fallback", "escalate")
ON_FAILURE = ("halt", "stuck", "escalate", "fallback")
ON_REJECT = ("fail", "rework", "reviewer_chooses")
ON_EXHAUSTED = ("fail", "stuck", "escalate")
SCOPES = ("current", "merged")
CONTRADICTIONS = ("later_wins", "escalate")
OLDER = (
    "no_rules",
    "no_match",
    "on_failure",
    "failure_rules",
    "revisit",
    "self_loop_limit",
    "on_reject",
    "on_exhausted",
    "condition_scope",
    "contradiction",
    "visit_cap",
)
_LIMIT = re.compile(r"limit:(0|[1-9][0-9]{0,8})\Z")


def read_preset(reader: Reader) -> str:
    return reader.choice("preset", PRESETS, DEFAULT_PRESET)


def read_policy(reader: Reader, preset: str, names: Names) -> Policy:
    usual = PRESETS[preset]
    knobs = reader.one("policy", lambda knobs: _knobs(knobs, usual, names))
    return usual if knobs is None else knobs


def _knobs(reader: Reader, usual: Policy, names: Names) -> Policy:
    policy = replace(
        usual,
        no_rules=reader.choice("no_rules", NO_RULES, usual.no_rules),
        no_match=reader.choice("no_match", NO_MATCH, usual.no_match),
        on_failure=read_route(reader, "on_failure", ON_FAILURE, "station", names) or usual.on_failure,
        failure_rules=_yes(reader, "failure_rules"),
        revisit=_revisit(reader, usual.revisit),
        self_loop_limit=_self_loop_limit(reader, usual.self_loop_limit),
        on_reject=read_route(reader, "on_reject", ON_REJECT, "route", names) or usual.on_reject,
        on_exhausted=reader.choice("on_exhausted", ON_EXHAUSTED, usual.on_exhausted),
        condition_scope=reader.choice("condition_scope", SCOPES, usual.condition_scope),
        contradiction=reader.choice("contradiction", CONTRADICTIONS, usual.contradiction),
        visit_cap=reader.count("visit_cap", usual.visit_cap, least=1) or usual.visit_cap,
        standard_budgets=_yes(reader, "standard_budgets", _newer(reader, usual.standard_budgets)),
        preconditions=_yes(reader, "preconditions", _newer(reader, usual.preconditions)),
        deadlocks=_yes(reader, "deadlocks", _newer(reader, usual.deadlocks)),
    )
    reader.done()
    return policy


def _newer(reader: Reader, usual: bool) -> bool:
    """A version that was published before these knobs names all others: there they are off, whatever its preset."""
    return usual and not all(reader.has(name) for name in OLDER)


def read_route(reader: Reader, key: str, words: Collection[str], prefix: str, names: Names) -> str | None:
    """One of `words`, or `<prefix>:<station>`; None where the key is absent or faulty."""
    if not reader.has(key):
        return reader.raw(key)
    value = reader.text(key)
    start, colon, station = value.partition(":")
    if start == prefix and colon:
        if not station:
            reader.note(key, f"{prefix}: names no station")
        refers(reader, key, station, names.stations, "station")
        return value
    if type(reader.given[key]) is str and value not in words:
        reader.note(key, f"{quote(value)} is not known", expected(value, (*words, f"{prefix}:<station>")))
    return value if value in words else None


def _yes(reader: Reader, key: str, usual: bool = True) -> bool:
    """`yes` or `no`; true and false too, which YAML 1.1 tools make of them."""
    value = reader.raw(key, usual)
    if type(value) is bool:
        return value
    if value not in ("yes", "no"):
        reader.note(key, "has to be yes or no")
    return bool(value != "no")


def _revisit(reader: Reader, usual: str) -> str:
    value = reader.text("revisit", usual)
    if value not in ("allow", "forbid") and not _LIMIT.match(value):
        reader.note("revisit", f"{quote(value)} is not known", "allow, forbid or limit:<n>")
        return usual
    return value


def _self_loop_limit(reader: Reader, usual: int | None) -> int | None:
    if reader.given.get("self_loop_limit") == "none":
        return reader.raw("self_loop_limit") and None
    return reader.count("self_loop_limit", usual)
