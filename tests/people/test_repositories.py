"""Repositories of a project: connected on the page and over the API, tested for real, and kept in the audit log."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.errors import Invalid
from pipelines.lines import publishing
from pipelines.models import AdministrativeAct, Repository, StoredValue
from pipelines.people import repositories
from pipelines.people.repositories import RepositorySettings
from pipelines.ports.vault import store
from pipelines.web.shell import page as shell
from pipelines.web.shell.costly_requests import TurnRefused
from pipelines.work.git.refusals import GitRefused
from pipelines.work.git.remote import References, Remote
from tests.factories import World, document, station
from tests.pages.conftest import As
from tests.work.remotes import RemoteRepository, allow, remote

pytestmark = pytest.mark.django_db


@pytest.fixture
def origin(world: World, tmp_path: Path) -> RemoteRepository:
    made = remote(tmp_path / "app.git", {"a": b"1"})
    allow(world.project.owner, made.path)
    return made


def page(client: Client, world: World) -> str:
    answer = client.get(f"/p/acme/{world.project.key}/settings/repositories/", follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def connect(client: Client, world: World, **said: str) -> Any:
    address = f"/p/acme/{world.project.key}/settings/repositories/"
    return client.post(address, {"pushing": "execute", **said}, follow=True)


def test_it_is_connected_and_tested_on_its_page(
    signed_in: As, world: World, origin: RemoteRepository
) -> None:
    client = signed_in(world.admin)
    assert "No repositories yet" in page(client, world)
    text = connect(client, world, address=str(origin.path)).content.decode()
    assert "app is connected" in text and "1 branch" in text and origin.head()[:7] in text
    made = Repository.objects.get()
    assert (made.name, [each["ok"] for each in made.tested]) == ("app", [True] * 4)
    shutil.rmtree(origin.path)
    tested = client.post(f"/p/acme/{world.project.key}/settings/repositories/{made.pk}/test/", follow=True)
    assert "There is no such folder on this machine." in tested.content.decode()
    client.post(f"/p/acme/{world.project.key}/settings/repositories/{made.pk}/disconnect/")
    assert not Repository.objects.exists()
    kinds = AdministrativeAct.objects.filter(kind__startswith="repository").values_list("kind", flat=True)
    assert sorted(kinds) == [
        "repository.connected",
        "repository.disconnected",
        "repository.tested",
        "repository.tested",
    ]


@pytest.mark.parametrize(
    ("said", "field", "why"),
    [
        ({"address": "ext::sh"}, "address", "transport::address"),
        ({"address": "/etc"}, "address", "not allowed for this owner"),
        ({"name": "input.a"}, "name", "Use letters"),
        ({"default_branch": "-f"}, "default_branch", "not a valid name for a branch"),
        ({"credential": "NOT_THERE"}, "credential", "has no secret NOT_THERE"),
        ({"pushing": "all"}, "pushing", "Choose one"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    world: World, origin: RemoteRepository, said: dict[str, str], field: str, why: str
) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        repositories.connect_repository(
            world.project,
            RepositorySettings(**{"address": str(origin.path), **said}),
            by=world.admin,
            now=timezone.now(),
        )
    assert refused.value.path == field


def test_one_repository_is_connected_once(world: World, origin: RemoteRepository) -> None:
    said = RepositorySettings(str(origin.path))
    repositories.connect_repository(world.project, said, by=world.admin, now=timezone.now())
    with pytest.raises(Invalid, match="connected already, as app"):
        repositories.connect_repository(
            world.project, RepositorySettings(str(origin.path), "again"), by=world.admin, now=timezone.now()
        )


def test_a_test_says_what_fails_and_why(world: World, origin: RemoteRepository, tmp_path: Path) -> None:
    def tested(**said: str) -> list[tuple[str, bool | None, str]]:
        Repository.objects.filter(project=world.project).delete()
        made = repositories.connect_repository(
            world.project,
            RepositorySettings(**{"address": str(origin.path), **said}),
            by=world.admin,
            now=timezone.now(),
        )
        return [
            (each["check"], each["ok"], each["said"])
            for each in repositories.test_connection(made, by=world.admin, now=timezone.now())
        ]

    assert tested(name="a", default_branch="next")[1] == (
        "branch",
        False,
        "There is no branch next. The repository has: main.",
    )
    assert [check for check, _ok, _said in tested(name="b", pushing="nobody")] == [
        "reach",
        "branch",
        "files",
    ]
    empty = tmp_path / "empty"
    empty.mkdir()
    allow(world.project.owner, empty)
    assert tested(name="c", address=str(empty)) == [
        ("reach", False, "The folder is not a git repository."),
        ("branch", None, ""),
        ("push", None, ""),
        ("files", None, ""),
    ]
    # No private address unless it is listed.
    private = tested(name="d", address="https://localhost:1/app.git")
    assert private[0][1] is False and "private address" in private[0][2]


def test_a_test_keeps_whatever_the_remote_says(
    world: World, origin: RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = os.fsencode(origin.path / "refs/heads/main")
    os.rename(main, os.path.dirname(main) + b"/m\xff")
    said = RepositorySettings(str(origin.path), default_branch="next")
    made = repositories.connect_repository(world.project, said, by=world.admin, now=timezone.now())
    assert repositories.test_connection(made, by=world.admin, now=timezone.now())[1]["said"] == (
        "There is no branch next. The repository has: m\\udcff."
    )

    def fails(remote: Remote) -> References:
        raise GitRefused(remote.describe_error(OSError("no\0thing \udcff")))

    monkeypatch.setattr(Remote, "read_references", fails)
    assert repositories.test_connection(made, by=world.admin, now=timezone.now())[0]["said"] == (
        "The repository could not be reached: no\\x00thing \\udcff"
    )
    made.refresh_from_db()
    assert made.tested is not None and made.tested[0]["ok"] is False


def test_what_reaches_out_takes_its_turn(
    signed_in: As, world: World, origin: RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(world.admin)
    connect(client, world, address=str(origin.path))
    made = Repository.objects.get()

    @contextmanager
    def none_left(who: object, *, saves: bool) -> Iterator[None]:
        raise TurnRefused("", 5)
        yield

    monkeypatch.setattr(shell, "taking_turn", none_left)
    place = f"/p/acme/{world.project.key}/settings/repositories/"
    said = {"address": str(origin.path), "name": "other", "pushing": "execute"}
    for path in (place, f"{place}{made.pk}/", f"{place}{made.pk}/test/"):
        assert client.post(path, said).status_code == 429, path
    assert client.get(place).status_code == client.get(f"{place}{made.pk}/").status_code == 200
    assert [each.name for each in Repository.objects.all()] == ["app"]


def test_the_api_connects_changes_tests_and_disconnects(
    client: Client, world: World, origin: RemoteRepository
) -> None:
    _token, key = world.token_of(world.admin, "read", "design", "settings")
    bearer = {"authorization": f"Bearer {key}"}
    place = f"/api/owners/acme/projects/{world.project.key}/repositories"
    store.create_or_replace_value(
        store.ValuePlace(world.project),
        "DEPLOY",
        "a-long-secret",
        kind="secret",
        by=world.admin,
        now=timezone.now(),
    )

    def call(method: str, path: str, body: Any = None) -> Any:
        return client.generic(
            method, path, json.dumps(body or {}), content_type="application/json", headers=bearer
        )

    assert call("PUT", f"{place}/app", {"address": str(origin.path)}).status_code == 200
    changed = call("PUT", f"{place}/app", {"address": str(origin.path), "credential": "DEPLOY"})
    assert changed.json()["credential"] == "DEPLOY"
    assert [each["ok"] for each in call("POST", f"{place}/app/test").json()] == [True] * 4
    assert StoredValue.objects.get().last_used_at is not None
    act = AdministrativeAct.objects.get(kind="repository.tested")
    assert act.data["credential"] == "DEPLOY" and "a-long-secret" not in json.dumps(act.data)
    assert client.get(place, headers=bearer).json()[0]["tested"][1]["said"] == "main"
    refused = call("PUT", f"{place}/other", {"address": "http://host/x"})
    assert refused.status_code == 400 and "Use https or ssh" in refused.content.decode()
    assert call("DELETE", f"{place}/app").status_code == 204
    assert call("POST", f"{place}/app/test").status_code == 404


def test_a_line_is_published_where_its_repository_is_connected(
    world: World, origin: RemoteRepository
) -> None:
    def line(key: str, **more: Any) -> Any:
        deliver = station("merge", kind="deliver", work={"gate": "review"})
        said = document(
            [{**station("fix"), "rules": [{"id": "on", "to": "merge", "gates": ["review"]}]}, deliver],
            key=key,
            gates=[{"key": "review", "mode": "manual"}],
            workspace={"git": {"repository": "app"}},
            **more,
        )
        return publishing.create_line(world.project, key, key, said, world.designer)

    first = line("one")
    with pytest.raises(publishing.PublishRefused, match="has no repository “app”"):
        publishing.publish_draft(first, user=world.admin, based_on=1)
    made = Repository.objects.create(
        project=world.project,
        name="app",
        address=str(origin.path),
        connected_at=timezone.now(),
        pushing="nobody",
    )
    with pytest.raises(publishing.PublishRefused, match="no line may push to app"):
        publishing.publish_draft(first, user=world.admin, based_on=1)
    made.pushing = "admin"
    made.save()
    with pytest.raises(publishing.Forbidden, match="pushes to a repository"):
        publishing.publish_draft(first, user=world.designer, based_on=1)
    assert publishing.publish_draft(first, user=world.admin, based_on=1).number == 1
