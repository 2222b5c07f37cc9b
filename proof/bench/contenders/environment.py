"""The environment of the contenders: their own, never the product's (.contenders, from requirements.txt)."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PLACE = ROOT / ".contenders"


def python() -> str:
    """Its interpreter."""
    found = PLACE / "bin" / "python"
    if not found.exists():
        venv.create(PLACE, with_pip=True)
        wanted = ["-m", "pip", "install", "--quiet", "-r", str(HERE / "requirements.txt")]
        subprocess.run([str(found), *wanted], check=True)
    return str(found)
