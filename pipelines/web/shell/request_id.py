"""The id of a request: in its answer, in every line that is logged while it is served, and in what it says went wrong.

A caller or a proxy may send one as `X-Request-ID`; what could not stand in a log as it is gets a new one instead."""

from __future__ import annotations

import re
import uuid
from typing import Final

from structlog.contextvars import bind_contextvars, get_contextvars

HEADER: Final = "X-Request-ID"
VALID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def begin(sent: str) -> str:
    """Return the id of a request that sent this text as its own."""
    request_id = sent if VALID.fullmatch(sent) else uuid.uuid4().hex
    # Never unbound: Django logs what was refused after the last middleware, and the next request binds its own.
    bind_contextvars(request_id=request_id)
    return request_id


def current() -> str:
    """Return the id of the request that is being served, "" outside of one."""
    return str(get_contextvars().get("request_id", ""))
