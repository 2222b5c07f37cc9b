"""Sockets for the matrix, as in the tests of the live view; and two tenants."""

from tests.access.two import two
from tests.live.conftest import _a_fresh_layer, knock

__all__ = ["_a_fresh_layer", "knock", "two"]
