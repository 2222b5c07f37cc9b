"""A protected repository takes nothing that only requester and producers approved, whichever way it comes.

Each way is open without the protection, so that a test of it can fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.formats.receipts import verified
from pipelines.models import (
    AdministrativeAct,
    Delivery,
    GateVisit,
    Group,
    Line,
    Membership,
    Repository,
    Task,
    User,
)
from pipelines.ports.vault import keys
from pipelines.ports.vault.signing import receipt_key
from pipelines.queries import versions
from pipelines.queries.protections import place_of
from pipelines.work.transport.local.protecting import involved_in
from reviews.models import ChatAccount
from tests.api.conftest import Api, api
from tests.factories import World, make_member, make_project, station
from tests.pages.conftest import client_of
from tests.reviews import test_bans as bans
from tests.reviews.test_channels import Chat, chat, connect  # noqa: F401 a fixture
from tests.reviews.test_chat_decisions import SECRET, Slack
from tests.work.driving import Bench, command
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import FIX, GATE, origin, run, to

__all__ = ["api", "origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
ADMIN = ["admin", "reviewer", "designer", "operator"]
EASY = {"who": [{"group": "friends", "count": 1}], "requester_may": True, "producer_may": True}
MORE = "open('more.txt', 'w').write('more')"
CHANNELS = {"mail_link": True, "chat": True}


class Siege:
    """Mallory administers a project of more than twenty people; the owner has another project, and its
    administrator administers both."""

    def __init__(self, world: World, origin: RemoteRepository, slack: Slack | None = None) -> None:
        self.world, self.origin = world, origin
        self.before = origin.head()
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


@pytest.fixture
def siege(world: World, origin: RemoteRepository, chat: Chat) -> Siege:  # noqa: F811
    world.worker.save()
    return Siege(world, origin, Slack(chat, connect(world, chat, "slack", signing=keys.encrypt(SECRET))))


def put_repository(who: Api, at: RemoteRepository, name: str = "app", **more: Any) -> Any:
    said = {"address": str(at.path), **more}
    return who.client.put(f"{who.base}/repositories/{name}", said, "application/json", headers=who.headers)


def publish(siege: Siege, document: dict[str, Any]) -> Any:
    """By Mallory, over HTTP."""
    who, path, key = siege.as_(siege.mallory), f"/lines/{document['key']}", document["key"]
    line = Line.objects.filter(project=siege.world.project, key=key).first()
    draft = f"?based_on={line.draft_number}" if line else ""
    saved = who.client.put(
        f"{who.base}{path}/draft{draft}", document, "application/json", headers=who.headers
    )
    assert saved.status_code == 200, saved.content
    number = Line.objects.get(project=siege.world.project, key=key).draft_number
    return who.post(path + "/publish", {"draft": number, "acknowledge": ["silent-jumps"]})


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


Start = Callable[[Siege], Task]
WAYS: list[tuple[Start, Callable[..., int]]] = [
    *((own, way) for way in bans.WAYS if way is not bans.by_rejecting),
    (of_a_machine, bans.by_page),
    (of_an_issue, bans.by_page),
    (done_by_hand, bans.by_page),
    (run_again, bans.by_page),
]


@pytest.mark.smoke(26)
@pytest.mark.parametrize("protected", [False, True])
@pytest.mark.parametrize(("begin", "way"), WAYS, ids=lambda value: value.__name__)
def test_nobody_approves_their_own_change(
    siege: Siege, bench: Bench, begin: Start, way: Callable[..., int], protected: bool
) -> None:
    task = begin(siege)
    run(bench, task)
    if protected:
        siege.protect()
    answer = way(siege, siege.visit(task), siege.mallory)
    assert answer in (200, 204, 302), answer
    run(bench, task)
    task.refresh_from_db()
    assert siege.landed is not protected
    assert task.status == ("failed" if protected else "completed")
    if protected:
        summary = task.jobs.get(station="merge").outcome["summary"]
        assert summary.startswith("app is protected. Missing: ") and not Delivery.objects.exists()


def test_whoever_wrote_the_issue_counts_as_its_requester(siege: Siege) -> None:
    task = of_an_issue(siege)
    assert siege.mallory.pk in involved_in(task, versions.by_id(task.pinned_id)).requesters


# Ways around what the line asks


def test_a_line_that_asks_only_its_author_is_not_published(siege: Siege) -> None:
    siege.protect()
    answer = publish(siege, siege.line())
    assert answer.status_code == 409
    assert "Code review may pass without any" in answer.content.decode()
    unguarded = siege.line()
    unguarded["stations"][1]["work"] = {"kind": "deliver", "to": "push"}
    unguarded["stations"][0]["rules"][0].pop("gates")
    assert publish(siege, unguarded).status_code == 409
    asking = siege.line(approval={"who": [{"role": "reviewer", "count": 1}]})
    assert publish(siege, asking).status_code == 201


def test_a_line_published_before_starts_nothing(siege: Siege) -> None:
    by_name, by_input = siege.line(), siege.line() | {"key": "second"}
    by_input["inputs"] = [{"key": "where", "type": "repository", "required": True}]
    by_input["workspace"] = {"git": {"repository": "input.where"}}
    for document in (by_name, by_input):
        published = publish(siege, document)
        assert published.status_code == 201, published.content
    siege.protect()
    refused = start(siege)
    assert refused.status_code == 400 and "app is protected" in refused.content.decode()
    for where in ("app", str(siege.origin.path)):
        refused = start(siege, "second", inputs={"where": where})
        assert refused.status_code == 400, refused.content
        assert "inputs.where" in refused.content.decode()
    assert not Task.objects.exists()


def test_a_push_without_a_gate_is_held_back(siege: Siege, bench: Bench) -> None:
    document = siege.line()
    document["stations"][0]["rules"][0].pop("gates")
    document["stations"][1]["work"] = {"kind": "deliver", "to": "push"}
    task = siege.world.start(siege.world.line(document), by=siege.mallory)
    siege.protect()
    run(bench, task)
    assert "app is protected" in task.jobs.get(station="merge").outcome["summary"]
    assert siege.origin.head(f"gateline/{task.name}") == ""


@pytest.mark.smoke(2)
@pytest.mark.parametrize("protected", [False, True])
def test_a_request_pushes_to_no_branch_that_was_there(siege: Siege, bench: Bench, protected: bool) -> None:
    """Its first attempt takes the branch over, as if somebody had pushed there; the second would push to it."""
    siege.origin.branch("release")
    siege.origin.add({"app.py": b"x = 1\n", "old.txt": b""}, branch="release")
    Repository.objects.update(host="github", page="https://github.com/team/app")
    document = siege.line()
    document["workspace"]["git"]["branch"] = "release"
    document["stations"][0]["rules"][0].pop("gates")
    document["stations"][1]["work"] = {"kind": "deliver", "to": "request"}
    pushed = {"eval": {"op": "equals", "value": "pushed"}}
    document["stations"][0]["rules"].insert(0, {"id": "more", "to": "polish", "when": pushed})
    document["stations"].append(command("polish", MORE, to("merge", id="polished")))
    task = siege.world.start(siege.world.line(document), by=siege.mallory)
    if protected:
        siege.protect(host="github", page="https://github.com/team/app")
    before = siege.origin.head("release")
    for _attempt in range(3):
        run(bench, task)
    assert (siege.origin.head("release") == before) is protected


def test_an_approval_of_other_files_and_one_person_twice_do_not_count(siege: Siege, bench: Bench) -> None:
    """Bob approves at two gates, between which the files change."""
    document = siege.line()
    asked = {"who": [{"user": siege.bob.username}]}
    document["stations"][0]["rules"][0]["to"] = "polish"
    document["stations"].insert(1, command("polish", MORE, to("merge", id="polished", gates=["mine"])))
    document["gates"] = [{**GATE, "approval": asked}, {**GATE, "key": "mine", "approval": EASY}]
    document["stations"][2]["work"]["gate"] = "mine"
    task = siege.world.start(siege.world.line(document), by=siege.mallory)
    siege.protect(approvals=2)
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.bob) in (200, 302)
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    assert "Missing: 0 of 2 approvals" in task.jobs.get(station="merge").outcome["summary"]
    assert not siege.landed


def test_migrating_a_task_to_an_easier_version_lands_nothing(siege: Siege, bench: Bench) -> None:
    asking = siege.world.line(siege.line(approval={"who": [{"role": "reviewer", "count": 1}]}))
    task = siege.world.start(asking, by=siege.mallory)
    siege.world.line(siege.line())
    siege.protect()
    who, path = siege.as_(siege.mallory), "/lines/line"
    seen = who.get(path + "/impact?to=2").json()
    moved = who.post(path + "/migrations", {"to": 2, "digest": seen["digest"], "reason": "Easier."})
    assert moved.status_code == 201, moved.content
    run(bench, task)
    task.refresh_from_db()
    assert task.pinned.number == 2
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    assert not siege.landed


# Ways around the setting


def renamed(siege: Siege) -> None:
    repository = Repository.objects.get()
    said = {"address": "app", "name": "other", "pushing": "execute"}
    address = f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/"
    assert client_of(siege.mallory).post(address, said).status_code == 302
    Repository.objects.filter(pk=repository.pk).update(name="app")


def connected_again(siege: Siege) -> None:
    who = siege.as_(siege.mallory)
    assert who.client.delete(f"{who.base}/repositories/app", headers=who.headers).status_code == 204
    assert put_repository(who, siege.origin).status_code == 200


def loosened(siege: Siege) -> None:
    """By a project's administrator, through every door."""
    who = siege.as_(siege.mallory)
    none = {"approvals": 0, "groups": [], "gates": []}
    assert put_repository(who, siege.origin, protection={**none, "changed_by": "owner"}).status_code == 403
    answer = put_repository(who, siege.origin, protection={**none, "changed_by": "admin"})
    assert answer.json()["protection"] == {**none, "approvals": 1, "changed_by": "owner"}
    everything = who.client.put("/api/owners/acme/protection", none, "application/json", headers=who.headers)
    assert everything.status_code == 403
    repository = Repository.objects.get()
    page = f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/protect/"
    for scope in ("owner", "all"):
        said = {"approvals": "0", "groups": "", "gates": "", "scope": scope}
        assert client_of(siege.mallory).post(page, said).status_code == 403
    assert client_of(siege.mallory).post(page, {"approvals": "0", "scope": "admin"}).status_code == 302


def transferred(siege: Siege) -> None:
    """To an owner of their own."""
    Membership.objects.create(project=make_project("mine", "mallory"), user=siege.mallory, roles=["admin"])
    who = siege.as_(siege.mallory)
    assert who.post("/transfer", {"owner": "mallory"}).status_code == 403


def gate_and_group_of_their_own(siege: Siege) -> None:
    Group.objects.create(project=siege.world.project, key="security", name="Security").members.add(
        siege.mallory
    )


def alone(siege: Siege) -> None:
    """Everybody else leaves the project."""
    Membership.objects.filter(project=siege.world.project).exclude(user=siege.mallory).delete()


def nothing(siege: Siege) -> None:
    """Left as it is."""


@pytest.mark.smoke(7)
@pytest.mark.parametrize(
    "way", [renamed, connected_again, loosened, transferred, gate_and_group_of_their_own, alone, nothing]
)
def test_the_protection_stays(siege: Siege, bench: Bench, way: Callable[[Siege], None]) -> None:
    task = own(siege)
    run(bench, task)
    siege.protect()
    way(siege)
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    task.refresh_from_db()
    assert task.status == "failed" and not siege.landed


def test_another_project_of_the_owner_is_bound_and_another_owner_is_not(
    siege: Siege, bench: Bench, world: World
) -> None:
    siege.protect()
    for owner, bound in (("acme", True), ("another", False)):
        project = make_project("second", owner)
        Repository.objects.create(
            project=project, name="app", address=str(siege.origin.path), connected_at=timezone.now()
        )
        Membership.objects.create(project=project, user=siege.mallory, roles=ADMIN, execute=True)
        who = Api(project, world.token_of(siege.mallory, "read", "design")[1])
        [row] = who.get("/repositories").json()
        assert (row["protection"] is not None) is bound


def test_the_door_for_all_repositories_does_not_exist_for_others(siege: Siege) -> None:
    stranger = Api(siege.world.project, siege.world.token_of(siege.world.stranger, "read", "settings")[1])
    for key in ("acme", "nobody"):
        answer = stranger.client.put(
            f"/api/owners/{key}/protection", {"approvals": 1}, "application/json", headers=stranger.headers
        )
        assert answer.status_code == 404
    assert put_repository(stranger, siege.origin, protection={"approvals": 1}).status_code == 404
    repository = Repository.objects.get()
    page = f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/protect/"
    assert client_of(siege.world.stranger).post(page, {"approvals": "1", "scope": "admin"}).status_code == 404
    assert client_of(siege.bob).post(page, {"approvals": "1", "scope": "admin"}).status_code == 403


def test_what_says_nothing_of_the_owner_leaves_it_to_the_owner(siege: Siege) -> None:
    """An administrator of all projects who forgets it loosens nothing."""
    siege.protect()
    answer = put_repository(siege.as_(siege.world.admin), siege.origin, protection={"approvals": 2})
    assert answer.json()["protection"]["changed_by"] == "owner"
    assert (
        put_repository(siege.as_(siege.mallory), siege.origin, protection={}).json()["protection"][
            "approvals"
        ]
        == 2
    )


def test_an_owner_protects_all_of_its_repositories_at_once(siege: Siege) -> None:
    who = siege.as_(siege.world.admin)
    rules = {"approvals": 2, "groups": ["security"], "changed_by": "owner"}
    answer = who.client.put("/api/owners/acme/protection", rules, "application/json", headers=who.headers)
    assert answer.status_code == 200 and answer.json() == {**rules, "gates": []}
    [row] = who.get("/repositories").json()
    assert row["protection"] == {**rules, "gates": []}
    assert AdministrativeAct.objects.get(kind="repository.protected").data["after"]["approvals"] == 2
    repository = Repository.objects.get()
    shown = client_of(siege.mallory).get(
        f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/"
    )
    assert "security" in shown.content.decode()


# What lands


def test_what_others_approve_lands_and_the_receipt_names_who_and_what(siege: Siege, bench: Bench) -> None:
    siege.protect(groups=["security"])
    siege.world.group("security", siege.bob)
    document = siege.line(approval={"who": [{"group": "security", "count": 1}]})
    assert publish(siege, document).status_code == 201
    task = Task.objects.get(number=int(start(siege).json()["id"].rpartition("-")[2]))
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.bob) in (200, 302)
    run(bench, task)
    task.refresh_from_db()
    assert task.status == "completed" and siege.landed
    shown = client_of(siege.mallory).get(f"/p/acme/{siege.world.project.key}/lines/line/").content.decode()
    assert shown.count("without an approval") == 2
    answer = client_of(siege.bob).get(reverse("task-receipt", args=["acme", task.project.key, task.name]))
    change = verified(answer.content, receipt_key().public_key())
    assert (change.requester, change.producers) == (siege.mallory.username, ())
    assert change.protection == {"approvals": 1, "groups": ["security"], "gates": [], "changed_by": "owner"}


def test_one_person_alone_works_as_before_without_a_protection(siege: Siege, bench: Bench) -> None:
    version = siege.world.line(siege.line(approval={"who": [{"role": "reviewer"}]}))
    alone(siege)
    task = siege.world.start(version, by=siege.mallory)
    run(bench, task)
    assert bans.by_page(siege, siege.visit(task), siege.mallory) in (200, 302)
    run(bench, task)
    assert siege.landed


@pytest.mark.parametrize(
    "address",
    [
        "https://host.example/team/app",
        "https://HOST.example/team/App.git",
        "https://host.example:443/team/app.git/",
        "ssh://git@host.example:22/team/app.git",
        "git@host.example:team/app.git",
        "git@host.example:/team/app",
    ],
)
def test_one_place_has_one_name_however_it_is_addressed(address: str) -> None:
    assert place_of(address) == "host.example/team/app"


def test_a_folder_has_one_name_behind_its_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    assert place_of(f"{tmp_path}/link/") == place_of(f"{tmp_path}/real")


@pytest.mark.smoke(6)
@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ({"approvals": -1}, "protection.approvals"),
        ({"approvals": 10**30}, "protection.approvals"),
        ({"groups": ["No key"]}, "protection.groups"),
        ({"gates": ["a\0b"]}, "protection.gates"),
        ({"gates": [f"g{number}" for number in range(21)]}, "protection.gates"),
        ({"changed_by": "nobody"}, "protection.changed_by"),
    ],
)
def test_a_faulty_protection_is_told_with_its_place(siege: Siege, rules: dict[str, Any], place: str) -> None:
    answer = put_repository(siege.as_(siege.mallory), siege.origin, protection=rules)
    assert answer.status_code == 400 and place in answer.content.decode()
    assert not AdministrativeAct.objects.filter(kind="repository.protected").exists()


def test_its_page_says_what_holds_and_what_was_typed_wrong(siege: Siege) -> None:
    client, repository = client_of(siege.mallory), Repository.objects.get()
    place = f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/"
    assert "the line alone says who approves" in client.get(place).content.decode()
    faulty = client.post(place + "protect/", {"approvals": "2", "groups": "No Key", "scope": "admin"})
    assert faulty.status_code == 422 and "“Key”" in faulty.content.decode()
    said = {"approvals": "2", "groups": "security, legal", "gates": "review", "scope": "admin"}
    assert client.post(place + "protect/", said).status_code == 302
    shown = client.get(place).content.decode()
    assert "legal, security" in shown and 'value="legal security"' in shown
    assert "every project of" not in shown.lower(), "only who administers all projects may choose that"
    everything = client_of(siege.world.admin).get(place).content.decode()
    assert "Every repository of Acme" in everything
