"""Try the host of a repository on the real account: what Gateline asks there, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from pipelines.models import Repository
from pipelines.work.hosts.checkup import CheckupScope, host_check_lines
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.host import Host
from pipelines.work.hosts.table import open_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.transport.local.host_access import host_access_or_none, secret_and_reason_for_absence


class Command(BaseCommand):
    help = (
        "Try what Gateline asks of the host of a repository. Nothing is changed without --issue or --commit."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="owner/project")
        parser.add_argument("repository", help="its name in the project")
        parser.add_argument("--issue", type=int, help="comment on this issue")
        parser.add_argument("--commit", help="set the status gateline of this commit, all 40 letters")

    def handle(self, *args: Any, project: str, repository: str, **options: Any) -> None:
        owner, _, key = project.partition("/")
        repository_row = (
            Repository.objects.select_related("project__owner")
            .filter(project__owner__key=owner, project__key=key, name=repository)
            .first()
        )
        if repository_row is None:
            raise CommandError(f"{project} has no repository {repository}. Name it as its settings do.")
        credential, missing = secret_and_reason_for_absence(
            repository_row, repository_row.name_of_host_secret
        )
        access = host_access_or_none(repository_row, credential)
        if access is None:
            raise CommandError("No host keeps it: choose one in the settings of the repository.")
        if not credential:
            raise CommandError(missing or "It has no token for its host: choose a secret in its settings.")
        self.stdout.write(f"{access.host}: {access.page}")
        guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
        scope = CheckupScope(
            repository_row.default_branch, options["issue"] or 0, options["commit"] or "", settings.BASE_URL
        )
        failed = asyncio.run(self._count_failed_checks(scope, open_host(access, guard)))
        self.stdout.write(
            "signature of its webhook: "
            + (
                f"secret {repository_row.hook_secret}"
                if repository_row.hook_secret
                else "no secret chosen, so issues start nothing"
            )
        )
        if failed:
            raise CommandError(f"{failed} failed.")

    async def _count_failed_checks(self, scope: CheckupScope, signing_in: Awaitable[Host]) -> int:
        """Run the checks of a host and return how many failed."""
        try:
            host = await signing_in
        except HostError as error:
            raise CommandError(str(error)) from error
        failed = 0
        async for result in host_check_lines(host, scope):
            word = {"ok": "ok     ", "failed": "FAILED ", "unknown": "unknown"}[result.state]
            self.stdout.write(f"  {word} {result.check}: {result.said}")
            failed += result.state == "failed"
        return failed
