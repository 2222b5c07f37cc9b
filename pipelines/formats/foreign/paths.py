"""Names of keys as paths of conditions."""

from __future__ import annotations

import re
from typing import Final

NAMES: Final = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*")


def path_for_key(key: str) -> str:
    """A key with dots is looked up flat first (T14)."""
    if NAMES.fullmatch(key):
        return key
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"$['{quoted}']"
