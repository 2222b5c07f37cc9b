"""The fields that gate checks can read (line-document.md, Defaults that matter): the outcome as recorded, with its
derived values (law §2), never the values of a forced route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.routing.basics.outcome import DerivedOutcome
from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.situation import Situation
from pipelines.routing.decide.station_facts import STATIONS
from pipelines.routing.document.checks import UnknownField
from pipelines.routing.document.paths import value_at_key

ALIASES = {
    "cost_usd": "usage.cost_usd",
    "cost.total_usd": "usage.cost_usd",
    "tokens_in": "usage.tokens_in",
    "tokens.input": "usage.tokens_in",
    "tokens_out": "usage.tokens_out",
    "tokens.output": "usage.tokens_out",
    "timing.duration_sec": "usage.duration_sec",
    "driver": "usage.driver",
    "provider": "usage.provider",
    "model": "usage.model",
}
"""The dialects' own names (dialect D)."""

USAGE = (
    *("usage.cost_usd", "usage.tokens_in", "usage.tokens_out", "usage.duration_sec"),
    *("usage.driver", "usage.provider", "usage.model"),
)


def check_field_value(name: str, situation: Situation, derived: DerivedOutcome) -> Any:
    """The value of a field; MISSING if it is absent. Raises UnknownField."""
    name = ALIASES.get(name, name)
    if name in SINGLE:
        value = SINGLE[name](situation, derived)
        return MISSING if value is None else value
    if name in USAGE:
        value = situation.outcome.usage.get(name.removeprefix("usage."))
        return MISSING if value is None else value
    family, _dot, rest = name.partition(".")
    if not rest or family not in FAMILIES:
        raise UnknownField(name)
    return FAMILIES[family](situation, rest)


def readable_facts(situation: Situation) -> dict[str, Any]:
    """The facts that conditions and checks read: those of the outcome, and those of other stations under `stations`."""
    own, others = dict(situation.outcome.facts), situation.facts.observed
    return {**own, STATIONS: {key: dict(facts) for key, facts in others.items()}} if others else own


def _signal_verdict(situation: Situation, derived: DerivedOutcome) -> Any:
    signal = situation.outcome.deciding_signal
    return None if signal is None else signal["verdict"]


def _output_value_or_missing(situation: Situation, rest: str) -> Any:
    outcome = situation.outcome
    # A check on output that could not be parsed fails; only rules get stuck on it (law §3, §6).
    return MISSING if outcome.output_error else value_at_key(outcome.output, rest)


def _last_gate_word_or_missing(situation: Situation, key: str) -> Any:
    """The gate's last decision, on this visit or else on an earlier one."""
    word = situation.facts.gates.get(key)
    if word is not None and word.decision is not None:
        return word.decision
    return situation.facts.words.get(key, MISSING)


SINGLE: dict[str, Callable[[Situation, DerivedOutcome], Any]] = {
    "exit_code": lambda situation, derived: situation.outcome.exit_code,
    "result": lambda situation, derived: derived.result,
    "verdict": lambda situation, derived: derived.verdict,
    "eval": lambda situation, derived: derived.eval,
    "failure_type": lambda situation, derived: situation.outcome.failure_type,
    "signal": _signal_verdict,
    "run.attempt": lambda situation, derived: situation.visit_count(situation.station),
    "blockers": lambda situation, derived: len(situation.outcome.blockers),
}

FAMILIES: dict[str, Callable[[Situation, str], Any]] = {
    "output": _output_value_or_missing,
    "task": lambda situation, rest: value_at_key(situation.facts.task, rest),
    "input": lambda situation, rest: situation.facts.inputs.get(rest, MISSING),
    "context": lambda situation, rest: value_at_key(situation.facts.context, rest),
    "variables": lambda situation, rest: situation.facts.variables.get(rest, MISSING),
    "gates": _last_gate_word_or_missing,
    "git": lambda situation, rest: value_at_key(dict(situation.outcome.git), rest),
    "meta": _output_value_or_missing,
    "facts": lambda situation, rest: value_at_key(readable_facts(situation), rest),
}
"""`meta` is Flux's name of the output; `git` is what changed in the repositories of the workspace (docs/gates.md), and
`facts` what Gateline observed (law §13). `input` and `variables` are flat; output, git, facts, task and context are
looked up flat first, then dotted."""
