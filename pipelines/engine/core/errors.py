"""Refusals of the engine: the same classes as everywhere."""

from __future__ import annotations

from pipelines.errors import Conflict, Forbidden, InputError, Invalid, NotFound, Refused

__all__ = ["Conflict", "Forbidden", "InputError", "Invalid", "NotFound", "Refused"]
