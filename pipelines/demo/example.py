"""The demo's lines as documents, with the ready example put in as the default of `repository`."""

from __future__ import annotations

import json
from pathlib import Path

from pipelines.demo.stations.report import StationError
from pipelines.demo.stations.source import folder

LINES = Path(__file__).with_name("lines")
KEYS = ("repository-check", "agent-line")
# Works in a repository that is made for it.
FIX = "fix-lint-findings"
# One for each dialect; a person or a script plays what an agent would do (docs/demo.md).
REHEARSED = (
    "alp-code-review",
    "contenox-assistant",
    "vibe-factory-feature",
    "flux-standard-dev",
    "aeef-delivery",
)
SCRIPTS = Path(__file__).with_name("rehearsals")
BEFORE = "    # The ready example stands here as the default.\n"


def ready_example(base: Path, roots: list[str]) -> str:
    """The project's own checkout in `base`, if the checkout station may read it; else nothing, as for a copy of the
    project that was not cloned."""
    try:
        return str(folder(str(base), roots).path)
    except StationError:
        return ""


def text(key: str, example: str) -> str:
    """The YAML of one line. Without an example the start form asks for a repository."""
    document = (LINES / f"{key}.yaml").read_text(encoding="utf-8")
    default = f"    default: {json.dumps(example)}\n" if example else ""
    return document.replace(BEFORE, default)
