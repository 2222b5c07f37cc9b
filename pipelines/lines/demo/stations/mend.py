"""repository-mend: mends in the workspace what the feedback names, as far as ruff can, and nothing else.

It stands for an agent: the prompt comes on standard input, and what an evaluation said about the run before under a
line of its own. A first run has nothing to go by, and changes nothing."""

from __future__ import annotations

import re
import subprocess
import sys

from .report import StationError, StationReport, parse_arguments, write_log_line
from .text import cut_with_ellipsis, one_line

FEEDBACK = "FEEDBACK FROM PREVIOUS EVALUATION:"
# A rule of ruff at the start of a line, such as “F401 ”
CODE = re.compile(r"^([A-Z]{1,6}[0-9]{1,4}) ", re.MULTILINE)


def main() -> StationReport:
    options = parse_arguments(
        "Mend the findings that standard input names under “FEEDBACK FROM PREVIOUS EVALUATION:”.",
        limit={"type": float, "default": 600.0},
    )
    feedback = sys.stdin.read().partition(FEEDBACK)[2]
    codes = sorted(set(CODE.findall(feedback)))
    if not codes:
        return StationReport("Nothing was named.", output={"mended": []})
    write_log_line(f"Mends {', '.join(codes)}.")
    fix_findings_with_ruff(codes, options.limit)
    return StationReport(f"Mended {', '.join(codes)}.", output={"mended": codes})


def fix_findings_with_ruff(codes: list[str], limit: float) -> None:
    """Have ruff fix the findings of these codes. Raises StationError where it cannot run."""
    argv = [
        "ruff",
        "check",
        # Without the settings of the repository, which may exclude rules or files.
        "--isolated",
        # Its folder would be a change of the workspace
        "--no-cache",
        "--exit-zero",
        "--fix",
        f"--select={','.join(codes)}",
        ".",
    ]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=limit, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StationError(
            f"ruff could not run: {cut_with_ellipsis(one_line(str(error)))}", "missing_tool", 127
        ) from error
    if done.returncode:
        raise StationError(f"ruff could not run: {cut_with_ellipsis(one_line(done.stderr))}", "tool", 2)
