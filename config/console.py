"""`gateline-server`: the commands of manage.py in an installation from a wheel, whose folder nobody writes to."""

from __future__ import annotations

import os
import sys
from pathlib import Path

MANAGE = Path(__file__).resolve().parents[1] / "manage.py"


def main() -> None:
    """Become manage.py with the same arguments; without any, everything of one machine is started."""
    environment = dict(os.environ)
    data_folder = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    environment["GATELINE_HOME"] = environment.get("GATELINE_HOME") or os.path.join(data_folder, "gateline")
    # Programs that stations run are looked for beside the interpreter first, as `make run` has it.
    environment["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), environment.get("PATH", os.defpath)]
    )
    # A process of its own: this one knows the folder as a package, and would load each module under two names.
    os.execve(sys.executable, [sys.executable, str(MANAGE), *(sys.argv[1:] or ["up"])], environment)
