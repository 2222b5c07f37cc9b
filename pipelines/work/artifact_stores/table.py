"""The kinds of artifact stores, and the setting that names one by its address."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from pipelines.work.artifact_stores.folder import FolderStore
from pipelines.work.artifact_stores.s3 import S3Store
from pipelines.work.artifact_stores.store import ArtifactStore

KINDS: Final[dict[str, type[ArtifactStore]]] = {
    "file": FolderStore,
    "s3": S3Store,
}


def storage_settings(address: str) -> dict[str, Any]:
    """Return the entry of STORAGES for the store at this address. :raises ValueError: what is wrong with it"""
    parts = urlsplit(address)
    kind = KINDS.get(parts.scheme)
    if kind is None:
        known = " or ".join(f"{scheme}://" for scheme in KINDS)
        raise ValueError(f"it begins with {known}")
    if parts.username is not None or parts.fragment:
        raise ValueError("it holds no credential and no “#”; keys have variables of their own")
    return {"BACKEND": f"{kind.__module__}.{kind.__qualname__}", "OPTIONS": kind.options_of(parts)}
