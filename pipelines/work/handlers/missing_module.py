"""Modules of Python that a station is to run, and that are not installed for its interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

INTERPRETER = re.compile(r"python[\d.]*")


def missing_module(argv: Sequence[str], code: int | None, errors: bytes) -> str:
    """Return the module of a `python -m module` that the interpreter did not find; "" where it ran, or runs none."""
    options = argv[1:]
    if code != 1 or "-m" not in options[:-1] or not INTERPRETER.fullmatch(PurePath(argv[0]).name):
        return ""
    module = options[options.index("-m") + 1]
    last_words = f": No module named {module}".encode()
    # A module that runs and lacks another one has a traceback before these words.
    return module if errors.strip().endswith(last_words) and b"Traceback" not in errors else ""
