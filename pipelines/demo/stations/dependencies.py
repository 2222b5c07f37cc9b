"""What a suite lacks, told from what pytest says when it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

MODULE = re.compile(
    r"(?:ModuleNotFoundError|ImportError|Error importing plugin)[^\n]*No module named '?([\w.]+)'?"
)
PACKAGE = re.compile(r"PackageNotFoundError: No package metadata was found for ([\w.-]+)")
FIXTURE = re.compile(r"^E\s+(fixture '[^']*' not found|recursive dependency involving fixture)", re.MULTILINE)
PLUGINS = re.compile(r"Missing required plugins: ([\w., -]+)")


def missing(texts: Sequence[str]) -> list[str]:
    """The modules, packages and plugins that `texts` say are not there, each once, in order."""
    found: dict[str, None] = {}
    for text in texts:
        for pattern in (MODULE, PACKAGE, PLUGINS):
            for match in pattern.findall(text):
                found |= dict.fromkeys(part.strip() for part in match.split(",") if part.strip())
    return list(found)


def blocker(module: str, tree: Path) -> dict[str, str]:
    """`{title, description}`: what is missing and what somebody can do about it."""
    top = module.partition(".")[0]
    if any((tree / folder / name).exists() for folder in ("", "src") for name in (top, f"{top}.py")):
        how = "It belongs to the repository itself and has to be built or installed before its tests can run."
    else:
        how = "The tests need it, and it is not installed for the Python that runs stations on this worker."
    return {"title": f"Missing: {module}", "description": how}
