"""Folders of the server as repositories: nothing of the state, the workspaces or another owner gets in, whichever way
it is named; an administrator of the installation allows a folder in place (issue: one tenant read another's)."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from pipelines import engine
from pipelines.errors import InputError
from pipelines.models import (
    AdministrativeAct,
    AllowedFolder,
    Job,
    LogChunk,
    Membership,
    Project,
    Repository,
    Role,
    Task,
    User,
)
from tests.factories import World, document, make_member, make_project, station
from tests.pages.conftest import As, at, client_of, text
from tests.waiting import LONG, until
from tests.work.driving import Bench, command, drive
from tests.work.remotes import RemoteRepository, allow, connect, remote

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.no_folders]


@dataclass
class Place:
    """The installation's folders, a repository of another owner in each, and a folder for what leads there."""

    state: Path
    workspaces: Path
    outside: Path
    mounted: list[Path]

    @property
    def basket(self) -> Path:
        return self.state / "repositories" / "basket.git"

    @property
    def mirror(self) -> Path:
        name = hashlib.sha256(b"https://git.example/other.git").hexdigest()[:32]
        return self.workspaces / ".mirrors" / f"{name}.git"

    def bare(self, name: str = "own.git") -> Path:
        return remote(self.outside / name, {"b": b"1"}).path

    def linked(self, part: str) -> Path:
        own = self.bare()
        subprocess.run(["mv", own / part, own / f"{part}.before"], check=True)
        (own / part).symlink_to(self.basket / part)
        return own

    def bound_part(self, part: str) -> Path:
        own = self.bare()
        self.bind(self.basket / part, own / part)
        return own

    def bound(self, source: Path) -> Path:
        target = self.outside / "bound"
        target.mkdir()
        self.bind(source, target)
        return target

    def bind(self, source: Path, target: Path) -> None:
        if subprocess.run(["mount", "--bind", source, target], capture_output=True).returncode:
            pytest.skip("this user may not mount")
        self.mounted.append(target)


def link(place: Place, target: Path) -> Path:
    (place.outside / "link").symlink_to(target)
    return place.outside / "link"


def linked_besides(place: Place, part: str) -> Path:
    """A bare repository with a link where git finds more than it needs."""
    own = place.bare()
    (own / part).parent.mkdir(parents=True, exist_ok=True)
    (own / part).symlink_to(place.basket / part)
    return own


def chained(place: Place) -> Path:
    """Alternates inside of the folder, whose own alternates lead out of it."""
    own = place.bare()
    inner = own / "more" / "objects"
    (inner / "info").mkdir(parents=True)
    (inner / "info" / "alternates").write_text(f"{place.basket}/objects\n")
    (own / "objects" / "info").mkdir(exist_ok=True)
    (own / "objects" / "info" / "alternates").write_text("../more/objects\n")
    return own


def written(place: Place, name: str, content: str) -> Path:
    """A working copy, or a bare repository, with one file that leads elsewhere."""
    own = place.bare() if not name.startswith(".git") else place.outside / "copy"
    (own / name).parent.mkdir(parents=True, exist_ok=True)
    (own / name).write_text(content)
    return own


WAYS: dict[str, Callable[[Place], Path]] = {
    "path": lambda place: place.basket,
    "state itself": lambda place: place.state,
    "mirror by hash": lambda place: place.mirror,
    "link": lambda place: link(place, place.basket),
    "link above": lambda place: link(place, place.state) / "repositories" / "basket.git",
    "link to a mirror": lambda place: link(place, place.mirror),
    "dots": lambda place: place.outside / ".." / "state" / "repositories" / "basket.git",
    "bind": lambda place: place.bound(place.basket),
    "bind of a folder above": lambda place: place.bound(place.state) / "repositories" / "basket.git",
    "bind of the workspaces": lambda place: place.bound(place.workspaces) / ".mirrors" / place.mirror.name,
    ".git file": lambda place: written(place, ".git", f"gitdir: {place.basket}\n"),
    ".git file with dots": lambda place: written(
        place, ".git", "gitdir: ../../state/repositories/basket.git\n"
    ),
    "commondir": lambda place: written(place, "commondir", f"{place.basket}\n"),
    "alternates": lambda place: written(place, "objects/info/alternates", f"{place.basket}/objects\n"),
    "alternates with dots": lambda place: written(
        place, "objects/info/alternates", "../../../state/repositories/basket.git/objects\n"
    ),
    "linked objects": lambda place: place.linked("objects"),
    "linked refs": lambda place: place.linked("refs"),
    "linked HEAD": lambda place: place.linked("HEAD"),
    "linked logs": lambda place: linked_besides(place, "logs"),
    "linked reftable": lambda place: linked_besides(place, "reftable"),
    "link in the objects": lambda place: linked_besides(place, "objects/pack/pack-1.pack"),
    "bind of the objects": lambda place: place.bound_part("objects"),
    "bind of a file": lambda place: place.bound_part("HEAD"),
    "alternates of alternates": lambda place: chained(place),
    "alternates behind a megabyte": lambda place: written(
        place, "objects/info/alternates", "#" * (1 << 20) + f"\n{place.basket}/objects\n"
    ),
    "commondir with a line break": lambda place: written(
        place, "commondir", f"no\n/../../../../{place.basket}\n"
    ),
    "worktree of the state": lambda place: written(place, ".git", f"gitdir: {place.basket}/worktrees/copy\n"),
    "settings included in one line": lambda place: written(
        place, "config", f"[include] path = {place.basket}/config\n"
    ),
    "included settings": lambda place: written(
        place, "config", f"[include]\n\tpath = {place.basket}/config\n"
    ),
}
every_way = pytest.mark.parametrize("way", WAYS)
some_ways = pytest.mark.smoke(5)
"""Of the doors that look at a folder as the first one does."""


@pytest.fixture
def place(tmp_path: Path, settings: Any) -> Iterator[Place]:
    made = Place(tmp_path / "state", tmp_path / "workspaces", tmp_path / "outside", [])
    settings.DATA_DIR, settings.WORKSPACES_DIR = made.state, made.workspaces
    settings.REPOSITORY_ROOTS = None
    made.outside.mkdir()
    for path in (made.basket, made.mirror):
        path.parent.mkdir(parents=True)
        remote(path, {"secret": b"of another owner"})
    yield made
    for target in made.mounted:
        subprocess.run(["umount", "-l", target], check=True)


@pytest.fixture
def signed_in() -> As:
    return client_of


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "workspaces")


@pytest.fixture
def administrator(world: World) -> User:
    user = make_member(world.project, Role.ADMIN, "root", execute=True)
    user.is_staff = user.is_superuser = True
    user.save()
    return user


def put(world: World, user: User, name: str, **body: Any) -> Any:
    secret = world.token_of(user, "read", "design", "settings")[1]
    return Client(headers={"Authorization": f"Bearer {secret}"}).put(
        f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/repositories/{name}",
        json.dumps(body),
        "application/json",
    )


def post(world: World, user: User, path: str, **body: Any) -> int:
    secret = world.token_of(user, "read", "design", "submit", "settings")[1]
    answer = Client(headers={"Authorization": f"Bearer {secret}"}).post(
        f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}{path}",
        json.dumps(body),
        "application/json",
    )
    return answer.status_code


def nothing_recorded() -> bool:
    return not (
        AllowedFolder.objects.exists()
        or Repository.objects.exists()
        or AdministrativeAct.objects.filter(kind__startswith="folder").exists()
    )


@pytest.mark.smoke(15)
@every_way
def test_nobody_connects_a_way_into_the_state_or_the_workspaces(
    way: str, place: Place, world: World, administrator: User, signed_in: As
) -> None:
    """Over the API and on the page: not an administrator of the installation either."""
    folder = str(WAYS[way](place))
    for user, status in ((world.admin, 403), (administrator, 400)):
        answer = put(world, user, "x", address=folder, allow=True)
        assert answer.status_code == status, answer.content
        answer = put(world, user, "x", address=folder)
        assert answer.status_code == 400, answer.content
        fields = {"address": folder, "pushing": "execute", "allow": os.path.realpath(folder)}
        answer = signed_in(user).post(at(world, "project-repositories"), fields)
        assert answer.status_code in (403, 422), answer.content
        assert nothing_recorded()
    assert str(place.basket) not in put(world, world.admin, "x", address=folder).content.decode() or (
        folder == str(place.basket)
    )


@some_ways
@every_way
def test_nobody_starts_or_imports_a_way_into_the_state(
    way: str, place: Place, world: World, administrator: User
) -> None:
    folder = str(WAYS[way](place))
    source = {"key": "source", "type": "repository"}
    asking = world.line(document(["build"], inputs=[source]))
    with pytest.raises(InputError) as refused:
        engine.submit(
            asking, actor=engine.Actor.person(administrator), title="Read", inputs={"source": folder}
        )
    assert str(place.state) not in str(refused.value.problems[0].message)
    for user in (world.admin, administrator):
        fields = {"title": "Read", "inputs.source": folder}
        answer = client_of(user).post(at(world, "task-new", asking.line.key), fields)
        assert answer.status_code == 422, answer.content
    usual = document(["build"], key=f"usual{world.project.pk}", inputs=[{**source, "default": folder}])
    assert post(world, administrator, "/import", files={"line.json": json.dumps(usual)}, save=True) == 201
    line = f"/lines/{usual['key']}"
    assert post(world, administrator, f"{line}/publish", draft=1) == 201
    for inputs in ({}, {"source": folder}):
        assert post(world, administrator, f"/stages/{usual['key']}/tasks", title="Read", inputs=inputs) == 400
    assert not Task.objects.filter(line__project=world.project).exists()


@some_ways
@every_way
def test_a_worker_takes_nothing_from_a_way_into_the_state(
    way: str, place: Place, world: World, bench: Bench
) -> None:
    """Whatever the database says is allowed: it is looked at again where it is used."""
    folder = WAYS[way](place)
    allow(world.project.owner, folder)
    connect(world.project, RemoteRepository(folder))
    line = world.line(
        document(
            [command("read", "import os; print(os.listdir('.'))"), station("last")],
            workspace={"git": {"repository": "app"}},
        )
    )
    task = world.start(line)
    drive(bench, task, protected=(str(place.state), str(place.workspaces)))
    assert not Job.objects.filter(task=task, outcome__result="success").exists()
    assert not Job.objects.filter(task=task, station="last").exists()
    outcome = json.dumps(Job.objects.get(task=task, station="read").outcome)
    log = "".join(zlib.decompress(chunk.data).decode() for chunk in LogChunk.objects.filter(job__task=task))
    for shown in (outcome, log):
        assert str(place.state) not in shown and str(place.outside) not in shown
    assert "[gateline]" in log


def test_what_one_owner_is_allowed_no_other_is(place: Place, world: World) -> None:
    own = place.bare()
    allow(world.project.owner, own)
    other = World(make_project("theirs", "other"), world.worker)
    assert put(world, world.admin, "own", address=str(own)).status_code == 200
    refused = put(other, other.admin, "own", address=str(own))
    assert refused.status_code == 400, refused.content
    line = other.line(document(["build"], inputs=[{"key": "source", "type": "repository"}]))
    with pytest.raises(InputError):
        engine.submit(line, actor=engine.Actor.person(other.admin), title="x", inputs={"source": str(own)})
    assert not Repository.objects.filter(project=other.project).exists()


def test_an_administrator_allows_a_folder_on_the_page(
    place: Place, world: World, administrator: User, signed_in: As
) -> None:
    own = str(place.bare())
    client, page = signed_in(administrator), at(world, "project-repositories")
    asked = client.post(page, {"address": own, "pushing": "execute"})
    assert asked.status_code == 422 and "Allow this folder for owner Acme?" in text(asked)
    assert nothing_recorded()
    client.post(page, {"address": own, "pushing": "execute", "allow": own})
    row = AllowedFolder.objects.get()
    assert (row.owner, row.path, row.allowed_by) == (world.project.owner, own, administrator)
    act = AdministrativeAct.objects.get(kind="folder.allowed")
    assert act.name == own
    shown = text(signed_in(world.admin).get(page))
    assert "own" in shown and own not in shown, "members read its name"


@pytest.mark.git
def test_what_hinders_a_folder_is_said_with_the_question_and_not_after_it(
    place: Place, world: World, administrator: User, signed_in: As
) -> None:
    clone, page = place.outside / "clone", at(world, "project-repositories")
    subprocess.run(["git", "clone", "-q", place.bare(), clone], check=True)
    client, typed = signed_in(administrator), {"address": str(clone), "pushing": "execute"}
    asked = text(client.post(page, typed))
    assert "Allow this folder for owner Acme?" in asked
    assert "Before you go on: main is checked out in that folder" in asked
    assert "Before you go on" not in text(client.post(page, {**typed, "pushing": "nobody"}))
    unknown = text(client.post(page, {**typed, "default_branch": "nowhere"}))
    assert "There is no branch nowhere." in unknown and "Allow this folder" not in unknown
    plain = place.outside / "plain"
    plain.mkdir()
    refused = text(client.post(page, {**typed, "address": str(plain)}))
    assert "The folder is not a git repository." in refused and "Allow this folder" not in refused
    assert nothing_recorded()
    refused = text(signed_in(world.admin).post(page, {**typed, "address": str(plain)}))
    assert "not allowed for this owner" in refused and "git repository" not in refused, "nobody else looks"


def test_only_an_administrator_of_the_installation_allows(place: Place, world: World) -> None:
    Membership.objects.filter(user=world.admin).update(execute=True)
    answer = put(world, world.admin, "own", address=str(place.bare()), allow=True)
    assert answer.status_code == 403 and nothing_recorded()


def test_the_variable_of_operators_is_an_upper_bound(
    place: Place, world: World, administrator: User, settings: Any
) -> None:
    """Folders outside are refused to administrators, too; those inside have to be allowed as well."""
    own = str(place.bare())
    settings.REPOSITORY_ROOTS = [place.outside / "other"]
    assert put(world, administrator, "own", address=own, allow=True).status_code == 400
    settings.REPOSITORY_ROOTS = [place.outside]
    assert put(world, world.admin, "own", address=own).status_code == 400
    assert nothing_recorded()
    assert put(world, administrator, "own", address=own, allow=True).status_code == 200


def test_a_folder_that_became_another_one_is_refused(place: Place, world: World, administrator: User) -> None:
    own = place.bare()
    assert put(world, administrator, "own", address=str(own), allow=True).status_code == 200
    own.rename(place.outside / "moved")
    own.symlink_to(place.basket)
    line = world.line(document(["build"], inputs=[{"key": "source", "type": "repository"}]))
    with pytest.raises(InputError):
        engine.submit(line, actor=engine.Actor.person(world.admin), title="x", inputs={"source": "own"})


def test_a_folder_that_was_cloned_anew_at_its_path_is_asked_about_and_allowed_again(
    place: Place, world: World, administrator: User, signed_in: As
) -> None:
    own = place.bare()
    assert put(world, administrator, "own", address=str(own), allow=True).status_code == 200
    own.rename(place.outside / "before")
    place.bare()
    client, made = signed_in(administrator), Repository.objects.get()
    page, typed = at(world, "project-repository", made.pk), {"address": str(own), "pushing": "execute"}
    asked = client.post(page, {**typed, "name": "own"})
    assert asked.status_code == 422 and "Allow this folder for owner Acme?" in text(asked)
    assert client.post(page, {**typed, "name": "own", "allow": str(own)}).status_code == 302
    assert AllowedFolder.objects.get().inode == own.stat().st_ino
    made.refresh_from_db()
    assert made.tested is not None and all(check["ok"] is not False for check in made.tested)


@pytest.mark.wide
@pytest.mark.usefixtures("worker")
def test_a_task_works_in_a_folder_that_was_allowed_in_place(
    world: World, administrator: User, site: Any, tmp_path: Path
) -> None:
    """Through the web process and the worker that run already."""
    own = remote(tmp_path / "own.git", {"a.txt": b"1"})
    secret = world.token_of(administrator, "read", "design", "submit", "settings")[1]
    base = f"{site.url}/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}"
    request = urllib.request.Request(
        f"{base}/repositories/own",
        json.dumps({"address": str(own.path), "allow": True}).encode(),
        {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=LONG) as answer:
        assert json.load(answer)["address"] == str(own.path)
    line = world.line(
        document(
            [command("read", "print(open('a.txt').read())")],
            inputs=[{"key": "source", "type": "repository"}],
            workspace={"git": {"repository": "input.source"}},
        )
    )
    task = engine.submit(
        line, actor=engine.Actor.person(world.admin), title="Read", inputs={"source": str(own.path)}
    )
    until(
        lambda: world.status(task) in ("completed", "failed"), lambda: (tmp_path / "worker.log").read_text()
    )
    task.refresh_from_db()
    assert world.status(task) == "completed"
    assert task.inputs["source"] == "own", "a task names a repository, no path"


def test_the_prepared_repository_is_of_the_owner_demo_alone(
    place: Place, world: World, administrator: User
) -> None:
    call_command("load_demo", verbosity=0)
    assert list(AllowedFolder.objects.values_list("owner__key", "path")) == [("demo", str(place.basket))]
    assert Project.objects.get(owner__key="demo").repositories.get().address == str(place.basket)
    assert put(world, administrator, "basket", address=str(place.basket), allow=True).status_code == 400
