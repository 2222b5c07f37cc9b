"""manage.py create_token NAME --project demo/app --scope read: a token for the API, alone on the last line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from pipelines.management import printing
from pipelines.management.arguments import project_by_owner_and_key
from pipelines.models import ApiToken, Membership, Project, Role, User
from pipelines.people import accounts

# The least role with which a machine can use a scope.
LEAST = {"read": Role.VIEWER, "submit": Role.OPERATOR, "report": Role.OPERATOR, "design": Role.DESIGNER}


class Command(printing.Command):
    help = (
        "Print a personal or machine token: create_token mia --project demo/app --scope read --scope decide. "
        "NAME is a member of the project, and the token acts as that person there; with --machine it is the name of a "
        "machine, which can never decide a gate. The token is alone on the last line and shown once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="a member of the project, or the name of a machine")
        parser.add_argument("--project", required=True, metavar="OWNER/PROJECT")
        parser.add_argument(
            "--scope", action="append", required=True, choices=ApiToken.Scope.values, help="may be repeated"
        )
        parser.add_argument(
            "--machine", action="store_true", help="a token of a machine, of the project's own"
        )
        parser.add_argument(
            "--role", choices=Role.values, default="", help="of a machine (the least that its scopes need)"
        )
        parser.add_argument("--days", type=int, default=accounts.TOKEN_LASTS.days, help="how long it lasts")

    def handle(self, *, name: str, project: str, scope: list[str], **options: Any) -> None:
        project_row = project_by_owner_and_key(project)
        if not 0 < options["days"] <= accounts.LONGEST_TOKEN.days:
            raise CommandError(f"A token lasts 1 to {accounts.LONGEST_TOKEN.days} days.")
        bearer = (
            self._token_fields_of_machine(name, scope, options["role"])
            if options["machine"]
            else self._token_fields_of_person(name, project_row)
        )
        # A person's roles are those of their membership, whatever a token of theirs would say
        if options["role"] and not options["machine"]:
            raise CommandError("A personal token has the roles of the person. Use --role with --machine.")
        try:
            token, secret = accounts.mint_token_and_secret(
                scopes=scope,
                now=timezone.now(),
                project=project_row,
                lasts=timedelta(days=options["days"]),
                **bearer,
            )
        except accounts.TokenRefused as refused:
            raise CommandError(str(refused)) from refused
        words = {"name": name, "project": project_row, "until": f"{token.expires_at:%Y-%m-%d}"}
        # On standard error: standard output has the secret alone.
        self.stderr.write("Token of {name} in {project}, until {until}:".format(**words))
        self.stdout.write(secret)

    def _token_fields_of_person(self, name: str, project: Project) -> dict[str, Any]:
        """Raises CommandError where there is no such member."""
        user = User.objects.filter(username=name, is_active=True).first()
        if user is None or not Membership.objects.filter(project=project, user=user).exists():
            words = {"name": name, "project": project}
            raise CommandError(
                (
                    "{name} is not a member of {project}. Create one: manage.py create_member {name} --project "
                    "{project} --role viewer. For a machine add --machine."
                ).format(**words)
            )
        label = f"{name}, from the shell"
        return {"kind": ApiToken.TokenKind.PERSON, "name": label[:100], "user": user, "created_by": user}

    def _token_fields_of_machine(self, name: str, scopes: list[str], role: str) -> dict[str, Any]:
        needed = {LEAST[scope] for scope in scopes if scope in LEAST}
        least = max(needed, key=Role.values.index, default=Role.VIEWER)
        return {"kind": ApiToken.TokenKind.MACHINE, "name": name, "role": role or least, "created_by": None}
