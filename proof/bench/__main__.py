"""`make bench`: every measurement, one after the other, each in a process of its own, into proof/bench/results/."""

from __future__ import annotations

import subprocess
import sys

ORDER = (
    "routing",
    "editor_findings",
    "cost",
    "moves",
    "claims",
    "reports",
    "contenders",
    "servers",
    "law",
    "backtest",
    "analytics",
    "live",
    "board",
    "editor",
    "changes",
)


def main() -> int:
    return max(
        subprocess.run([sys.executable, "-m", f"proof.bench.{name}", *sys.argv[1:]]).returncode
        for name in ORDER
    )


if __name__ == "__main__":
    sys.exit(main())
