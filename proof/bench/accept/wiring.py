"""Break the wiring of the product on purpose, once at a time, and see whether `make accept` notices.

    python -m proof.bench.accept.wiring                  30 faults, as `proof.bench.wiring` draws them
    python -m proof.bench.accept.wiring --count 7 --seed 1

Each fault is made in a clone with the packages of this checkout, and the tour follows the README there; the table says
in which step each was noticed. The exit code is 1 where one was not."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from proof.bench.wiring import KINDS, ROOT, Fault, draw

PREPARED = (".venv", "node_modules", "static/dist", "static/generated")


class Checkout:
    """`folder`: a clone that is set up, by hard links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
        for name in PREPARED:
            if (ROOT / name).exists():
                subprocess.run(["cp", "-al", str(ROOT / name), str(folder / name)], check=True)

    def step_of(self, fault: Fault | None) -> str:
        """Name of the step after which nothing followed, or that the set-up mended it; "" where the whole tour went
        through with the fault."""
        path = self.folder / fault.path if fault else None
        original = path.read_bytes() if path else b""
        try:
            if path and fault:
                # Of a file that is linked into another checkout only this name changes.
                path.unlink()
                if fault.text is not None:
                    path.write_text(fault.text)
            step = self._tour()
            # What the set-up builds it builds again where it is missing.
            is_mended = not step and path is not None and path.is_file() and path.read_bytes() == original
            return "mended by make run" if is_mended else step
        finally:
            if path:
                path.unlink(missing_ok=True)
                path.write_bytes(original)

    def _tour(self) -> str:
        words = [sys.executable, "-m", "proof.bench.accept", "--folder", str(self.folder)]
        done = subprocess.run(
            words, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return ""
        steps = [line.split(":")[0] for line in done.stdout.splitlines() if " s in all" in line]
        return f"after {steps[-1]}" if steps else "make run"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=39)
    options = parser.parse_args()
    steps: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory(prefix="gateline-wiring-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        checkout = Checkout(Path(folder) / "gateline")
        for fault in draw(options.count, options.seed, list(KINDS)):
            began = time.monotonic()
            step = checkout.step_of(fault)
            steps[fault.kind][step] += 1
            seconds = time.monotonic() - began
            print(
                f"{step or 'not noticed':22}{seconds:5.0f} s  {fault.kind}: {fault.path} {fault.what}",
                flush=True,
            )
    print(f"{'kind':14}{'faults':>8}{'noticed':>9}  where")
    for kind, counts in steps.items():
        places = ", ".join(f"{step} {number}" for step, number in counts.most_common() if step)
        print(f"{kind:14}{counts.total():8}{counts.total() - counts['']:9}  {places}")
    return 1 if any(counts[""] for counts in steps.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
