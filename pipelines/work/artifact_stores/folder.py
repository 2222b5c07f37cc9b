"""A folder as an artifact store: of this machine, or one that all machines of the server share."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote

from django.core.files.storage import FileSystemStorage

from pipelines.work.artifact_stores.store import ArtifactStore, VerifiedFile


class FolderStore(FileSystemStorage, ArtifactStore):
    """Files below a folder that only its user can read. They reach runners and browsers through the server."""

    @classmethod
    def options_of(cls, address: SplitResult) -> dict[str, Any]:
        path = Path(unquote(address.path))
        if address.netloc or address.query or not path.is_absolute():
            raise ValueError("a folder is written as file:///srv/gateline/artifacts")
        return {"location": path, "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}

    @property
    def place(self) -> str:  # type: ignore[override]
        return str(self.location)

    def _open(self, name: str, mode: str = "rb") -> VerifiedFile:
        file = FileSystemStorage._open(self, name, mode)  # type: ignore[attr-defined]
        return VerifiedFile(file, name, file.size)
