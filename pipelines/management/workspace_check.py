"""A warning where tools could take a file above the workspaces for the configuration of a repository."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core import checks

from pipelines.work.workspace_folder.outer_config import find_config_file_above

TAG: Final = "workspaces"


def check_workspaces(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    """The folder in use; other commands than `check`, `prepare`, `web` and `worker` do not look."""
    path = find_config_file_above(settings.WORKSPACES_DIR)
    if path is None:
        return []
    return [
        checks.Warning(
            f"{path} lies above the workspaces in {settings.WORKSPACES_DIR}: tools that stations run take it for "
            "the configuration of each repository.",
            hint="Move that file away, or name a folder in GATELINE_WORKSPACES that has none above it.",
            id="gateline.W001",
        )
    ]
