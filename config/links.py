"""The one-time sign-in link as an address: on the loopback, since it works nowhere else (house §5)."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse

from pipelines.accounts import make_link
from pipelines.models import User


def sign_in_address(user: User, now: datetime, port: int) -> str:
    return f"http://127.0.0.1:{port}{reverse('sign-in-link', args=[make_link(user, now)])}"
