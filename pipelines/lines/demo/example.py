"""The demo's lines as documents, with the ready example put in as the default of `repository`."""

from __future__ import annotations

import json
from pathlib import Path

from pipelines.lines.demo.lint_example import OFFERED

LINES = Path(__file__).with_name("lines")
# Work in a repository that is made for them.
IN_A_REPOSITORY = ("fix-lint-findings", "repository-check")
AGENT = "agent-line"
# One for each dialect; a person plays what an agent would do (docs/demo.md).
OF_DIALECTS = (
    "alp-code-review",
    "contenox-assistant",
    "vibe-factory-feature",
    "flux-standard-dev",
    "aeef-delivery",
)
KEYS = (*IN_A_REPOSITORY, AGENT, *OF_DIALECTS)
SCENARIOS = Path(__file__).with_name("scenarios")
REPOSITORY = "    # The ready example stands here as the default.\n"
BRANCH = "    # The branch of the ready example stands here as the default.\n"


def example_line_text(key: str, address: str) -> str:
    """Return the YAML of one line. Without an address the start form asks for a repository."""
    document = (LINES / f"{key}.yaml").read_text(encoding="utf-8")
    for place, value in ((REPOSITORY, address), (BRANCH, address and OFFERED)):
        document = document.replace(place, f"    default: {json.dumps(value)}\n" if value else "")
    return document
