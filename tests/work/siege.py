"""A project of more than twenty people, one of whose administrators tries to land what only they approved."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import ApiToken, GateVisit, Line, Membership, Task, User
from pipelines.ports.vault import keys
from reviews.models import ChatAccount
from tests.api.conftest import Api
from tests.factories import World, make_member, make_project, station
from tests.pages.conftest import client_of
from tests.reviews.test_channels import Chat, connect
from tests.reviews.test_chat_decisions import SECRET, Slack
from tests.work.driving import command
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import FIX, GATE, to

ADMIN = ["admin", "reviewer", "designer", "operator"]
EASY = {"who": [{"group": "friends", "count": 1}], "requester_may": True, "producer_may": True}
MORE = "open('more.txt', 'w').write('more')"
CHANNELS = {"mail_link": True, "chat": True}


class Siege:
    """Mallory administers a project of more than twenty people; the owner has another project, and its
    administrator administers both."""

    def __init__(self, world: World, origin: RemoteRepository, slack: Slack | None = None) -> None:
        self.world, self.origin = world, origin
        self.before, self.protected = origin.head(), False
        self.mallory = make_member(world.project, ADMIN, "mallory", execute=True)
        self.bob = make_member(world.project, ["reviewer", "operator"], "bob")
        world.reviewers(20)
        Membership.objects.create(project=make_project("vault"), user=world.admin, roles=["admin"])
        self.group = world.group("friends", self.mallory)
        if slack is not None:
            self.slack = slack
            for number, user in enumerate((self.mallory, self.bob)):
                ChatAccount.objects.create(
                    connection=slack.connection,
                    user=user,
                    workspace="T1",
                    account=f"U{number}",
                    linked_at=timezone.now(),
                )

    def as_(self, user: User) -> Api:
        return Api(
            self.world.project,
            self.world.token_of(user, "read", "submit", "design", "decide", "settings", "report")[1],
        )

    def protect(self, host: str = "", page: str = "", **rules: Any) -> None:
        """Through the API, by the administrator of all projects."""
        said = {"approvals": 1, "changed_by": "owner", **rules}
        who = self.as_(self.world.admin)
        answer = put_repository(who, self.origin, host=host, page=page, protection=said)
        assert answer.status_code == 200, answer.content
        assert answer.json()["protection"]["approvals"] == said["approvals"]
        self.protected = True

    @property
    def landed(self) -> bool:
        return self.origin.head() != self.before

    def line(self, **gate: Any) -> dict[str, Any]:
        return {
            "key": "line",
            "name": "Line",
            "stations": [
                command("fix", FIX, to("merge", gates=["review"])),
                station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
            ],
            "gates": [{**GATE, "approval": EASY, "channels": CHANNELS, **gate}],
            "workspace": {"git": {"repository": "app"}},
        }

    def visit(self, task: Task) -> GateVisit:
        return GateVisit.objects.select_related("task__line", "task__project__owner").get(
            task=task, state=GateVisit.State.OPEN
        )


def besieged(world: World, origin: RemoteRepository, chat: Chat) -> Siege:
    world.worker.save()
    return Siege(
        world, origin, Slack(chat, connect(world, chat, "slack", signing=keys.encrypt_secret(SECRET)))
    )


def put_repository(who: Api, at: RemoteRepository, name: str = "app", **more: Any) -> Any:
    said = {"address": str(at.path), **more}
    return who.client.put(f"{who.base}/repositories/{name}", said, "application/json", headers=who.headers)


def draft(siege: Siege, document: dict[str, Any], by: User | None = None) -> Line:
    """Save it over HTTP."""
    who, key = siege.as_(by or siege.mallory), document["key"]
    line = Line.objects.filter(project=siege.world.project, key=key).first()
    based_on = f"?based_on={line.draft_number}" if line else ""
    address = f"{who.base}/lines/{key}/draft{based_on}"
    saved = who.client.put(address, document, "application/json", headers=who.headers)
    assert saved.status_code == 200, saved.content
    return Line.objects.get(project=siege.world.project, key=key)


def publish_draft(siege: Siege, line: Line, by: User | None = None) -> Any:
    body = {"draft": line.draft_number, "acknowledge": ["silent-jumps"]}
    return siege.as_(by or siege.mallory).post(f"/lines/{line.key}/publish", body)


def publish(siege: Siege, document: dict[str, Any]) -> Any:
    """By Mallory, over HTTP."""
    return publish_draft(siege, draft(siege, document))


def start(siege: Siege, key: str = "line", **more: Any) -> Any:
    return siege.as_(siege.mallory).post(f"/stages/{key}/tasks", {"title": "Fix it", **more})


# Ways to approve one's own change: a task that waits, then the approval


def own(siege: Siege) -> Task:
    """Requested by Mallory."""
    return siege.world.start(siege.world.line(siege.line()), by=siege.mallory)


def of_a_machine(siege: Siege) -> Task:
    """Requested by a token, of whoever."""
    made, _secret = siege.world.machine()
    actor = engine.Actor("machine", str(made.pk), made.name)
    return engine.submit(siege.world.line(siege.line()), actor=actor, title="Fix it")


def of_an_issue(siege: Siege) -> Task:
    """Requested by an issue that Mallory wrote, as a host's delivery starts it."""
    made, _secret = siege.world.machine()
    actor = engine.Actor("machine", str(made.pk), made.name)
    author = f"person:{siege.mallory.pk}"
    return engine.submit(siege.world.line(siege.line()), actor=actor, title="Fix it", requesters=[author])


def done_by_hand(siege: Siege) -> Task:
    """Requested by Bob, while Mallory did a part of it."""
    document = siege.line()
    begin = station("begin", to("fix"), kind="manual", work={"instructions": "Begin."})
    document["stations"].insert(0, begin)
    task = siege.world.start(siege.world.line(document), by=siege.bob)
    siege.world.report(task, by=f"person:{siege.mallory.pk}")
    return task


def run_again(siege: Siege) -> Task:
    """Requested by Bob, who gave it up; Mallory lets it run again."""
    task = siege.world.start(siege.world.line(siege.line()), by=siege.bob)
    engine.cancel(task.pk, actor=engine.Actor.person(siege.bob))
    names = ["acme", task.project.key, task.name]
    said = {"station": "fix", "reason": "Again."}
    answer = client_of(siege.mallory).post(reverse("task-retry-ended", args=names), said)
    assert answer.status_code == 302, answer.content[-300:]
    return Task.objects.get(follows=task)


def run_again_by_a_machine(siege: Siege) -> Task:
    """Requested by Bob, who gave it up; a token that Mallory made lets it run again."""
    old = siege.world.start(siege.world.line(siege.line()), by=siege.bob)
    engine.cancel(old.pk, actor=engine.Actor.person(siege.bob))
    made, secret = siege.world.machine("report")
    ApiToken.objects.filter(pk=made.pk).update(created_by=siege.mallory)
    answer = Api(old.project, secret).post(
        f"/stages/line/tasks/{old.name}/retry", {"station": "fix", "reason": "Again."}
    )
    assert answer.status_code == 200, answer.content
    return Task.objects.get(follows=old)
