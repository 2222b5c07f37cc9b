from django.apps import AppConfig
from django.core import checks

from pipelines.management.workspace_check import TAG, check_workspaces


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        checks.register(check_workspaces, TAG)
