"""Errors of the launcher: what it cannot do, and what to do about it."""

from __future__ import annotations


class LauncherError(Exception):
    """Carries a sentence for a person and a remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}\n{remedy}")
        self.message, self.remedy = message, remedy
