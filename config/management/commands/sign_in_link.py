"""manage.py sign_in_link: another one-time link, for whoever may run commands on this machine (house §5)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config.first_start import ADMINISTRATOR
from config.sign_in_link import sign_in_address
from pipelines.models import User


class Command(BaseCommand):
    help = "Print a sign-in link that works once, within ten minutes, on this machine only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", nargs="?", default=ADMINISTRATOR)
        parser.add_argument("--port", type=int, default=settings.RUNS_AT_PORT)

    def handle(self, *, username: str, port: int, **options: Any) -> None:
        if not settings.SIGN_IN_LINKS:
            raise CommandError(
                "With DATABASE_URL there are no sign-in links. Set a password: manage.py changepassword USERNAME"
            )
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user “{username}”.")
        self.stdout.write(sign_in_address(user, timezone.now(), port))
