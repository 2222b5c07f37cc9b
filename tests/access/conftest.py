"""Sockets for the matrix, as in the tests of the live view."""

from tests.live.conftest import _a_fresh_layer, knock

__all__ = ["_a_fresh_layer", "knock"]
