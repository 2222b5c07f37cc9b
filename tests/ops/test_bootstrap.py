"""What a newcomer meets before anything runs: plain errors with a remedy, and no step done twice."""

from __future__ import annotations

import ast
import errno
import importlib.util
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from config.setup import front_end, machine, packages, steps
from config.setup.steps import SetupError, StepFailed
from tests.ops.processes import ROOT, clean_environment

BOOTSTRAP = ROOT / "config" / "bootstrap.py"

AS_AN_OLD_PYTHON = """
import runpy, sys
sys.version_info = (3, 9, 2, "final", 0)
sys.argv = [sys.argv[1], "run"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def bootstrap_as_old_python(path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AS_AN_OLD_PYTHON, str(BOOTSTRAP)],
        env=clean_environment(PATH=path),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_too_old_is_told_which_one_to_install() -> None:
    answer = bootstrap_as_old_python(path="/nowhere")
    assert answer.returncode == 1
    assert "needs Python 3.11 to 3.13" in answer.stderr and "is Python 3.9" in answer.stderr
    assert "make run PYTHON=" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_python_too_old_hands_over_to_one_that_fits(tmp_path: Path) -> None:
    stand_in = tmp_path / "python3.12"
    stand_in.write_text('#!/bin/sh\n[ "$1" = -c ] || echo "took over: $*"\n')
    stand_in.chmod(0o755)
    answer = bootstrap_as_old_python(path=f"{tmp_path}:/usr/bin:/bin")
    assert answer.stdout.startswith("took over:") and answer.stdout.rstrip().endswith("bootstrap.py run")


def test_a_python_of_any_age_can_read_the_first_file() -> None:
    ast.parse(BOOTSTRAP.read_text(), feature_version=(3, 4))


def test_a_port_in_use_is_said_before_anything_is_installed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = subprocess.run(
            [sys.executable, str(BOOTSTRAP), "run"],
            env=clean_environment(PORT=str(port)),
            capture_output=True,
            text=True,
            check=False,
        )
    assert answer.returncode == 1 and not answer.stdout
    assert f"Port {port} is in use" in answer.stderr and f"make run PORT={port + 1}" in answer.stderr


@pytest.mark.parametrize("port", ["no", "0", "65536", "-1", "80 80"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    answer = subprocess.run(
        [sys.executable, str(BOOTSTRAP), "run"],
        env=clean_environment(PORT=port),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1 and "make run PORT=8123" in answer.stderr


def test_a_port_without_the_right_to_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(SetupError, match="needs rights"):
        machine.check_port("127.0.0.1", 80)


def test_musl_is_told_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    with pytest.raises(SetupError, match="glibc"):
        machine.check_platform()


@pytest.mark.parametrize(
    ("system", "processor"), [("linux", "riscv64"), ("win32", "AMD64"), ("freebsd14", "amd64")]
)
def test_a_platform_without_binaries_is_named(
    system: str, processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    with pytest.raises(SetupError, match=f"{system} on {processor}"):
        machine.check_platform()


def test_a_python_that_can_make_no_environment_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "PYTHON", tmp_path / "none")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match="python3-venv"):
        packages.ensure_packages("requirements.lock")


def test_an_unreachable_package_index_is_said_with_the_settings_for_a_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = (
        packages.UV
        if packages.UV.exists()
        else pytest.skip("uv is installed by make, and this is another way")
    )
    lock = tmp_path / "some.lock"
    lock.write_text(f"some-package==1.0 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(packages, "_stamp_file_and_digest", lambda name: (tmp_path / "stamp", "new"))
    monkeypatch.setattr(packages, "UV", uv)
    monkeypatch.setattr(packages, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(packages, "ROOT", tmp_path)
    for name, value in {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(StepFailed, match=r"index could not be reached.*PIP_INDEX_URL"):
        packages.install_packages("some.lock", "Installing")
    assert not (tmp_path / "stamp").exists()


NPM_SAYS = [
    "npm error code ENOTFOUND",
    "npm error code ECONNREFUSED",
    "npm error code EAI_AGAIN",
    "npm error code SELF_SIGNED_CERT_IN_CHAIN",
]


@pytest.mark.parametrize("said", NPM_SAYS)
def test_an_unreachable_npm_registry_is_said(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    npm.chmod(0o755)
    with pytest.raises(StepFailed, match="npm's registry could not be reached"):
        front_end._run_npm("Installing", ["ci"], {"PATH": f"{tmp_path}:/usr/bin:/bin"})


@pytest.mark.parametrize(
    ("version", "good"),
    [("v18.20.0", False), ("v20.18.3", False), ("v20.19.0", True), ("v21.7.0", False), ("v22.11.0", False)]
    + [("v22.12.0", True), ("v24.1.0", True), ("", False), ("garbage", False)],
)
def test_the_systems_node_is_taken_only_if_vite_runs_on_it(version: str, good: bool, tmp_path: Path) -> None:
    for name in ("node", "npm"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (tmp_path / name).chmod(0o755)
    assert front_end._is_node_recent_enough({"PATH": str(tmp_path)}) is good


def test_a_step_is_done_again_only_when_an_input_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    source, stamp = tmp_path / "source" / "a.ts", tmp_path / "stamp"
    source.parent.mkdir()
    source.write_text("one")
    stamp.write_text(steps.digest_of_inputs(source.parent))
    assert steps.is_stamp_fresh(stamp, steps.digest_of_inputs(source.parent))
    source.write_text("two")
    assert not steps.is_stamp_fresh(stamp, steps.digest_of_inputs(source.parent))
    source.write_text("one")
    source.rename(source.with_name("b.ts"))
    assert not steps.is_stamp_fresh(stamp, steps.digest_of_inputs(source.parent))


def test_a_failed_step_shows_what_it_said_without_the_colours() -> None:
    noisy = "import sys; print('\\x1b[31mred\\x1b[0m'); sys.exit('the reason')"
    with pytest.raises(StepFailed) as failure:
        steps.run_long_command(
            "Doing it", [sys.executable, "-c", noisy], remedy="Do that.", env=dict(os.environ)
        )
    assert "red" in str(failure.value) and "the reason" in str(failure.value)
    assert "\x1b" not in str(failure.value) and str(failure.value).endswith("Do that.")


def test_locks_hold_hashes_and_no_addresses() -> None:
    for lock in sorted(ROOT.glob("requirements*.lock")):
        text = lock.read_text()
        assert "--hash=sha256:" in text, lock.name
        assert "://" not in text, lock.name
    assert "resolved" not in (ROOT / "package-lock.json").read_text()
