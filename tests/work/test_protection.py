"""The protection of a repository stays whoever turns at it; its doors, and the receipt that names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.formats.receipts import verified_landed_change
from pipelines.models import (
    AdministrativeAct,
    Group,
    Membership,
    Project,
    Repository,
    RepositoryProtection,
    Task,
)
from pipelines.ports.vault.signing import configured_receipt_key
from pipelines.queries.protections import canonical_address
from tests.api.conftest import Api
from tests.factories import World, make_project
from tests.pages.conftest import client_of
from tests.reviews import test_bans as bans
from tests.reviews.test_channels import Chat, chat  # noqa: F401 a fixture
from tests.work.driving import Bench
from tests.work.remotes import RemoteRepository
from tests.work.repository_lines import origin, run
from tests.work.siege import ADMIN, Siege, besieged, own, publish, put_repository, start

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


@pytest.fixture
def siege(world: World, origin: RemoteRepository, chat: Chat) -> Siege:  # noqa: F811
    return besieged(world, origin, chat)


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
    none = {"approvals": 0, "groups": [], "gates": [], "four_eyes": False}
    assert put_repository(who, siege.origin, protection={**none, "changed_by": "owner"}).status_code == 403
    answer = put_repository(who, siege.origin, protection={**none, "changed_by": "admin"})
    assert answer.json()["protection"] == {**none, "approvals": 1, "changed_by": "owner"}
    everything = who.client.put("/api/owners/acme/protection", none, "application/json", headers=who.headers)
    assert everything.status_code == 403
    repository = Repository.objects.get()
    page = f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/"
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
    Project.objects.update(left_at=None)  # long ago


def nothing(siege: Siege) -> None:
    """Left as it is."""


@pytest.mark.smoke(3)
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
    page = f"/p/acme/{siege.world.project.key}/settings/repositories/{repository.pk}/"
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
    rules = {"approvals": 2, "groups": ["security"], "changed_by": "owner", "four_eyes": False}
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
    change = verified_landed_change(answer.content, configured_receipt_key().public_key())
    assert (change.requester, change.producers) == (siege.mallory.username, ())
    assert change.protection == {"approvals": 1, "groups": ["security"], "gates": [], "changed_by": "owner"}


@pytest.mark.wide
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
        "https://host.example/team/%61pp",
        "https://host.example/%74eam%2Fapp%2egit",
        "https://host.example//team/./other/../app",
        "ssh://git@host.example/./team/%41pp.git",
    ],
)
def test_one_place_has_one_name_however_it_is_addressed(address: str) -> None:
    assert canonical_address(address) == "host.example/team/app"


def test_another_name_of_a_public_host_is_the_same_place() -> None:
    plain = canonical_address("https://github.com/team/app")
    assert canonical_address("ssh://git@ssh.github.com:443/team/app.git") == plain
    assert canonical_address("https://www.github.com/team/app") == plain


@pytest.mark.parametrize("address", ["https://host.example/team/%61pp", "https://host.example/team/x/../app"])
def test_another_spelling_of_its_address_leaves_a_repository_protected(siege: Siege, address: str) -> None:
    """An administrator of a project, whom the owner's protection binds, spells the address otherwise."""
    plain = "https://host.example/team/app"
    Repository.objects.update(address=plain)
    RepositoryProtection.objects.create(
        owner=siege.world.project.owner, place=canonical_address(plain), rules={"approvals": 1}
    )
    who = siege.as_(siege.mallory)
    assert who.send("PUT", "/repositories/app", {"address": address, "pushing": "execute"}).status_code == 200
    [row] = who.get("/repositories").json()
    assert row["address"] == address and row["protection"]["approvals"] == 1


def test_a_folder_has_one_name_behind_its_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    assert canonical_address(f"{tmp_path}/link/") == canonical_address(f"{tmp_path}/real")


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
    faulty = client.post(place, {"approvals": "2", "groups": "No Key", "scope": "admin"})
    assert faulty.status_code == 422 and "“Key”" in faulty.content.decode()
    said = {"approvals": "2", "groups": "security, legal", "gates": "review", "scope": "admin"}
    assert client.post(place, said).status_code == 302
    shown = client.get(place).content.decode()
    assert "legal, security" in shown and 'value="legal security"' in shown
    assert "every project of" not in shown.lower(), "only who administers all projects may choose that"
    everything = client_of(siege.world.admin).get(place).content.decode()
    assert "Every repository of Acme" in everything
