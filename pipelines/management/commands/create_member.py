"""manage.py create_member NAME --project demo/app --role reviewer: a person of a project, from the shell."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from pipelines.management import printing
from pipelines.management.arguments import project_by_owner_and_key
from pipelines.models import Membership, Project, Role, User
from pipelines.models.people import smallest_equal_roles
from pipelines.people import members


class Command(printing.Command):
    help = (
        "Make a person a member of a project, for example: create_member mia --project demo/app --role reviewer. "
        "A person who does not exist yet is created without a password; a member gets these roles instead of the old."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")
        parser.add_argument("--project", required=True, metavar="OWNER/PROJECT")
        parser.add_argument(
            "--role", action="append", required=True, choices=Role.values, help="may be repeated"
        )
        parser.add_argument("--execute", action="store_true", help="may publish stations that run programs")
        parser.add_argument("--email", default="", help="for mails of gates; of a new person")

    def handle(self, *, name: str, project: str, role: list[str], **options: Any) -> None:
        project_row = project_by_owner_and_key(project)
        with transaction.atomic():
            user, created = self._user_and_whether_new(name, options["email"])
            member = self._add_or_change_member(project_row, user, role, execute=options["execute"])
        words = {"who": user.username, "project": project_row, "roles": member.roles_display}
        self.stdout.write("{who} is a member of {project}: {roles}.".format(**words))
        if created:
            self.stdout.write(f"Set a password: manage.py changepassword {user.username}")

    def _user_and_whether_new(self, name: str, email: str) -> tuple[User, bool]:
        """The person, and whether they are new. Raises CommandError."""
        user = User.objects.filter(username=name).first()
        if user is not None:
            if not user.is_active:
                raise CommandError(f"“{name}” is not active. Activate the person first.")
            return user, False
        user = User(username=name, email=email)
        # A password on the command line would stand in the history of the shell
        user.set_unusable_password()
        try:
            user.full_clean()
        except ValidationError as fault:
            raise CommandError(" ".join(fault.messages)) from fault
        user.save()
        return user, True

    def _add_or_change_member(
        self, project: Project, user: User, roles: list[str], *, execute: bool
    ) -> Membership:
        return members.add_or_change_member(
            project, user, roles=smallest_equal_roles(roles), execute=execute, by=None, now=timezone.now()
        )
