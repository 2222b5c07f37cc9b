"""The Python environment: a venv, uv in it with its hashes checked, and by uv the locked packages with theirs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from config.setup.steps import (
    NO_NETWORK,
    ROOT,
    SetupError,
    StepFailed,
    digest_of_inputs,
    environment_for_tools,
    is_stamp_fresh,
    run_long_command,
)

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"
GATELINE = VENV / "bin" / "gateline"
COMMAND = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys

sys.path[0] = {root!r}
from gateline.main import main

main()
"""

OFFLINE = (
    "The Python package index could not be reached, or its certificate is not trusted here. Check the network, name "
    "a mirror (PIP_INDEX_URL) or a proxy (HTTPS_PROXY), and start again: what is done is not done twice."
)
NO_WHEEL = (
    "A locked package has no build for this platform: Gateline needs Linux with glibc, or macOS, and CPython."
)
NO_VENV = (
    "This Python can make no environments: its modules venv and ensurepip are missing.",
    "Install them (Debian and Ubuntu: apt-get install python3-venv), or name another: make run PYTHON=python3.13",
)


def ensure_packages(lock: str) -> None:
    """Has the packages of the lock file in `.venv`. The development lock holds all of the other one, so either of
    them being fresh will do for the smaller."""
    _ensure_venv()
    _ensure_uv()
    if not any(is_stamp_fresh(*_stamp_file_and_digest(name)) for name in {lock, "requirements-dev.lock"}):
        install_packages(lock, "Installing Python packages")
    _write_command_file_if_changed()


def install_packages(lock: str, label: str) -> None:
    stamp, inputs = _stamp_file_and_digest(lock)
    command: list[str | Path] = [
        UV,
        "pip",
        "install",
        "--python",
        PYTHON,
        "--require-hashes",
        # Wheels alone: to be installed no package runs code of its own.
        "--no-build",
        "-r",
        ROOT / lock,
    ]
    _run_with_network_remedy(label, command, env=uv_environment())
    stamp.write_text(inputs)


def has_packages_of_lock(lock: str) -> bool:
    return is_stamp_fresh(*_stamp_file_and_digest(lock))


def _stamp_file_and_digest(lock: str) -> tuple[Path, str]:
    return VENV / f".{lock}.stamp", digest_of_inputs(ROOT / lock)


def _ensure_venv() -> None:
    if PYTHON.exists() and _is_venv_working():
        return
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    elif importlib.util.find_spec("virtualenv"):
        command = [sys.executable, "-m", "virtualenv", "--clear", str(VENV)]
    else:
        raise SetupError(*NO_VENV)
    _run_with_network_remedy("Making a Python environment", command, env=environment_for_tools())


def _is_venv_working() -> bool:
    """Not when its interpreter was removed, is too old or too new, or when the project was moved."""
    script = (
        "import sys, pip; print(sys.version_info[:2] >= (3, 11), sys.version_info[:2] <= (3, 13), sys.prefix)"
    )
    answer = subprocess.run(
        [PYTHON, "-c", script], capture_output=True, text=True, check=False, env=environment_for_tools()
    ).stdout.strip()
    good, _, prefix = answer.rpartition(" ")
    return good == "True True" and os.path.realpath(prefix) == os.path.realpath(VENV)


def _ensure_uv() -> None:
    stamp, inputs = _stamp_file_and_digest("requirements-uv.lock")
    if UV.exists() and is_stamp_fresh(stamp, inputs):
        return
    command: list[str | Path] = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--only-binary",
        ":all:",
    ]
    # It installs everything else, so that it is held by hashes as well
    command += ["--require-hashes", "-r", ROOT / "requirements-uv.lock"]
    _run_with_network_remedy("Installing uv", command, env=environment_for_tools())
    stamp.write_text(inputs)


def _write_command_file_if_changed() -> None:
    """Has `.venv/bin/gateline`: the command line of this checkout, which nothing has to build. In two languages, as
    pip writes it: the path of an interpreter may be too long for a first line, or have spaces."""
    text = COMMAND.format(python=PYTHON, root=str(ROOT))
    if not GATELINE.exists() or GATELINE.read_text() != text:
        GATELINE.write_text(text)
        GATELINE.chmod(0o755)


def uv_environment() -> dict[str, str]:
    """uv does not read pip's settings: a mirror or a certificate that is set for pip shall do for both."""
    env = environment_for_tools(UV_PYTHON_DOWNLOADS="never", UV_NO_PROGRESS="1")
    if not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & env.keys():
        command = [str(PYTHON), "-m", "pip", "config", "get", "global.index-url"]
        index_url = (
            env.get("PIP_INDEX_URL")
            or subprocess.run(command, capture_output=True, text=True, check=False, env=env).stdout.strip()
        )
        if index_url:
            env["UV_DEFAULT_INDEX"] = index_url
    if env.get("PIP_CERT"):
        env.setdefault("SSL_CERT_FILE", env["PIP_CERT"])
    return env


def _run_with_network_remedy(label: str, command: Sequence[str | Path], *, env: dict[str, str]) -> None:
    try:
        run_long_command(label, command, env=env, remedy="Start again: what is done is not done twice.")
    except StepFailed as failure:
        if NO_NETWORK.search(failure.output):
            raise StepFailed(label, failure.output, OFFLINE) from None
        if (
            "platform" in failure.output
            or "no wheels" in failure.output
            or "No matching distribution" in failure.output
        ):
            raise StepFailed(label, failure.output, NO_WHEEL) from None
        raise
