"""Real things at every address of a project, and every route that there is."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from pipelines import engine
from pipelines.engine.core.batch import Batch
from pipelines.lines import comments, triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import (
    Absence,
    Agent,
    AllowedFolder,
    Artifact,
    Blob,
    BulkCommand,
    BulkEntry,
    Deadlock,
    Delivery,
    Drawing,
    HostLink,
    HostNotice,
    IssueTrigger,
    LineEvaluation,
    Membership,
    Migration,
    Repository,
    Role,
    Scenario,
    StationTrial,
    ToolPermission,
)
from pipelines.people import invitations
from pipelines.ports.vault import store
from pipelines.work.hosts import standard_webhooks
from reviews.models import ChannelConnection, ChannelMessage, ChatAccount, Notification, ReviewQuestion
from tests.factories import World, document, station


class Place:
    """One project with something at every address: a task that waits at a gate, one at a manual station, a file.
    `mark` makes its keys differ from those of another; `says` stands wherever people write."""

    def __init__(self, world: World, mark: str = "", says: str = "A task") -> None:
        self.world = world
        self.sessions: dict[str, str] = {}
        self.line, self.gate = f"line{mark}", f"look{mark}"
        version = world.line(
            document(
                key=self.line,
                stations=[
                    station("build", {"id": "on", "to": "check", "gates": [self.gate]}),
                    {"key": "check", "work": {"kind": "manual"}},
                ],
                gates=[{"key": self.gate, "name": f"Look {says}"}],
                description=says,
            )
        )
        self.drawing = Drawing.objects.create(
            project=world.project,
            digest=f"{mark:0>64}",
            picture={},
            geometry={"wide": {}, "narrow": {}},
            wide="<svg/>",
            narrow="<svg/>",
            used_at=timezone.now(),
        )
        waits, manual = world.start(version, title=says), world.start(version, title=says)
        world.report(waits)
        world.report(manual)
        world.vote(manual, by=world.reviewer)
        self.task, self.job = waits, world.job(manual)
        self.manual = manual
        blob, _ = Blob.objects.get_or_create(
            digest="0" * 64, defaults={"size": 1, "name": "no such file", "created_at": timezone.now()}
        )
        made = waits.jobs.get()
        self.artifact = Artifact.objects.create(task=waits, job=made, name=f"{says}.txt", blob=blob)
        self.commit = hashlib.sha1(says.encode()).hexdigest()
        now = timezone.now()
        Delivery.objects.create(
            job=made,
            task=waits,
            to="push",
            repository_name="app",
            branch="main",
            commit=self.commit,
            tree="b" * 40,
            cleared_at=now,
            landed_at=now,
        )
        self.group = world.group(f"security{mark}")
        self.agent = Agent.objects.create(
            project=world.project, key=f"coder{mark}", owner=world.operator, created_at=timezone.now()
        )
        (self.invitation,) = invitations.create_invitations(
            world.project,
            [f"newcomer{mark}@example.com"],
            roles=[Role.VIEWER],
            execute=False,
            groups=(),
            by=world.admin,
            now=timezone.now(),
        )
        self.machine, self.machine_secret = world.machine("read", "submit", "report", "design")
        self.runner, self.runner_secret = world.runner()
        self.visit = world.visit(waits)
        self.member = Membership.objects.get(user=world.viewer)
        self.scenario = Scenario.objects.create(
            line=version.line,
            key=f"smoke{mark}",
            name=says,
            document={"key": f"smoke{mark}"},
            at=timezone.now(),
        )

        self.trial = StationTrial.objects.create(
            line=version.line,
            station="build",
            document={},
            by=world.admin,
            state="done",
            log=f"0.1\t{says}\n",
            outcome={"result": "success"},
            created_at=timezone.now(),
            ended_at=timezone.now(),
        )
        self.evaluation = LineEvaluation.objects.create(
            line=version.line,
            station="build",
            check_station=says[:60],
            document=version.document,
            cost_limit=1,
            by=world.admin,
            created_at=timezone.now(),
        )
        self.comment = comments.write_comment(version.line, world.viewer, says, timezone.now(), kind="line")
        self.escalation = engine.escalate(waits.pk, user=world.operator, trigger="architecture", reason=says)
        self.deadlock = Deadlock.objects.create(
            task=waits,
            kind="circular_wait",
            parties=[],
            suggestion=says,
            role="admin",
            found_at=timezone.now(),
        )
        self.deadlock.tasks.add(waits)
        with transaction.atomic():
            batch = Batch.of_tasks(waits.pk)
            batch.append_event(
                batch.tasks[waits.pk],
                "deadlock.found",
                engine.ENGINE,
                trigger="circular_wait",
                deadlock=str(self.deadlock.pk),
            )
            batch.flush()
        self.value = store.create_or_replace_value(
            store.ValuePlace(world.project),
            f"REGION{mark.upper().replace('-', '_')}",
            says,
            kind="variable",
            by=world.admin,
            now=timezone.now(),
        )
        self.repository = Repository.objects.create(
            project=world.project,
            name=self.value.name,
            address="/no/such/folder",
            connected_at=timezone.now(),
        )
        self.notice = HostNotice.objects.create(
            link=HostLink.objects.create(
                task=self.task,
                repository=self.repository,
                kind="issue",
                number=1,
                url="https://git.example/1",
            ),
            about="started",
            state="failed",
            error=says,
            created_at=timezone.now(),
            queued_at=timezone.now(),
        )
        self.folder = AllowedFolder.objects.create(
            owner=world.project.owner, path="/no/such/allowed", device=1, inode=1, allowed_at=timezone.now()
        )
        self.trigger = IssueTrigger.objects.create(
            repository=self.repository,
            line=version.line,
            value=says,
            made_by=world.admin,
            created_at=timezone.now(),
        )
        self.line_trigger = triggers.add_trigger(
            version.line,
            "webhook",
            TriggerRequest(
                {"name": says, "inputs": {}}, title=says, secret=standard_webhooks.new_secret(), example=says
            ),
            by=world.admin,
        )
        self.channel = ChannelConnection.objects.create(
            project=world.project, kind="webhook", name=says, address="", created_at=timezone.now()
        )
        self.account = ChatAccount.objects.create(
            connection=self.channel, user=world.admin, workspace="T1", account="U1", linked_at=timezone.now()
        )
        self.message = ChannelMessage.objects.create(
            connection=self.channel,
            visit=self.visit,
            kind="opened",
            state="failed",
            created_at=timezone.now(),
        )
        self.notification = Notification.objects.get(user=world.admin, kind="review", task=waits)
        now = timezone.now()
        self.absence = Absence.objects.create(
            user=world.admin, stand_in=world.viewer, project=world.project, until=now, created_at=now
        )
        self.question = ReviewQuestion.objects.create(
            visit=self.visit,
            task=waits,
            gate=self.gate,
            asked_by=world.reviewer,
            asked=world.operator,
            text=says,
            at=now,
        )
        # Answered: whoever may answer is told so
        self.permission = ToolPermission.objects.create(
            task=self.task,
            job=self.job,
            lease_key=uuid.uuid4(),
            key=uuid.uuid4(),
            tool="Bash",
            arguments={"command": says},
            digest="0" * 64,
            state="denied",
            requested_at=now,
            due_at=now,
            answered_at=now,
        )
        self.migration = Migration.objects.create(
            line=version.line, to=version, reason=says, at=timezone.now(), finished_at=timezone.now()
        )

        self.bulk = BulkCommand.objects.create(
            by=world.admin, action="cancel", reason=says, state="planned", created_at=timezone.now()
        )
        BulkEntry.objects.create(command=self.bulk, task=self.task, result="planned")

    def arguments(self, name: str) -> dict[str, Any]:
        project, task = self.world.project, self.manual if name == "job-complete" else self.task
        return {
            "owner": project.owner.key,
            "project": project.key,
            "line": self.task.line.key,
            "wi": task.name,
            "task": task.name,
            "gate": self.gate,
            "station": "build",
            "number": 1,
            "visit": self.visit.pk,
            "artifact": self.artifact.pk,
            "digest": "0" * 64,
            "drawing": self.drawing.digest,
            "commit": self.commit,
            "remark": 1,
            "channel": self.channel.pk,
            "message": self.message.pk,
            "account": self.account.pk,
            "job": self.job.pk,
            "member": self.member.pk,
            "pk": 1,
            "group": self.group.pk,
            "agent": self.agent.pk,
            "invitation": self.invitation.pk,
            "uidb36": "1",
            "provider_id": "nobody",
            "secret": "no-such-link",
            "port": 50000,
            "state": "of-a-program",
            "page": "design",
            "picture": "move",
            "name": self.value.name if name == "api" else "nothing.eml",
            "value": self.value.pk,
            "repository": self.repository.pk,
            "folder": self.folder.pk,
            "trigger": self.trigger.pk,
            "line_trigger": self.line_trigger.pk,
            "address": self.line_trigger.webhook.address,
            "notice": self.notice.pk,
            "key": self.visit.token_id if name == "need-act" else self.scenario.key,
            "kind": "question",
            "what": "station",
            "migration": self.migration.pk,
            "bulk": self.bulk.pk,
            "notification": self.notification.pk,
            "absence": self.absence.pk,
            "question": self.question.pk,
            "permission": self.permission.pk,
            "comment": self.comment.pk,
            "trial": self.trial.pk,
            "evaluation": self.evaluation.pk,
            "escalation": self.escalation.pk,
            "deadlock": self.deadlock.pk,
            "token": self._token_of(name),
            "run": self.task.name,
            "asked": f"{self.job.pk}-1",
            "execution": self.task.name,
            "workflow": f"{self.world.project.owner.key}:{self.world.project.key}:{self.line}",
            "runner": "00000000-0000-4000-8000-000000000000",
        }

    def _token_of(self, name: str) -> int:
        """A bearer's, or of the task."""
        if name.startswith("runner-"):
            return self.runner.pk
        return self.machine.pk if "token" in name else self.visit.token_id

    def address(self, name: str) -> str:
        given, pattern = self.arguments(name), ROUTES[name]
        wanted = [each for each in given if f":{each}>" in pattern or f"<{each}>" in pattern]
        query = f"?job={self.task.jobs.get().pk}" if name.startswith("task-log") else ""
        return reverse(name, kwargs={argument: given[argument] for argument in wanted}) + query


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Name and pattern of every route but the API's and the admin's own."""
    for each in (resolver or get_resolver()).url_patterns:
        pattern = before + str(each.pattern)
        if isinstance(each, URLPattern):
            yield str(each.name), pattern
        elif each.app_name != "admin" and not pattern.startswith("api/"):
            yield from routes(each, pattern)


ROUTES = {**dict(routes()), "admin:index": "admin/"}
