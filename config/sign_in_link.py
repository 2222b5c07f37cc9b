"""The one-time sign-in link as an address: on the loopback, since it works nowhere else (house §5)."""

from __future__ import annotations

import os
import stat
from datetime import datetime
from pathlib import Path

from django.urls import reverse

from pipelines.models import User
from pipelines.people.accounts import create_sign_in_link_secret
from pipelines.work.processes.isolation import Places

# Isolations that keep a station from every file that is not listed.
ISOLATING = ("bubblewrap", "landlock")


def sign_in_address(user: User, now: datetime, port: int) -> str:
    return f"http://127.0.0.1:{port}{reverse('sign-in-link', args=[create_sign_in_link_secret(user, now)])}"


def is_output_hidden_from_stations(output: int, isolation: str, places: Places) -> bool:
    """Return whether output to this descriptor stays out of reach of stations: it is no file, or one that is
    hidden from them. `isolation`: the isolation in force for them, "" if no worker reports one."""
    if not stat.S_ISREG(os.fstat(output).st_mode):
        return True
    try:
        path = Path(os.readlink(f"/proc/self/fd/{output}"))
    except OSError:
        return False  # not on Linux: nobody knows where it lies
    return isolation in ISOLATING and not places.is_readable(path)
