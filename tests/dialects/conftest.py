"""The clients of the pages' tests and of the API's."""

from __future__ import annotations

from tests.api.conftest import api
from tests.pages.conftest import signed_in

__all__ = ["api", "signed_in"]
