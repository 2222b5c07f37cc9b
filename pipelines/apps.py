from django.apps import AppConfig
from django.utils import translation

from pipelines.routing.basics import translation as heart


class PipelinesConfig(AppConfig):
    default_auto_field = "django.db.models.BigAutoField"
    name = "pipelines"
    verbose_name = "Pipelines"

    def ready(self) -> None:
        heart.speak_with(translation)
