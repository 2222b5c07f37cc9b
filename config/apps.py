from django.apps import AppConfig
from django.core import checks

from config.wiring.checks import REFERENCES, check_installation, check_references
from pipelines.management.printing import INSTALLATION
from pipelines.management.workspace_check import TAG, check_workspaces


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        checks.register(check_workspaces, TAG)
        checks.register(check_installation, INSTALLATION)
        checks.register(check_references, REFERENCES)
