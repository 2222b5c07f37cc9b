"""Sampling of the tasks that a gate with `sample` asks about (law §15): drawn by a keyed digest, so that
nobody can predict or choose."""

from __future__ import annotations

import hmac
from typing import Final

DRAWN: Final = "drawn"
SAME_CHANGE: Final = "same_change"
SAME_REQUEST: Final = "same_request"
NOT_DRAWN: Final = "not_drawn"
FELL_BACK: Final = "fell_back"
UNKNOWN: Final = ""
"""Nothing was drawn: people are asked."""
DRAWS: Final = {
    DRAWN: "drawn, 1 in %d",
    SAME_CHANGE: "the same change was asked about before, 1 in %d",
    SAME_REQUEST: "the same was drawn before and is not approved, 1 in %d",
    NOT_DRAWN: "not drawn, 1 in %d",
    FELL_BACK: "something went wrong since, so all are asked about and not 1 in %d",
    UNKNOWN: "nothing was drawn, 1 in %d",
}
"""What the fact `samples` says of a gate, and how the trace says it."""
RANGE: Final = 2**64


def is_chain_drawn(key: bytes, gate: str, root: str, one_in: int) -> bool:
    """Return whether the tasks of the chain that began with `root` are drawn at `gate`. Raising the rate
    keeps every chain that was drawn. `key`: that of the installation; `gate` and `root` name the two
    uniquely in it."""
    return is_draw_selected(draw_number_of_chain(key, gate, root), one_in)


def draw_number_of_chain(key: bytes, gate: str, root: str) -> int:
    """Return the draw of the chain at the gate, independent of the rate: evenly distributed from 0 to
    `RANGE`."""
    # NUL keeps gate and root apart; 8 bytes are a number below RANGE.
    return int.from_bytes(hmac.digest(key, f"{gate}\0{root}".encode(), "sha256")[:8])


def is_draw_selected(draw: int, one_in: int) -> bool:
    """Return whether this draw is selected at that rate."""
    return draw < RANGE // one_in
