"""A contract of an agent of AEEF, in words for whoever works at its station."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TITLES: Final = {
    "allowed_inputs": "Works from",
    "allowed_outputs": "Hands over",
    "forbidden_actions": "Never does",
    "required_checks": "Checks before it hands over",
}


def contract_instructions(contract: Mapping[str, Any]) -> str:
    """A line for each list that it has; braces stay as they are written."""
    rows = []
    for key, title in TITLES.items():
        entries = contract.get(key)
        names = [name for name in entries if isinstance(name, str)] if isinstance(entries, list) else []
        if names:
            rows.append(f"{title}: {', '.join(names)}.")
    return "\n".join(rows).replace("{{", '{{"{{"}}')
