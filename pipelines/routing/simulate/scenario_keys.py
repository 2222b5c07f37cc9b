"""Scenarios follow the parts of their line to other keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.simulate.scenario import Expectation, ScenarioScript, ScenarioStep

Keys = Mapping[str, str]


def script_with_new_keys(script: ScenarioScript, rekeyed: Mapping[tuple[str, str], str]) -> ScenarioScript:
    """Name parts by their new keys. `rekeyed`: {(kind, key before): key now}; stations and ends share one name
    space."""
    places, gates, rules, inputs = (
        _renamed_keys(rekeyed, kinds) for kinds in (("station", "end"), ("gate",), ("rule",), ("input",))
    )
    return replace(
        script,
        steps=tuple(_renamed_step(step, places, gates) for step in script.steps),
        inputs={inputs.get(key, key): value for key, value in script.inputs.items()},
        expect=_renamed_expectation(script.expect, places, rules),
    )


def _renamed_keys(rekeyed: Mapping[tuple[str, str], str], kinds: Iterable[str]) -> Keys:
    return {key: now for (kind, key), now in rekeyed.items() if kind in kinds}


def _renamed_step(step: ScenarioStep, places: Keys, gates: Keys) -> ScenarioStep:
    return replace(
        step,
        at=step.at and places.get(step.at, step.at),
        outcome=_outcome_with_new_jump_targets(step.outcome, places),
        gates={gates.get(key, key): _vote_with_new_route(word, places) for key, word in step.gates.items()},
        details=_vote_with_new_route(step.details, places),
    )


def _vote_with_new_route(word: Mapping[str, str], places: Keys) -> dict[str, str]:
    return {key: places.get(text, text) if key == "route" else text for key, text in word.items()}


def _outcome_with_new_jump_targets(outcome: Mapping[str, Any], places: Keys) -> Mapping[str, Any]:
    """Lead jumps to the same place."""
    signals = outcome.get("signals")
    return (
        {**outcome, "signals": [_renamed_jump(signal, places) for signal in signals]} if signals else outcome
    )


def _renamed_jump(signal: Mapping[str, Any], places: Keys) -> Mapping[str, Any]:
    meta = signal.get("meta") or {}
    target = meta.get("targetState")
    if type(target) is not str or target not in places:
        return signal
    return {**signal, "meta": {**meta, "targetState": places[target]}}


def _renamed_expectation(expect: Expectation, places: Keys, rules: Keys) -> Expectation:
    return replace(
        expect,
        path=_keys_renamed_or_none(expect.path, places),
        rules=_keys_renamed_or_none(expect.rules, rules),
        end=expect.end and places.get(expect.end, expect.end),
    )


def _keys_renamed_or_none(keys: tuple[str, ...] | None, now: Keys) -> tuple[str, ...] | None:
    return None if keys is None else tuple(now.get(key, key) for key in keys)
