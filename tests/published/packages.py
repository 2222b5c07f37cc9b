"""Single files of packages that npm serves, by locked version and digest. They are no `devDependencies`: whoever only
runs the product would unpack 600 MB of them, of which the tests read 20."""

from __future__ import annotations

import base64
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.settings import STATE

LOCK = json.loads(Path(__file__).with_name("packages.json").read_text("utf-8"))
FOLDER = STATE / "published"
FETCH_SECONDS = 120


class NotFetched(Exception):
    """A package cannot be had here; the message says why."""


def published_json(package: str, path: str) -> Any:
    """Return what a JSON file of a package holds. Raises NotFetched."""
    return _parsed(published_file(package, path))


@functools.cache
def _parsed(file: Path) -> Any:
    return json.loads(file.read_bytes())


def published_file(package: str, path: str) -> Path:
    """Return the place of a file of a package, which is fetched once for a checkout. Raises NotFetched."""
    file = _file_or_reason(package, path)
    if isinstance(file, str):
        raise NotFetched(file)
    return file


@functools.cache
def _file_or_reason(package: str, path: str) -> Path | str:
    """Return the file, or as text why it cannot be had: nobody waits for that twice."""
    locked = LOCK[package]
    kept = FOLDER / f"{package.replace('/', '+')}@{locked['version']}" / path.replace("/", "+")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists() and (
            reason := _fetch(f"{package}@{locked['version']}", locked["integrity"], path, kept)
        ):
            return reason
    return kept


def _fetch(name: str, integrity: str, path: str, kept: Path) -> str:
    """Return why it cannot be had, or ""."""
    npm = shutil.which("npm")
    if npm is None:
        return f"no npm to fetch {name} with"
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", "--ignore-scripts", name]
        try:
            subprocess.run(command, cwd=folder, timeout=FETCH_SECONDS, check=True, capture_output=True)
        except (subprocess.SubprocessError, OSError) as error:
            return f"{name} cannot be fetched: {type(error).__name__}"
        [archive] = Path(folder).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        assert f"sha512-{digest}" == integrity, f"{name} is not the package that was locked"
        with tarfile.open(archive) as packed:
            member = packed.extractfile(f"package/{path}")
            assert member is not None, f"{name} has no {path}"
            part = kept.with_suffix(f".{os.getpid()}")
            part.write_bytes(member.read())
        part.replace(kept)
    return ""
