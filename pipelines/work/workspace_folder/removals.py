"""Removal of folders beside the work: a station ends before what it no longer needs is gone from the disk."""

from __future__ import annotations

import stat
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipelines.work.workspace_folder.folders import remove_folder


class Removals:
    """Thread that removes folders. `home`: where they lie until then, on the same file system."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._thread = ThreadPoolExecutor(1, "removals")

    def move_aside_and_remove_soon(self, folder: Path) -> None:
        """Take a folder out of the way at once, and remove it soon."""
        aside = self._home / uuid.uuid4().hex
        try:
            # A station may have taken its own rights off a folder, and without them it could not be moved
            if stat.S_ISDIR(folder.lstat().st_mode):
                folder.chmod(0o700)
            self._home.mkdir(mode=0o700, exist_ok=True)
            folder.rename(aside)
        except FileNotFoundError:
            return
        except OSError:
            remove_folder(folder)
            return
        self._thread.submit(remove_folder, aside)

    def close(self) -> None:
        """Wait for the folder that is being removed; the others are left to whoever removes `home`."""
        self._thread.shutdown(cancel_futures=True)
