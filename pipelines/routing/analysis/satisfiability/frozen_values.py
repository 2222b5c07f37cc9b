"""JSON values as hashable ones: equal exactly where `values.are_equal` says so."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.values import exact_number, json_type

Frozen = tuple[Any, ...]


def frozen_value(value: Any) -> Frozen:
    is_a = json_type(value)
    if is_a == "array":
        return (is_a, tuple(map(frozen_value, value)))
    if is_a == "object":
        return (is_a, frozenset((key, frozen_value(member)) for key, member in value.items()))
    # With its type, as Python takes True for 1; and exact, so that 1 and 1.0 are one.
    return (is_a, exact_number(value) if is_a == "number" else value)


def thawed_value(frozen: Frozen) -> Any:
    is_a, value = frozen
    if is_a == "array":
        return [thawed_value(member) for member in value]
    if is_a == "object":
        return {key: thawed_value(member) for key, member in sorted(value, key=lambda pair: pair[0])}
    return value
