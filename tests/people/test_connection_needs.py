"""What the proposed commands need of runners and hosts is told when a repository is connected: programs, versions,
private addresses, and the rules of a linter that nobody set up."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.models import Membership, Repository, Worker
from pipelines.people.repositories import corrected_proposal
from tests.factories import World, make_project
from tests.pages.conftest import As, at, text
from tests.people.connecting import bare, checks_of, commit, of, source
from tests.work.remotes import allow

__all__ = ["source"]
pytestmark = [pytest.mark.django_db, pytest.mark.git]
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


PNPM = {
    "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
    "package.json": '{"packageManager": "pnpm@10.33.0", "scripts": {"lint": "oxlint src", "test": "vitest && tsc"}}',
}


def connected(client: Client, world: World, source: Path, files: dict[str, str]) -> dict[str, dict[str, Any]]:
    for name, content in files.items():
        (source / name).write_text(content)
    commit(source)
    folder = bare(source)
    allow(world.project.owner, folder)
    return {check["check"]: check for check in checks_of(client, world, str(folder))}


def setup_page(client: Client, world: World, **sent: str) -> str:
    """What the page says of the repository, without its fields."""
    place = at(world, "project-setup")
    answer = client.post(place, sent, follow=True) if sent else client.get(f"{place}?step=repository")
    assert answer.status_code == 200
    return text(answer)


def test_a_package_manager_that_is_missing_is_told_with_the_way_to_it_until_it_is_there(
    client: Client, world: World, source: Path, signed_in: As
) -> None:
    Worker.objects.all().delete()
    one = runner(world, "one", {"npm": "10.8.2", "node": ""})
    warning = connected(client, world, source, PNPM)["programs"]["warning"]
    assert (
        "pnpm is not on the path of stations on one. npm is there: npm install --global pnpm@10 brings it"
        in warning
    )
    assert "enter npm install --no-package-lock --legacy-peer-deps as Prepare" in warning
    assert "pnpm. pnpm is not" not in setup_page(signed_in(world.admin), world), "it is named once"
    admin = signed_in(world.admin)
    assert "pnpm is not on the path" in setup_page(admin, world)
    Worker.objects.filter(pk=one.pk).update(programs={"npm": "10.8.2", "pnpm": "10.33.0"})
    assert "not on the path" not in setup_page(admin, world), "nobody tested the connection again"
    Worker.objects.filter(pk=one.pk).update(programs={"python3": ""})
    warning = setup_page(admin, world)
    assert "pnpm is not on the path" in warning and "npm is there" not in warning


def test_what_is_typed_in_place_of_a_proposal_counts_for_what_is_missing(
    client: Client, world: World, source: Path, signed_in: As
) -> None:
    Membership.objects.filter(user=world.admin).update(execute=True)
    Worker.objects.all().delete()
    runner(world, "one", {"npm": "10.8.2"})
    connected(client, world, source, PNPM)
    admin = signed_in(world.admin)
    typed = {"command": "npm install", "cache": "", "hosts": "packages.example.com", "lint": "npm run lint"}
    page = setup_page(
        admin, world, do="begin", step="template", agent="codemod", template="fix-lint-findings", **typed,
        tests="npm test",
    )  # fmt: skip
    assert "First task" in page and "not on the path" not in page and "None known" not in page
    repository = Repository.objects.get()
    assert corrected_proposal(repository).lint == "npm run lint"
    place = f"/api/owners/acme/projects/{world.project.key}/repositories/app/test"
    _token, key = world.token_of(world.admin, "read", "design", "settings")
    again = client.post(place, headers={"authorization": f"Bearer {key}"}).json()
    assert of(again, "programs")["warning"] == "", "a new test of the connection forgets nothing"


def test_hosts_are_those_that_the_package_manager_of_a_runner_names(
    client: Client, world: World, source: Path
) -> None:
    Worker.objects.all().delete()
    one = runner(
        world, "one", {"pnpm": "10.33.0"}, registries={"pnpm": ["packages.example.com"], "go": ["x.example"]}
    )
    assert connected(client, world, source, PNPM)["hosts"]["said"] == "packages.example.com"
    proposed = Repository.objects.get().proposed
    assert proposed is not None and proposed["hosts"] == ["packages.example.com"]
    Worker.objects.filter(pk=one.pk).update(registries={"npm": ["npm.example.com"]})
    place = f"/api/owners/acme/projects/{world.project.key}/repositories/app/test"
    _token, key = world.token_of(world.admin, "read", "design", "settings")
    by_npm = of(client.post(place, headers={"authorization": f"Bearer {key}"}).json(), "hosts")
    assert by_npm["said"] == "npm.example.com", (
        "pnpm is not there, and takes its packages from where npm does"
    )
    Worker.objects.filter(pk=one.pk).update(registries={})
    unknown = of(client.post(place, headers={"authorization": f"Bearer {key}"}).json(), "hosts")
    assert unknown["ok"] is True and "Enter the host of your registry as Hosts" in unknown["warning"]
    assert "nor pnpm on a runner says where its packages come from" in unknown["warning"]


def locked(**engines: str) -> dict[str, Any]:
    return {"engines": engines, "version": "1.0.0"}


LOCK = json.dumps(
    {
        "packages": {
            "": locked(node=">=99"),
            "node_modules/eslint": locked(node="^18.18.0 || >=21.1.0"),
            "node_modules/config/node_modules/eslint-plugin-unicorn": locked(node="^22.13 || >=24.15.0"),
            "node_modules/old": {"engines": ["node >=0.10"]},
            "node_modules/any": locked(node="*"),
            "node_modules/below": locked(node="<99 || >=30"),
            "node_modules/fsevents": {**locked(node=">=98"), "optional": True},
        }
    }
)


@pytest.mark.smoke(4)
@pytest.mark.parametrize(
    ("files", "installed", "words"),
    [
        ({"pnpm-lock.yaml": "", "package.json": '{"packageManager": "pnpm@10.14.0-0+sha512.ab"}'},
         {"pnpm": "9.15.9"}, "pnpm on the runner one is 9.15.9, and package.json asks for 10.14.0-0. Install"),
        ({"go.mod": "module m\n\ngo 1.20\n"}, {"go": "1.19.8"},
         "go on the runner one is 1.19.8, and go.mod asks for >=1.20."),
        ({"pyproject.toml": '[project]\nrequires-python = ">=3.12, <4"\n'}, {"python3": "3.11.2"},
         "python3 on the runner one is 3.11.2, and pyproject.toml asks for >=3.12,<4."),
        ({"pyproject.toml": "", ".python-version": "3.13\n"}, {"python3": "3.12.1"},
         "python3 on the runner one is 3.12.1, and .python-version asks for ==3.13.*."),
        ({"package-lock.json": LOCK, "package.json": '{"engines": {"node": ">=18.0"}}'}, {"node": "20.20.2"},
         "node on the runner one is 20.20.2, and eslint-plugin-unicorn in package-lock.json asks for >=22.13."),
        ({"package-lock.json": "[" * 9_999, "package.json": '{"engines": {"node": "^22.1 || 24.x"}}'},
         {"node": "20.20.2"}, "node on the runner one is 20.20.2, and package.json asks for >=22.1."),
        ({"package-lock.json": LOCK, "package.json": "{}"}, {"node": "24.1.0"}, ""),
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
        installed = {**dict.fromkeys(("ruff", "python3", "npm"), ""), **installed}
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
    assert told()["ok"] is True and told()["warning"].startswith("packages.example.com lies inside your own")
    assert "tick “These hosts may have private addresses” in step 3 of Setup" in told()["warning"]
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
