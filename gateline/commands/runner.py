"""`runner`: the worker of the server's package, which is installed beside this one, or of a copy of the repository."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn

import typer

from gateline.failures import UsageFailure

WORKER = "pipelines.work.program"
SERVER = "gateline_server"  # the folder that its wheel installs
# What stands first on the path is this copy, and never the folder in which somebody calls us: it may be a stranger's.
FROM = """import runpy, sys
place, module, *words = sys.argv[1:]
sys.path.insert(0, place)
sys.argv = [module, *words]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def runner(ctx: typer.Context) -> None:
    """Do the work of a project's stations on this machine, for a server elsewhere.

    It is the server's own worker, in a process of its own: this program has none of it, and only starts it."""
    replace_process_with_module(WORKER, ctx.args)


def replace_process_with_module(module: str, words: list[str]) -> NoReturn:
    """Replace this process with the module. Raises Usage."""
    place = _installed_folder_or_none()
    if place is None:
        raise UsageFailure(
            "The worker is not installed here.",
            "Install the wheel of the server beside this one, or in a copy of the repository, at the version of the "
            'server, run: make runner ARGS="--help"',
        )
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-c", FROM, str(place), module, *words])


def _installed_folder_or_none() -> Path | None:
    """The folder of the server's package, or else of the copy, that has the worker."""
    package = importlib.util.find_spec(SERVER)
    if package and package.submodule_search_locations:
        return Path(next(iter(package.submodule_search_locations)))
    try:
        spec = importlib.util.find_spec(WORKER)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin).resolve().parents[3] if spec and spec.origin else None
