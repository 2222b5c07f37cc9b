"""Names of keys as paths of conditions."""

from __future__ import annotations

import re
from typing import Final

from pipelines.routing.basics import jsontext

NAMES: Final = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*")


def path_for_key(key: str) -> str:
    """A key with dots is looked up flat first (T14)."""
    if NAMES.fullmatch(key):
        return key
    if not key.isprintable():
        # As JSON writes it: a path takes no control character as it is
        return f"$[{jsontext.quoted(key)}]"
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"$['{quoted}']"
