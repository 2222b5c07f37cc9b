"""manage.py deactivate_person NAME --heir NAME: nobody signs in as this person any more, and their tokens die."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from pipelines.errors import Conflict
from pipelines.management import printing
from pipelines.models import User
from pipelines.people import departures


class Command(printing.Command):
    help = (
        "Deactivate a person who has left: sessions and tokens end, open invitations are revoked, and the heir takes "
        "over their agents in each project. With --again the person can sign in again; tokens stay dead."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")
        parser.add_argument("--heir", default="", help="user name of a member who takes over agents")
        parser.add_argument("--again", action="store_true", help="activate the person again")

    def handle(self, *, name: str, heir: str, again: bool, **options: Any) -> None:
        user, now = _existing_user(name), timezone.now()
        if again:
            departures.reactivate_user(user, by=None, now=now)
            self.stdout.write(f"“{name}” can sign in again.")
            return
        try:
            departures.deactivate_user(user, heir=_existing_user(heir) if heir else None, by=None, now=now)
        except Conflict as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"“{name}” is deactivated.")


def _existing_user(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user “{name}”.")
    return user
