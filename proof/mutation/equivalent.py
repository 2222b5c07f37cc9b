"""Mutants that no test can catch, since they behave as the original does; each one named, each with its reason.

They do not count, caught or not. An entry that no longer fits its line is not used, so its mutant counts again.
"""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str, str, str], str] = {}
"""(path, function, line before, line after) → why it is the same."""
