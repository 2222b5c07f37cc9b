"""`gateline verify --commit`: the receipt is asked of the server, and believed only as far as the key goes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines.models import Delivery, Task
from tests.cli.conftest import Gateline
from tests.factories import World, make_project
from tests.fixtures.receipts import public_key
from tests.work.remotes import remote

Cli = Callable[..., Gateline]


def delivered(world: World, commit: str, tree: str) -> Task:
    task, now = world.start(world.line()), timezone.now()
    Delivery.objects.create(
        job=world.job(task),
        task=task,
        to="push",
        repository_name="app",
        branch="main",
        commit=commit,
        tree=tree,
        cleared_at=now,
        landed_at=now,
    )
    return task


@pytest.mark.git
def test_the_commit_of_a_checkout_is_verified_by_the_receipt_of_the_server(
    cli: Cli, world: World, tmp_path: Path
) -> None:
    origin, key = remote(tmp_path / "app.git", {"a": b"1"}), public_key(tmp_path)
    tree = origin.commit(origin.head()).tree.decode()
    words = ("verify", "--key", str(key), "--repository", str(origin.path), "--commit", "main")
    missing = cli(world.viewer).run(*words)
    assert missing.returncode == 5 and "No task of this project delivered this commit" in missing.stderr
    task = delivered(world, origin.head(), tree)
    said = cli(world.viewer).ok(*words)
    assert task.name in said and "The commit is in the repository, with this tree." in said
    assert cli(world.viewer).run(*words, "--approved").returncode == 1, "no gate stands before this delivery"
    Delivery.objects.update(tree="d" * 40)
    other = cli(world.viewer).run(*words)
    assert other.returncode == 1 and "another tree in the repository" in other.stderr
    assert cli(world.viewer).run("verify", "--key", str(key), "--commit", "main").returncode in (1, 2)


def test_another_owner_has_no_such_commit_and_one_costs_what_many_cost(world: World) -> None:
    theirs = World(make_project("theirs", "other"), world.worker)
    commit = hashlib.sha1(b"theirs").hexdigest()
    delivered(theirs, commit, "b" * 40)
    bearer = {"Authorization": f"Bearer {world.token_of(world.admin, 'read')[1]}"}

    def asked(wanted: str) -> int:
        place = f"/api/v1/owners/{world.project.owner.key}/projects/{world.project.key}/receipts/{wanted}"
        return Client().get(place, headers=bearer).status_code

    assert asked(commit) == asked("0" * 40) == asked("HEAD") == 404
    counts = []
    for number in range(12):
        own = hashlib.sha1(str(number).encode()).hexdigest()
        delivered(world, own, "b" * 40)
        if number in (0, 11):
            with CaptureQueriesContext(
                connection,
            ) as statements:
                assert asked(own) == 200
            counts.append(len(statements))
    assert counts[0] == counts[1]
