"""manage.py load_demo: the demo project with its lines. What a person has changed is left as it is."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from pipelines.engine.core.values import Actor
from pipelines.errors import Refused
from pipelines.formats import native
from pipelines.formats import scenarios as texts
from pipelines.lines import publishing, scenarios
from pipelines.lines.demo import example, lint_example
from pipelines.lines.four_eyes import SecondPersonNeeded
from pipelines.management import printing
from pipelines.models import (
    Agent,
    AgentEvent,
    Line,
    LineVersion,
    Membership,
    Owner,
    Project,
    Repository,
    Role,
    User,
)
from pipelines.people import allowed_folders
from pipelines.ports.terms import SHIPPED
from pipelines.queries.versions import parsed_version
from pipelines.routing.document.line import canonical_digest, read_line
from pipelines.routing.document.networks import document_to_publish

NAME_OF_FIX = "basket"


class Command(printing.Command):
    help = "Load the demo: owner “demo”, project “app”, its three working lines and one for each dialect."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="", help="who publishes the lines (the first administrator)")

    def handle(self, *args: Any, **options: Any) -> None:
        user = named_or_first_administrator(options["user"])
        try:
            with transaction.atomic():
                project = _ensure_demo_project(user)
                address = _connect_demo_repository(
                    project,
                    lint_example.ensure_repository_and_return_folder(
                        settings.DATA_DIR / "repositories" / "basket.git"
                    ),
                )
                done = [
                    create_or_update_demo_line_and_say_result(
                        project, key, example.example_line_text(key, address), user
                    )
                    for key in example.KEYS
                ]
                _create_demo_agents(project, user)
        except Refused as refused:
            raise CommandError(f"The demo could not be loaded: {refused}") from refused
        if options["verbosity"]:
            for line in done:
                self.stdout.write(line)


def named_or_first_administrator(name: str = "") -> User:
    """The person of that name, else the first administrator."""
    people = User.objects.filter(is_active=True).order_by("pk")
    user = people.filter(username=name).first() if name else people.filter(is_superuser=True).first()
    if user is None and name:
        raise CommandError(f"There is no active person “{name}”.")
    if user is None:
        raise CommandError("There is no administrator yet. Create one: manage.py createsuperuser")
    return user


def create_or_update_demo_line_and_say_result(project: Project, key: str, text: str, user: User) -> str:
    """Create the line, or bring it up to date if nobody has touched it; what was done, in words."""
    line = Line.objects.filter(project=project, key=key).select_related("live").first()
    parsed_line = read_line(native.loads(text))
    if line is None:
        line = publishing.create_line(project, key, parsed_line.name, text, user)
        tests = example.SCENARIOS / f"{key}.yaml"
        if tests.exists():
            scenarios.store_scenarios(line, texts.loads(tests.read_bytes()), user, timezone.now())
    # Whatever somebody drew is theirs
    elif not is_as_demo_wrote_it(line):
        return f"{key}: left unchanged, somebody has edited it"
    elif line.live and line.live.digest == canonical_digest(document_to_publish(parsed_line.to_document())):
        return f"{key}: up to date"
    else:
        line = publishing.save_draft(line, text, user, line.draft_number)
    try:
        version = publishing.publish_draft(line, user=user, name=SHIPPED, based_on=line.draft_number)
    except SecondPersonNeeded as refusal:
        return f"{key}: {refusal.detail}"
    line.live = version
    scenarios.run_stored_scenarios(line, scenarios.LIVE, now=timezone.now())
    return f"{key}: published version {version.number}"


def is_as_demo_wrote_it(line: Line) -> bool:
    """Return whether draft and live version are the ones that this command wrote."""
    if line.live is None or line.live.name != SHIPPED:
        return False
    # Nobody has saved a draft since this command published its own.
    return line.draft_at is not None and line.draft_at <= line.live.published_at


def _connect_demo_repository(project: Project, folder: str) -> str:
    """Connect the repository that was prepared for the demo, unless somebody connected it otherwise; its name."""
    allowed_folders.record_prepared_folder(project.owner, folder, now=timezone.now())
    # Somebody may have connected it otherwise, and that stays
    Repository.objects.get_or_create(
        project=project, name=NAME_OF_FIX, defaults={"address": folder, "connected_at": timezone.now()}
    )
    return NAME_OF_FIX


def _create_demo_agents(project: Project, user: User) -> None:
    """The agents that the lines name, so that a person can play each; those that are there are left as they are."""
    now = timezone.now()
    lives = LineVersion.objects.filter(line__project=project, pk=F("line__live"))
    for key in dict.fromkeys(agent for live in lives for agent in parsed_version(live).agents):
        agent, added = Agent.objects.get_or_create(
            project=project,
            key=key,
            defaults={
                "owner": user,
                "contract_version": "1.0.0",
                "allowed_inputs": ["what was handed over"],
                "allowed_outputs": ["what its station reports"],
                "forbidden_actions": ["merge to the main branch"],
                "required_checks": ["those of the gate of its station"],
                "created_at": now,
            },
        )
        if added:
            AgentEvent.objects.create(agent=agent, kind="added", actor=str(Actor.person(user)), at=now)


def _ensure_demo_project(user: User) -> Project:
    owner, _made = Owner.objects.get_or_create(key="demo", defaults={"name": "Demo"})
    project, _made = Project.objects.get_or_create(owner=owner, key="app", defaults={"name": "Demo"})
    Membership.objects.get_or_create(
        project=project, user=user, defaults={"roles": [Role.ADMIN], "execute": True}
    )
    return project
