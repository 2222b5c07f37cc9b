"""The way from a clean clone to a running product: python3 config/bootstrap.py TARGET, which is run, build, test, soak,
check, bench, agents, runner, release or accept.

Standard library only. This one file must be readable by a Python of any age, so that an old one gets a sentence and
not a traceback; everything else is in config/setup.
"""

import os
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
NAMES = ["python3.13", "python3.12", "python3.11"]


def main() -> None:
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        restart_with_fitting_python()
    # Run as a file, its folder (config) comes first; the packages are found in the folder above.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from config.setup.main import main as prepare  # noqa: PLC0415

    sys.exit(prepare(sys.argv[1:]))


def restart_with_fitting_python() -> None:
    """Goes on with a Python on this machine that fits; ends with the remedy if there is none."""
    for name in NAMES:
        try:
            # A name on the PATH may be a shim that runs nothing.
            subprocess.check_output([name, "-c", ""], stderr=subprocess.STDOUT)
        except (OSError, subprocess.CalledProcessError):
            continue
        os.execvp(name, [name] + sys.argv)
    sys.stderr.write(
        "Gateline needs Python %d.%d to %d.%d; %s is Python %d.%d.\n"  # noqa: UP031
        "Install one of them, or name it: make run PYTHON=/path/to/python3.13\n"
        % (OLDEST + NEWEST + (sys.executable or "this",) + sys.version_info[:2])
    )
    sys.exit(1)


if __name__ == "__main__":
    main()
