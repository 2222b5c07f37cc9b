"""What would hinder a line later is told when a repository is connected, each trouble in its own words with its remedy:
folders and a server of real git, on the page, in setup and over the API."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.models import Membership, Repository
from pipelines.ports.vault import store
from tests.factories import World, make_project
from tests.pages.conftest import As, at, text
from tests.people.connecting import bare, checks_of, commit, git, of, source
from tests.work.remotes import allow

__all__ = ["source"]
pytestmark = [pytest.mark.django_db, pytest.mark.git]
SERVER = """#!/bin/sh
# An ssh server: the command is the last word.
for word; do :; done
exec sh -c "$word"
"""


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
    git(
        source,
        "config",
        "-f",
        ".gitmodules",
        "submodule.library.url",
        "https://token@git.example/library.git",
    )
    commit(source)
    other.rename(other.with_name("other.git"))
    return bare(source)


def no_utf8(source: Path) -> Path:
    Path(os.fsdecode(os.fsencode(source) + b"/caf\xe9.txt")).write_text("1")
    commit(source)
    return bare(source)


def several(source: Path) -> Path:
    no_utf8(source).rename(source.parent / "first.git")
    return submodule(source)


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
        "run git clone --bare source source-bare.git and connect source-bare.git in its place;",
    ),
    "worktree": (
        in_a_worktree,
        "push",
        False,
        "main is checked out in that folder: a merge would change it below whoever works there.",
    ),
    "submodule": (
        submodule,
        "files",
        False,
        "Submodule library: Keep the user and the token out of an https address.",
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
    place, now = store.ValuePlace(world.project), timezone.now()
    store.create_or_replace_value(
        place, "DEPLOY", "a-key-of-the-test", kind="secret", by=world.admin, now=now
    )
    return "ssh://git@localhost"


@pytest.mark.smoke(5)
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


@pytest.mark.smoke(2)
@pytest.mark.parametrize("trouble", OF_A_SERVER)
def test_the_api_tells_the_trouble_of_a_server(
    client: Client, world: World, source: Path, server: str, trouble: str
) -> None:
    make, name, goes_on, words = TROUBLES[trouble]
    checks = checks_of(client, world, f"{server}{make(source)}")
    check = of(checks, name)
    assert check["ok"] is goes_on and words in (check["warning"] if goes_on else check["said"])


def test_troubles_of_one_repository_are_told_together(
    client: Client, world: World, source: Path, server: str
) -> None:
    fact = of(checks_of(client, world, f"{server}{several(source)}"), "files")["said"]
    assert "is not a name in UTF-8" in fact and "Submodule library: " in fact


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
    signed_in: As, client: Client, world: World, source: Path
) -> None:
    for folder in (source, bare(source)):
        allow(world.project.owner, folder)
    assert of(checks_of(client, world, str(source)), "push")["ok"] is False
    git(source, "checkout", "-q", "-b", "mine")
    made = Repository.objects.get(address=str(source))
    signed_in(world.admin).post(at(world, "project-repository-test", made.pk))
    made.refresh_from_db()
    failed = [check for check in made.tested or () if not check["ok"]]
    assert not failed, "it does not turn to the branch that is checked out now"
    assert made.default_branch == "main"
    assert all(check["ok"] for check in checks_of(client, world, str(source.parent / "app.git")))


def test_a_clone_in_which_somebody_works_starts_from_the_branch_it_was_cloned_for(
    client: Client, world: World, source: Path
) -> None:
    """Whoever had a branch of their own checked out was told that tasks start from that one."""
    clone = source.parent / "clone"
    git(source, "clone", "-q", str(source), str(clone))
    git(clone, "checkout", "-q", "-b", "mine")
    allow(world.project.owner, clone)
    assert of(checks_of(client, world, str(clone)), "branch")["said"] == "main"
    assert all(check["ok"] for check in Repository.objects.get().tested or ())


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
    assert "main is checked out in that folder" in stays and "Test connection" in stays
    goes = text(
        client.post(
            at(world, "project-setup"), {**said, "address": str(source.parent / "app.git")}, follow=True
        )
    )
    assert "Choose an agent" in goes and "A branch is called gateline" in goes


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
