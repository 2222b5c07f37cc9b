"""The state folder of a backup: everything in it that cannot be made again, and the keys of the installation."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

# The database, which is dumped; what belongs to this machine or this start; what can be made again.
LEFT_OUT = ("postgres", "postgres-*", "postgres.*", "port*", "workspaces*", "restore.new")
# Written once and then only read or removed: copied before the database too, so that nothing that its state names is
# missing, whatever expires meanwhile.
UNCHANGING = ("artifacts", "files")
KEYS: Final = {
    "SECRET_KEY": "secret-key",
    "GATELINE_ENCRYPTION_KEYS": "encryption-keys",
    "GATELINE_RECEIPT_KEY": "receipt-key",
}
"""{variable of the environment: file that counts without it}"""


def first_level_paths(home: Path) -> Iterator[Path]:
    """Files and folders of the first level that belong to a backup."""
    for path in sorted(home.iterdir()):
        if not any(fnmatch(path.name, pattern) for pattern in LEFT_OUT) and not path.is_symlink():
            yield path


def files_below(path: Path) -> Iterator[Path]:
    """The files and folders below. Backwards by name: of a git repository the branches come before the objects that
    they need."""
    yield path
    for entry in sorted(path.rglob("*"), reverse=True):
        if not entry.is_symlink() and (entry.is_file() or entry.is_dir()):
            yield entry


def has_no_files_in_folders(home: Path) -> bool:
    """Tell whether no folder of it holds a file: keys and what a first start writes lie beside those."""
    folders = (path for path in first_level_paths(home) if path.is_dir())
    return not any(entry.is_file() for folder in folders for entry in folder.rglob("*"))


def key_fingerprints() -> dict[str, str]:
    """{variable: SHA-256} of the keys that the environment has: these are not in the archive."""
    texts = {name: os.environ.get(name, "").strip() for name in KEYS}
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items() if text}


def replace_state(home: Path, fresh: Path) -> None:
    """Moves the unpacked files to where they belong; what the state folder had goes, but a key that came with none."""
    for path in list(first_level_paths(home)):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in KEYS.values():
            path.unlink()
    for path in list(fresh.iterdir()):
        path.replace(home / path.name)
