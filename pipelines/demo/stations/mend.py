"""repository-mend: mends what it is told of, as far as ruff can, and nothing that it is not told of.

It stands for an agent: the prompt comes on standard input, and what an evaluation said about the run before under a
line of its own. A first run has nothing to go by, and changes nothing."""

from __future__ import annotations

import re
import sys

from . import tree
from .process import capture, environment
from .report import Report, StationError, arguments, say
from .text import clip, one_line

FEEDBACK = "FEEDBACK FROM PREVIOUS EVALUATION:"
CODE = re.compile(r"^([A-Z]{1,6}[0-9]{1,4}) ", re.MULTILINE)


def main() -> Report:
    given = arguments(
        "Mend the findings that standard input names under “FEEDBACK FROM PREVIOUS EVALUATION:”.",
        tree={"required": True},
        limit={"type": float, "default": 600.0},
    )
    tree.checked(given.tree)
    told = sys.stdin.read().partition(FEEDBACK)[2]
    codes = sorted(set(CODE.findall(told)))
    if codes:
        say(f"Told of {', '.join(codes)}.")
        fix(codes, given.limit)
    now = tree.digest(list(tree.entries(tree.TREE)))
    changed = "changed" if now != given.tree else "unchanged"
    return Report(f"The working copy is {changed}.", output={"tree": now, "told": codes})


def fix(codes: list[str], limit: float) -> None:
    argv = [
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--exit-zero",
        "--fix",
        f"--select={','.join(codes)}",
    ]
    code, _, errors = capture([*argv, "--", "."], cwd=tree.TREE, env=environment(), limit=limit)
    if code:
        raise StationError(f"ruff could not run: {clip(one_line(errors))}", "tool", 2)
