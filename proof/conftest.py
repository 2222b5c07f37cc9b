"""What tests of `proof/` may use: the same as those of `tests/`."""

from tests.conftest import pytest_plugins

__all__ = ["pytest_plugins"]
