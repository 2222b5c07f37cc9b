"""Which coding agents and which tools of repositories the machine of a worker has: their programs on the path of
stations, and what agents say of their version. Pages show it before a task is started; what counts is what the program
does then."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pipelines.routing.document.agents import TABLE, Preset
from pipelines.work.results.text import escaped
from pipelines.work.spec.ecosystems import PROGRAMS

SECONDS: Final = 10.0
"""That a program may take to say its version."""
LONGEST: Final = 80


def programs(path: Sequence[str]) -> dict[str, tuple[str, float]]:
    """{key of a preset: (its program, when that changed)} of those that are there. Ours are part of the worker."""
    places = {
        preset.key: shutil.which(preset.argv[0], path=os.pathsep.join(path))
        for preset in TABLE
        if not preset.fixed
    }
    return {key: (place, os.stat(place).st_mtime) for key, place in places.items() if place}


def tools(path: Sequence[str]) -> list[str]:
    """Name those of the programs that lint, test or prepare repositories which are there."""
    return [name for name in PROGRAMS if shutil.which(name, path=os.pathsep.join(path))]


def installed(found: Mapping[str, tuple[str, float]], path: Sequence[str]) -> dict[str, dict[str, Any]]:
    """{key of a preset: {path, version, seconds}}. `version`: its first line, "" where it says none. In a thread."""
    presets = {preset.key: preset for preset in TABLE}
    return {key: _asked(presets[key], place, path) for key, (place, _changed) in found.items()}


def _asked(preset: Preset, place: str, path: Sequence[str]) -> dict[str, Any]:
    """A program gets no more of this process than where programs are: nothing that it could tell anybody."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gateline-version-", ignore_cleanup_errors=True) as home:
        env = {"PATH": os.pathsep.join(path), "HOME": home, **dict(preset.settings)}
        try:
            done = subprocess.run(
                [place, "--version"],
                cwd=home,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
            said = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
        except (OSError, subprocess.TimeoutExpired):
            said = ""
    seconds = round(time.monotonic() - began, 1)
    return {"path": str(Path(place)), "version": escaped(said)[:LONGEST], "seconds": seconds}
