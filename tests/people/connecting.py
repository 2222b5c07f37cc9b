"""Repositories of real git, connected over the API, and what connecting tells of them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.factories import World


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


def of(checks: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(check for check in checks if check["check"] == name)


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
