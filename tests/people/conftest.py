"""Clients as in the tests of pages."""

from tests.pages.conftest import signed_in

__all__ = ["signed_in"]
