"""Two ways in which a question about sets of situations ends without an answer that can be shown."""

from __future__ import annotations


class Impossible(Exception):
    """There is no such situation: proved."""


class Unknown(Exception):
    """Neither shown nor refuted within the bounds; the message says what stood in the way."""
