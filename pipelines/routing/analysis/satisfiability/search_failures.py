"""Errors by which a search for a situation ends without one: proved impossible, or unknown."""

from __future__ import annotations


class Impossible(Exception):
    """There is no such situation: proved."""


class Unknown(Exception):
    """Neither shown nor refuted within the bounds; the message says what stood in the way."""
