"""What would hinder a line later is told when a repository is connected, each trouble in its own words with its remedy:
folders and a server of real git, on the page, in setup and over the API."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.models import Membership, Repository, Worker
from pipelines.ports.vault import store
from tests.factories import World, make_project
from tests.pages.conftest import As, at, text
from tests.work.remotes import allow

pytestmark = pytest.mark.django_db
SERVER = """#!/bin/sh
# An ssh server: the command is the last word.
for word; do :; done
exec sh -c "$word"
"""


def git(folder: Path, *words: str) -> str:
    who = (
        "-c",
        "user.name=Somebody",
        "-c",
        "user.email=somebody@example.com",
        "-c",
        "protocol.file.allow=always",
    )
    done = subprocess.run(
        ["git", *who, *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": "/"},
    )
    return done.stdout.strip()


def commit(folder: Path, message: str = "Change it") -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder as somebody has it, with main checked out and three commits."""
    folder = tmp_path / "source"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in ("one", "two", "three"):
        (folder / "a.txt").write_text(number)
        commit(folder, number)
    return folder


def bare(source: Path, *words: str) -> Path:
    made = source.parent / "app.git"
    git(source.parent, "clone", "-q", "--bare", *words, f"file://{source}", str(made))
    return made


def empty(source: Path) -> Path:
    made = source.parent / "app.git"
    git(source.parent, "init", "-q", "--bare", str(made))
    return made


def no_default(source: Path) -> Path:
    git(source, "checkout", "-q", "--detach")
    return source


def shallow(source: Path) -> Path:
    return bare(source, "--depth", "1")


def partial(source: Path) -> Path:
    git(source, "config", "uploadpack.allowFilter", "true")
    return bare(source, "--filter=blob:none")


def promised(source: Path) -> Path:
    """Complete, though the mark of a partial clone stays with its pack, as a clone from a mirror has it."""
    made = bare(source)
    pack = next(made.glob("objects/pack/*.pack"))
    pack.with_suffix(".promisor").touch()
    return made


def missing(source: Path) -> Path:
    """A file of the last commit is gone."""
    number = git(source, "rev-parse", "main:a.txt")
    place = source / ".git" / "objects" / number[:2] / number[2:]
    place.chmod(0o600)
    place.unlink()
    git(source, "checkout", "-q", "--orphan", "other")
    git(source, "config", "core.bare", "true")
    git(source, "symbolic-ref", "HEAD", "refs/heads/main")
    return source


def sha256(source: Path) -> Path:
    folder = source.parent / "long"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    (folder / "a.txt").write_text("one")
    commit(folder)
    return folder


def checked_out(source: Path) -> Path:
    return source


def in_a_worktree(source: Path) -> Path:
    made = bare(source)
    git(made, "worktree", "add", "-q", str(source.parent / "beside"), "main")
    return made


def submodule(source: Path) -> Path:
    other = bare(source)
    git(source, "submodule", "add", "-q", f"file://{other}", "library")
    commit(source)
    other.rename(other.with_name("other.git"))
    return bare(source)


def lfs(source: Path) -> Path:
    (source / "deep").mkdir()
    (source / "deep" / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    commit(source)
    return bare(source)


def no_utf8(source: Path) -> Path:
    Path(os.fsdecode(os.fsencode(source) + b"/caf\xe9.txt")).write_text("1")
    commit(source)
    return bare(source)


def several(source: Path) -> Path:
    no_utf8(source).rename(source.parent / "first.git")
    return lfs(source)


def like_our_prefix(source: Path) -> Path:
    git(source, "branch", "gateline")
    return bare(source)


TROUBLES: dict[str, tuple[Callable[[Path], Path], str, bool, str]] = {
    "empty": (empty, "branch", False, "The repository is empty. Push a first commit to it."),
    "no default branch": (no_default, "branch", False, "does not say which branch is its default. Name one."),
    "shallow": (
        shallow,
        "files",
        False,
        "is a shallow clone: it lacks its history. Run git fetch --unshallow",
    ),
    "partial": (
        partial,
        "files",
        False,
        "is a partial clone: it lacks objects until they are needed. Connect a",
    ),
    "missing": (missing, "files", False, "it is damaged, or no complete clone. Connect a complete one."),
    "sha256": (sha256, "branch", False, "names its objects by SHA-256, which is not taken. Connect one"),
    "checked out": (
        checked_out,
        "push",
        False,
        "run git clone --bare source source-bare.git and connect what it makes.",
    ),
    "worktree": (
        in_a_worktree,
        "push",
        False,
        "main is checked out in that folder, so nothing can be merged into it.",
    ),
    "submodule": (
        submodule,
        "files",
        False,
        "library is a submodule, and submodules are not fetched. Take it out",
    ),
    "LFS": (
        lfs,
        "files",
        False,
        "deep/.gitattributes belongs to Git LFS, and large files of LFS are not fetched. Keep",
    ),
    "no UTF-8": (no_utf8, "files", False, "is not a name in UTF-8. Rename the file."),
    "prefix": (like_our_prefix, "push", True, "A branch is called gateline: git takes none below that name"),
}
"""{trouble: (how it comes about, the check that tells it, whether work goes on all the same, its words)}"""
OF_A_SERVER = sorted(
    TROUBLES.keys() - {"partial", "missing", "checked out", "worktree", "sha256", "no default branch"}
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: World, settings: Any) -> str:
    """The first part of addresses at which git serves folders of this machine, as by ssh."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(SERVER)
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    settings.PRIVATE_HOSTS = ["localhost"]
    place, now = store.Place(world.project), timezone.now()
    store.put(place, "DEPLOY", "a-key-of-the-test", kind="secret", by=world.admin, now=now)
    return "ssh://git@localhost"


def of(checks: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(check for check in checks if check["check"] == name)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_page_tells_the_trouble_of_a_folder_when_it_is_connected(
    signed_in: As, world: World, source: Path, trouble: str
) -> None:
    make, name, goes_on, words = TROUBLES[trouble]
    folder = make(source)
    allow(world.project.owner, folder)
    client = signed_in(world.admin)
    answer = client.post(
        at(world, "project-repositories"), {"pushing": "execute", "address": str(folder)}, follow=True
    )
    assert words in text(answer)
    checks = Repository.objects.get().tested
    assert checks is not None
    check = of(checks, name)
    assert check["ok"] is goes_on and words in (check["warning"] if goes_on else check["said"])
    assert check["seconds"] < 10 and str(folder) not in json.dumps(checks)
    assert ('class="checks-fact tone-attention"' in text(answer)) is goes_on


@pytest.mark.parametrize("trouble", OF_A_SERVER)
def test_the_api_tells_the_trouble_of_a_server(
    client: Client, world: World, source: Path, server: str, trouble: str
) -> None:
    make, name, goes_on, words = TROUBLES[trouble]
    checks = checks_of(client, world, f"{server}{make(source)}")
    check = of(checks, name)
    assert check["ok"] is goes_on and words in (check["warning"] if goes_on else check["said"])


def checks_of(client: Client, world: World, address: str, **more: str) -> list[dict[str, Any]]:
    _token, key = world.token_of(world.admin, "read", "design", "settings")
    place = f"/api/owners/acme/projects/{world.project.key}/repositories/app"
    more = {"credential": "DEPLOY"} if address.startswith("ssh") else more

    def call(method: str, path: str, body: Any = None) -> Any:
        answer = client.generic(
            method,
            path,
            json.dumps(body or {}),
            content_type="application/json",
            headers={"authorization": f"Bearer {key}"},
        )
        assert answer.status_code == 200, answer.content
        return answer.json()

    call("PUT", place, {"address": address, **more})
    checks: list[dict[str, Any]] = call("POST", f"{place}/test")
    return checks


def test_troubles_of_one_repository_are_told_together(
    client: Client, world: World, source: Path, server: str
) -> None:
    fact = of(checks_of(client, world, f"{server}{several(source)}"), "files")["said"]
    assert "is not a name in UTF-8" in fact and "belongs to Git LFS" in fact


def test_a_complete_repository_is_told_with_its_facts(
    client: Client, world: World, source: Path, server: str
) -> None:
    checks = checks_of(client, world, f"{server}{bare(source)}")
    facts = [(check["check"], check["ok"], check["said"], check["warning"]) for check in checks]
    assert facts == [
        ("reach", True, "1", ""),
        ("branch", True, "main", ""),
        ("push", True, "", ""),
        ("files", True, "1", ""),
    ]


def test_a_complete_clone_with_the_mark_of_a_partial_one_is_taken(
    client: Client, world: World, source: Path
) -> None:
    git(source, "tag", "-a", "-m", "First", "v1")
    folder = promised(source)
    allow(world.project.owner, folder)
    assert of(checks_of(client, world, str(folder)), "files")["ok"] is True


def test_both_remedies_for_a_branch_that_is_checked_out_help(
    client: Client, world: World, source: Path
) -> None:
    for folder in (source, bare(source)):
        allow(world.project.owner, folder)
    assert of(checks_of(client, world, str(source)), "push")["ok"] is False
    git(source, "checkout", "-q", "-b", "mine")
    assert all(check["ok"] for check in checks_of(client, world, str(source), default_branch="main"))
    assert all(check["ok"] for check in checks_of(client, world, str(source.parent / "app.git")))


def test_a_repository_that_is_only_read_may_be_checked_out(
    client: Client, world: World, source: Path
) -> None:
    allow(world.project.owner, source)
    assert all(check["ok"] for check in checks_of(client, world, str(source), pushing="nobody"))


def test_setup_goes_on_with_a_warning_and_not_with_a_failure(
    signed_in: As, world: World, source: Path
) -> None:
    client = signed_in(world.admin)
    for folder in (source, like_our_prefix(source)):
        allow(world.project.owner, folder)
    said = {"do": "connect", "step": "repository", "pushing": "execute"}
    stays = text(client.post(at(world, "project-setup"), {**said, "address": str(source)}, follow=True))
    assert "main is checked out in that folder" in stays and "Check again" in stays
    goes = text(
        client.post(
            at(world, "project-setup"), {**said, "address": str(source.parent / "app.git")}, follow=True
        )
    )
    assert "Choose an agent" in goes and "A branch is called gateline" in goes


def runner(world: World, name: str, programs: Any, **more: Any) -> Worker:
    return Worker.objects.create(
        name=name,
        host="here",
        pid=1,
        isolation="bubblewrap",
        started_at=timezone.now(),
        seen_at=timezone.now(),
        programs=programs,
        **more,
    )


def test_programs_of_the_proposed_commands_are_looked_for_on_the_runners_of_the_owner(
    client: Client, world: World, source: Path
) -> None:
    (source / "package.json").write_text('{"scripts": {"test": "node --test", "lint": "eslint ."}}')
    commit(source)
    folder = bare(source)
    allow(world.project.owner, folder)
    Worker.objects.all().delete()
    other = make_project("elsewhere", owner="other")
    runner(world, "theirs", ["npm"], project=other)
    runner(world, "theirs-too", ["npm"], owners=["other"])
    runner(world, "older", None)
    unknown = of(checks_of(client, world, str(folder)), "programs")
    assert (unknown["ok"], unknown["said"]) == (True, "npm")
    assert "No runner that is online says whether it has them. Start one" in unknown["warning"]
    runner(world, "one", ["python3"])
    lacks = of(checks_of(client, world, str(folder)), "programs")
    assert lacks["warning"].startswith(
        "npm is not on the path of stations on one. Install what is missing there"
    )
    assert "theirs" not in lacks["warning"]
    Worker.objects.filter(name="one").update(programs=["npm", "python3"])
    assert of(checks_of(client, world, str(folder)), "programs")["warning"] == ""
    Worker.objects.filter(name="one").update(programs=[])
    Repository.objects.update(prepare={"image": "node:22"})
    assert "programs" not in [check["check"] for check in checks_of(client, world, str(folder))]


@pytest.mark.parametrize(
    ("files", "installed", "words"),
    [
        ({"pnpm-lock.yaml": "", "package.json": '{"packageManager": "pnpm@10.14.0-0+sha512.ab"}'},
         {"pnpm": "9.15.9"}, "pnpm on one is 9.15.9, and package.json asks for 10.14.0-0. Install that version"),
        ({"go.mod": "module m\n\ngo 1.20\n"}, {"go": "1.19.8"}, "go on one is 1.19.8, and go.mod asks for >=1.20."),
        ({"pyproject.toml": '[project]\nrequires-python = ">=3.12, <4"\n'}, {"python3": "3.11.2"},
         "python3 on one is 3.11.2, and pyproject.toml asks for >=3.12,<4."),
        ({"pyproject.toml": "", ".python-version": "3.13\n"}, {"python3": "3.12.1"},
         "python3 on one is 3.12.1, and .python-version asks for ==3.13.*."),
        ({"go.mod": "go 1.20\n"}, {"go": "1.20"}, ""),
        ({"go.mod": "go 1.20\n"}, ["go"], ""),
    ],
)  # fmt: skip
def test_a_version_that_the_repository_does_not_take_is_told_with_its_remedy(
    client: Client, world: World, source: Path, files: dict[str, str], installed: Any, words: str
) -> None:
    for name, content in files.items():
        (source / name).write_text(content)
    commit(source)
    folder = bare(source)
    allow(world.project.owner, folder)
    Worker.objects.all().delete()
    if isinstance(installed, dict):
        installed = {**dict.fromkeys(("ruff", "python3"), ""), **installed}
    runner(world, "one", installed)
    warning = of(checks_of(client, world, str(folder)), "programs")["warning"]
    assert words in warning and (words or not warning)


def test_a_private_address_of_a_package_host_is_told_before_the_first_task(
    client: Client, world: World, source: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    for name, content in {"pnpm-lock.yaml": "", "package.json": "{}"}.items():
        (source / name).write_text(content)
    commit(source)
    folder = bare(source)
    allow(world.project.owner, folder)
    address = "10.1.2.3"

    def look_up(host: str, port: int, *_more: Any, **_rest: Any) -> Any:
        assert host == "registry.npmjs.org"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def told() -> dict[str, Any]:
        return of(checks_of(client, world, str(folder)), "hosts")

    unknown = told()
    assert (unknown["ok"], unknown["said"], unknown["warning"]) == (True, "registry.npmjs.org", "")
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert told()["ok"] is True and "registry.npmjs.org has a private address here." in told()["warning"]
    assert "ticks “These hosts may have private addresses”" in told()["warning"]
    address = "127.0.0.9"
    assert "lists it in GATELINE_PRIVATE_HOSTS" in told()["warning"]
    settings.PRIVATE_HOSTS = ["registry.npmjs.org"]
    assert told()["warning"] == ""
    settings.PRIVATE_HOSTS, address = [], "10.1.2.3"
    egress = {"egress": ["registry.npmjs.org"], "private": ["registry.npmjs.org"]}
    Repository.objects.update(prepare={"argv": ["pnpm", "install"], "network": egress})
    assert told()["warning"] == ""
    address = "203.0.113.80"
    assert told()["warning"] == ""
    address = "127.0.0.9"
    assert "lists it in GATELINE_PRIVATE_HOSTS" in told()["warning"], "the tick does not reach so far"


def test_python_without_any_settings_is_linted_by_the_rules_of_ruff(
    client: Client, world: World, source: Path
) -> None:
    (source / "app.py").write_text("print(1)\n")
    (source / "test_app.py").write_text("def test_it():\n    pass\n")
    (source / "tests").mkdir()
    (source / "tests" / "test_app.py").write_text("def test_it():\n    pass\n")
    commit(source)
    folder = bare(source)
    allow(world.project.owner, folder)
    checks_of(client, world, str(folder))
    proposal = Repository.objects.get().proposed
    assert proposal is not None and proposal["ecosystem"] == "Python"
    assert proposal["lint"].startswith("ruff check ") and "-m pytest" in proposal["tests"]


def test_another_owner_learns_nothing_of_it(signed_in: As, world: World, source: Path) -> None:
    folder = like_our_prefix(source)
    allow(world.project.owner, folder)
    signed_in(world.admin).post(
        at(world, "project-repositories"), {"pushing": "execute", "address": str(folder)}
    )
    made = Repository.objects.get()
    other = make_project("elsewhere", owner="other")
    Membership.objects.filter(user=world.admin).delete()
    Membership.objects.create(user=world.admin, project=other, roles=["admin"])
    client = signed_in(world.admin)
    assert (
        client.post(f"/p/acme/{world.project.key}/settings/repositories/{made.pk}/test/").status_code == 404
    )
    address = "/p/other/elsewhere/settings/repositories/"
    refused = client.post(address, {"pushing": "execute", "address": str(folder)})
    assert refused.status_code == 422 and "A branch is called" not in text(refused)
    assert client.post(f"{address}{made.pk}/test/").status_code == 404
