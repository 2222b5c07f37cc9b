"""What the proposed commands need of runners and hosts is told when a repository is connected: programs, versions,
private addresses, and the rules of a linter that nobody set up."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.models import Repository, Worker
from tests.factories import World, make_project
from tests.people.connecting import bare, checks_of, commit, of, source
from tests.work.remotes import allow

__all__ = ["source"]
pytestmark = pytest.mark.django_db
NPMRC = "registry=https://packages.example.com/npm/\n"


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
    for name, content in {"pnpm-lock.yaml": "", "package.json": "{}", ".npmrc": NPMRC}.items():
        (source / name).write_text(content)
    commit(source)
    folder = bare(source)
    allow(world.project.owner, folder)
    address = "10.1.2.3"

    def look_up(host: str, port: int, *_more: Any, **_rest: Any) -> Any:
        assert host == "packages.example.com"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def told() -> dict[str, Any]:
        return of(checks_of(client, world, str(folder)), "hosts")

    unknown = told()
    assert (unknown["ok"], unknown["said"], unknown["warning"]) == (True, "packages.example.com", "")
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert told()["ok"] is True and "packages.example.com has a private address here." in told()["warning"]
    assert "ticks “These hosts may have private addresses”" in told()["warning"]
    address = "127.0.0.9"
    assert "lists it in GATELINE_PRIVATE_HOSTS" in told()["warning"]
    settings.PRIVATE_HOSTS = ["packages.example.com"]
    assert told()["warning"] == ""
    settings.PRIVATE_HOSTS, address = [], "10.1.2.3"
    egress = {"egress": ["packages.example.com"], "private": ["packages.example.com"]}
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
