import os

from django.apps import AppConfig
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from config.wiring.checks import REFERENCES, installation_errors, reference_errors
from pipelines.management.printing import INSTALLATION
from pipelines.management.workspace_check import TAG, check_workspaces
from pipelines.ports.tracing import TracingUnavailable, begin_tracing


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        if (role := os.environ.get("GATELINE_ROLE")) in ("web", "worker"):
            try:
                begin_tracing(f"gateline-{role}")
            except TracingUnavailable as error:
                raise ImproperlyConfigured(str(error)) from error
        checks.register(check_workspaces, TAG)
        checks.register(installation_errors, INSTALLATION)
        checks.register(reference_errors, REFERENCES)
