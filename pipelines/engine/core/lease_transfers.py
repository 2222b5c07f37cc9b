"""Leases that go from a finished job to the next one of the same worker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.engine.statements import HAND_LEASES_ON
from pipelines.models.plumbing.compiled_queries import Statement


@dataclass(frozen=True)
class LeaseTransfer:
    """Transfer of a lease from the job `old` to the job `new`."""

    old: int
    new: int
    key: uuid.UUID
    seconds: float


def lease_transfer_statement(handed: Sequence[LeaseTransfer]) -> Statement:
    rows = [*_transferred_lease_rows(handed)]
    return Statement(HAND_LEASES_ON, [json.dumps(rows)], len(rows), "leases that were to be handed on")


def _transferred_lease_rows(handed: Sequence[LeaseTransfer]) -> Iterator[tuple[int, int, str, float]]:
    """A lease that went on several times is still that of the first job, and becomes that of the last."""
    came_from = {transfer.new: transfer.old for transfer in handed}
    went_on = set(came_from.values())
    for transfer in handed:
        if transfer.new not in went_on:
            first = transfer.old
            while first in came_from:
                first = came_from[first]
            yield first, transfer.new, str(transfer.key), transfer.seconds
