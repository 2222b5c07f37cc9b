"""Access of this process to repositories and hosts, as that of the worker beside it."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from pipelines.queries.allowed_folders import protected_folders, repository_root_paths_or_none
from pipelines.work.config import WorkerConfig
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.isolation import Isolation


def build_config() -> WorkerConfig:
    guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
    return WorkerConfig(
        workspaces=Path(settings.WORKSPACES_DIR),
        isolation=Isolation("none"),
        repository_roots=repository_root_paths_or_none(),
        protected=protected_folders(),
        outgoing=Outgoing(guard),
    )
