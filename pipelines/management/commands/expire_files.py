"""Delete uploaded files that are older than GATELINE_UPLOAD_DAYS and that no task uses."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from pipelines.management import printing
from pipelines.work import expiry


class Command(printing.Command):
    help = (
        "Delete uploaded files that are older than GATELINE_UPLOAD_DAYS and that no open or recent task uses."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{expiry.delete_expired_uploads(timezone.now())} files deleted.")
