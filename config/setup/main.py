"""The targets of the Makefile: set up what they need, then become the program that does it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from config.setup import front_end, machine, packages, quality
from config.setup.steps import ROOT, SetupError, SetupStep, exclusive_setup

# Each file to one of three processes. One that dies ends the run, which names its test: in its place xdist starts
# another, hands it a file that is done already, and waits for ever.
SHARED = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart=0")
# A test that waits for ever fails at its line: no wait of tests/waiting.py is as long. Where Python comes to no line,
# the process is ended, with the stack of each thread. Those of the soak may take longer.
ENDS = (
    *("--timeout", "360", "--timeout-method", "signal"),
    *("-o", "faulthandler_timeout=420", "-o", "faulthandler_exit_on_timeout=true"),
)

RUNTIME, DEVELOPMENT = "requirements.lock", "requirements-dev.lock"
Target = Callable[[list[str]], int]


def main(arguments: list[str]) -> int:
    """The exit code, where it does not become another program."""
    parser = argparse.ArgumentParser(prog="bootstrap.py")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="handed on")
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    # A run starts a hundred processes of the product: without compiled modules each would compile it again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        return TARGETS[chosen.target](chosen.rest)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # 128 + SIGINT, as shells tell it
        return 130


def start_everything(rest: list[str]) -> int:
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise SetupError(f"PORT is “{port}”.", "Use a number from 1 to 65535: make run PORT=8123")
    machine.check_platform()
    machine.check_port(host, int(port))
    # A newcomer waits for the first page: the worker draws what pages show, beside it
    _ensure_packages_and_front_end(RUNTIME, drawings=False)
    os.environ["PORT"] = port
    _replace_process_with_python_program("manage.py", "up", "--host", host, "--port", port, *rest)
    return 0


def development_target(*words: str) -> Target:
    """A target that starts a program, with all that is installed for development."""

    def run_target(rest: list[str]) -> int:
        machine.check_platform()
        _ensure_packages_and_front_end(DEVELOPMENT)
        _replace_process_with_python_program(*words, *rest)
        return 0

    return run_target


def run_all_checks(rest: list[str]) -> int:
    machine.check_platform()
    with exclusive_setup():
        packages.ensure_packages(DEVELOPMENT)
        front_end.ensure_modules()
    return quality.run_quality_checks()


def start_runner(rest: list[str]) -> int:
    """A runner of a server elsewhere: it has no pages, and needs no front end."""
    machine.check_platform()
    with exclusive_setup():
        packages.ensure_packages(RUNTIME)
    _replace_process_with_python_program("-m", "pipelines.work.program", *rest)
    return 0


def build_only(rest: list[str]) -> int:
    """Make all that the product needs, and start nothing: for images (docs/deploy/Containerfile)."""
    machine.check_platform()
    # Of the image's own: a drawing needs Node where the product runs, too.
    _ensure_packages_and_front_end(RUNTIME)
    packages.install_packages("requirements-node.lock", "Installing Node into the Python environment")
    return 0


def _ensure_packages_and_front_end(lock: str, *, drawings: bool = True) -> None:
    """`drawings`: of the lines that ship with the product, too."""
    with exclusive_setup():
        with SetupStep("Python packages"):
            packages.ensure_packages(lock)
        with SetupStep("Front end"):
            front_end.ensure_build()
            if drawings:
                front_end.ensure_drawings()


def _replace_process_with_python_program(*words: str) -> None:
    sys.stdout.flush()
    environment = dict(os.environ)
    # The stations' tools (ruff, pytest, a Node of ours) are found beside the interpreter.
    environment["PATH"] = f"{packages.VENV / 'bin'}{os.pathsep}{environment.get('PATH', os.defpath)}"
    os.execve(packages.PYTHON, [str(packages.PYTHON), *words], environment)


TARGETS: dict[str, Target] = {
    "run": start_everything,
    "build": build_only,
    "test": development_target("-m", "pytest", "-q", *SHARED, *ENDS),
    # Everything, the quick tests too: there all examples are drawn, and the invariants are looked at after each.
    "soak": development_target("-m", "pytest", "-m", "", "-q"),
    "check": run_all_checks,
    "bench": development_target("-m", "proof.bench"),
    "agents": development_target("-m", "proof.bench.agents"),
    "runner": start_runner,
    "release": development_target("-m", "proof.release"),
    "accept": development_target("-m", "proof.bench.accept"),
}
