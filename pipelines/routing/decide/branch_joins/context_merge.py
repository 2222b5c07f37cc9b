"""Context written by the branches of a join, merged in the order in which their stations were left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pipelines.routing.basics.values import are_equal
from pipelines.routing.decide.branch_joins.branches import Write


def merge_writes_later_wins(branches: Iterable[Sequence[Write]]) -> dict[str, Any]:
    """Later overwrites earlier, whichever branch it was."""
    values: dict[str, Any] = {}
    writes = {write.order: write for branch in branches for write in branch}
    for order in sorted(writes):
        values |= writes[order].values
    return values


def contradicting_keys(branches: Iterable[Sequence[Write]]) -> tuple[str, ...]:
    """Keys under which two branches end up with different values, each by a write of its own."""
    last: dict[str, list[tuple[int, Any]]] = {}
    for branch in branches:
        own: dict[str, tuple[int, Any]] = {}
        for write in sorted(branch, key=lambda entry: entry.order):
            # Of one branch the last write counts: only the values with which branches arrive can contradict
            own |= {key: (write.order, value) for key, value in write.values.items()}
        for key, ordered_value in own.items():
            last.setdefault(key, []).append(ordered_value)
    return tuple(sorted(key for key, ordered_values in last.items() if _values_differ(ordered_values)))


def writing_stations(keys: Collection[str], branches: Iterable[Sequence[Write]]) -> tuple[str, ...]:
    """Return the stations that wrote the values under these keys with which their branches arrived."""
    last = {
        (number, key): write.station
        for number, branch in enumerate(branches)
        for write in sorted(branch, key=lambda write: write.order)
        for key in write.values.keys() & keys
    }
    return tuple(dict.fromkeys(last.values()))


def contradicting_values(
    keys: Sequence[str], sources: Sequence[str], branches: Sequence[Sequence[Write]]
) -> dict[str, dict[str, Any]]:
    """Return, by branch, the values under the keys on which the branches contradict each other; empty without
    such keys."""
    if not keys:
        return {}
    branch_values = zip(sources, (merge_writes_later_wins([branch]) for branch in branches), strict=True)
    return {source: {key: values[key] for key in keys if key in values} for source, values in branch_values}


def _values_differ(ordered_values: list[tuple[int, Any]]) -> bool:
    # One write that both branches have, from before they parted, contradicts nothing.
    return any(a[0] != b[0] and not are_equal(a[1], b[1]) for a in ordered_values for b in ordered_values)
