"""What the branches of a join wrote into the context: merged in the order in which their stations were left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pipelines.routing.basics.values import equal
from pipelines.routing.decide.joining.branches import Write


def merged(branches: Iterable[Sequence[Write]]) -> dict[str, Any]:
    """Later overwrites earlier, whichever branch it was."""
    found: dict[str, Any] = {}
    writes = {write.order: write for branch in branches for write in branch}
    for order in sorted(writes):
        found |= writes[order].values
    return found


def contradictions(branches: Iterable[Sequence[Write]]) -> tuple[str, ...]:
    """Keys under which two branches end up with different values, each by a write of its own."""
    last: dict[str, list[tuple[int, Any]]] = {}
    for branch in branches:
        own: dict[str, tuple[int, Any]] = {}
        for write in sorted(branch, key=lambda each: each.order):
            own |= {key: (write.order, value) for key, value in write.values.items()}
        for key, said in own.items():
            last.setdefault(key, []).append(said)
    return tuple(sorted(key for key, said in last.items() if _differ(said)))


def writers(keys: Collection[str], branches: Iterable[Sequence[Write]]) -> tuple[str, ...]:
    """Return the stations that wrote the values under these keys with which their branches arrived."""
    last = {
        (number, key): write.station
        for number, branch in enumerate(branches)
        for write in sorted(branch, key=lambda write: write.order)
        for key in write.values.keys() & keys
    }
    return tuple(dict.fromkeys(last.values()))


def said_under(
    keys: Sequence[str], sources: Sequence[str], branches: Sequence[Sequence[Write]]
) -> dict[str, dict[str, Any]]:
    """Collect by branch what it put under the keys that they contradict each other under; nothing without any."""
    if not keys:
        return {}
    said = zip(sources, (merged([branch]) for branch in branches), strict=True)
    return {source: {key: values[key] for key in keys if key in values} for source, values in said}


def _differ(said: list[tuple[int, Any]]) -> bool:
    return any(a[0] != b[0] and not equal(a[1], b[1]) for a in said for b in said)
