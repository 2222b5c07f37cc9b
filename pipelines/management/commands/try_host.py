"""Try the host of a repository on the real account: what Gateline asks there, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from pipelines.models import Repository
from pipelines.work.hosts.errors import HostError
from pipelines.work.hosts.host import Host
from pipelines.work.hosts.table import host_at
from pipelines.work.outgoing.guard import Guard
from pipelines.work.transport.local.host_access import host_access, secret_of

Step = tuple[str, Callable[[Host], Awaitable[str]]]
NEVER = "gateline/tried-and-never-pushed"
SAID = "Tried with Gateline’s try_host"


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
        found = (
            Repository.objects.select_related("project__owner")
            .filter(project__owner__key=owner, project__key=key, name=repository)
            .first()
        )
        if found is None:
            raise CommandError(f"{project} has no repository {repository}. Name it as its settings do.")
        credential, missing = secret_of(found, found.of_host)
        access = host_access(found, credential)
        if access is None:
            raise CommandError("No host keeps it: choose one in the settings of the repository.")
        if not credential:
            raise CommandError(missing or "It has no token for its host: choose a secret in its settings.")
        self.stdout.write(f"{access.host}: {access.page}")
        guard = Guard(tuple(settings.PRIVATE_HOSTS), nat64=tuple(settings.NAT64_PREFIXES))
        steps = _steps(found.default_branch or "main", options["issue"], options["commit"])
        failed = asyncio.run(self._tried(steps, host_at(access, guard)))
        self.stdout.write(
            "signature of its webhook: "
            + (
                f"secret {found.hook_secret}"
                if found.hook_secret
                else "no secret chosen, so issues start nothing"
            )
        )
        if failed:
            raise CommandError(f"{failed} of {len(steps)} failed.")

    async def _tried(self, steps: list[Step], signing_in: Awaitable[Host]) -> int:
        try:
            host = await signing_in
        except HostError as error:
            raise CommandError(str(error)) from error
        failed = 0
        for name, step in steps:
            try:
                self.stdout.write(f"  ok      {name}: {await step(host)}")
            except HostError as error:
                failed += 1
                self.stdout.write(f"  FAILED  {name}: {error}")
        return failed


def _steps(base: str, issue: int | None, commit: str | None) -> list[Step]:
    async def look(host: Host) -> str:
        if not await host.look():
            raise HostError("the token may read the repository, and not write to it")
        return "the token may write"

    async def requests(host: Host) -> str:
        return f"{len(await host.requests(NEVER, base))} from {NEVER} into {base}"

    async def comment(host: Host) -> str:
        assert issue is not None
        before = len(await host.comments("issue", issue, timezone.now()))
        await host.comment("issue", issue, SAID)
        return f"written, {before} before"

    async def status(host: Host) -> str:
        await host.set_status(str(commit), "success", SAID, settings.BASE_URL)
        return "set"

    steps: list[Step] = [("the repository", look), ("its requests", requests)]
    if issue is not None:
        steps.append((f"a comment on issue {issue}", comment))
    if commit:
        steps.append((f"the status of {commit[:7]}", status))
    return steps
