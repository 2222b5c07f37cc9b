"""manage.py prepare: the first step on a PostgreSQL of your own; `up` does it by itself."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from config.first_start import prepare_database_and_find_newcomer_or_none


class Command(BaseCommand):
    help = (
        "Bring the database up to date; in an empty one make the administrator “admin” and the demo project."
    )

    def handle(self, **options: Any) -> None:
        newcomer = prepare_database_and_find_newcomer_or_none(self.stdout.write, self.stdout.write)
        if newcomer:
            self.stdout.write(
                f"Set the administrator's password: manage.py changepassword {newcomer.username}"
            )
