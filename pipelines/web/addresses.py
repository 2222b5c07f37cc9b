"""Addresses for outside: in mails, and printed by commands."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import get_script_prefix, reverse


def absolute(name: str, *args: Any) -> str:
    """Where people open this page: under BASE_URL, whose path prefix `reverse` knows in some threads only."""
    return f"{settings.BASE_URL}/{reverse(name, args=args).removeprefix(get_script_prefix())}"
