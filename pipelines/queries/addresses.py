"""Addresses for outside: in mails, and printed by commands."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import get_script_prefix, reverse


def absolute_url(name: str, *args: Any) -> str:
    """Return the absolute URL of a page: under BASE_URL, whose path prefix `reverse` knows in some threads
    only."""
    return f"{settings.BASE_URL}/{reverse(name, args=args).removeprefix(get_script_prefix())}"


def is_base_url_local() -> bool:
    """Return whether BASE_URL leads to this machine itself, so that a link sent to somebody else opens nothing."""
    host = urlsplit(settings.BASE_URL).hostname or ""
    try:
        # A link to this machine opens nothing on another one
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
