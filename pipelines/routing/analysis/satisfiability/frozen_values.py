"""JSON values as hashable ones: equal exactly where `values.equal` says so."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.values import exact, kind

Frozen = tuple[Any, ...]


def freeze(value: Any) -> Frozen:
    is_a = kind(value)
    if is_a == "array":
        return (is_a, tuple(map(freeze, value)))
    if is_a == "object":
        return (is_a, frozenset((key, freeze(member)) for key, member in value.items()))
    # With its type, as Python takes True for 1; and exact, so that 1 and 1.0 are one.
    return (is_a, exact(value) if is_a == "number" else value)


def thaw(frozen: Frozen) -> Any:
    is_a, value = frozen
    if is_a == "array":
        return [thaw(member) for member in value]
    if is_a == "object":
        return {key: thaw(member) for key, member in sorted(value, key=lambda pair: pair[0])}
    return value
