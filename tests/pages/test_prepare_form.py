"""The environment of a repository, as its form saves it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pipelines.models import (
    AdministrativeAct,
    Membership,
    Repository,
    RepositoryProtection,
    Task,
    User,
)
from tests.factories import World, station
from tests.pages.conftest import at, client_of, text

pytestmark = pytest.mark.django_db
SAVED = {
    "image": "python:3.13-slim",
    "argv": ["npm", "ci", "--no-audit"],
    "cache": "package-lock.json",
    "network": {"egress": ["packages.example.com", "git.example.com:8443"]},
    "services": [
        {"name": "redis", "image": "registry.test:5000/redis:7", "argv": ["redis-server"], "port": 6379},
        {"name": "db", "argv": ["postgres", "-D", "my data"], "health": ["pg_isready"]},
    ],
}


@pytest.fixture
def repository(world: World) -> Repository:
    return Repository.objects.create(
        project=world.project, name="app", address="https://git.test/app.git", connected_at=timezone.now()
    )


@pytest.fixture
def admin(world: World) -> Client:
    Membership.objects.filter(user=world.admin).update(execute=True)
    return client_of(world.admin)


def place(repository: Repository) -> str:
    return f"/p/acme/{repository.project.key}/settings/repositories/{repository.pk}/"


def typed(*services: dict[str, str], **more: str) -> dict[str, str]:
    rows = [*services, {}]
    named = {f"services-{index}-{key}": value for index, row in enumerate(rows) for key, value in row.items()}
    counts = {"services-TOTAL_FORMS": str(len(rows)), "services-INITIAL_FORMS": "0"}
    return {**counts, **named, **more}


REDIS = {"name": "redis", "command": "redis-server", "port": "6379"}


def test_it_is_saved_shown_and_taken_back(admin: Client, repository: Repository) -> None:
    db = {"name": "db", "command": "postgres -D 'my data'", "health": "pg_isready"}
    hosts = "packages.example.com\r\ngit.example.com:8443"
    redis = {**REDIS, "image": "registry.test:5000/redis:7"}
    more = {"cache": "package-lock.json", "hosts": hosts, "image": " python:3.13-slim "}
    given = typed(redis, db, command="npm ci --no-audit", **more)
    assert admin.post(place(repository), given).status_code == 302
    repository.refresh_from_db()
    assert repository.prepare == SAVED
    page = admin.get(place(repository)).content.decode()
    for shown in (
        "npm ci --no-audit",
        "Service redis",
        "postgres -D &#x27;my data&#x27;",
        "python:3.13-slim",
        "redis:7",
        "Add a service",
    ):
        assert shown in page
    assert admin.post(place(repository), typed()).status_code == 302
    repository.refresh_from_db()
    assert repository.prepare == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (typed(command="npm 'ci"), "A quotation mark is not closed."),
        (typed(cache="a.lock"), "Enter the command that prepares the folder."),
        (typed(command="x", cache="../a.lock"), "Enter a path inside the repository"),
        (typed(command="x", cache="/etc/passwd"), "Enter a path inside the repository"),
        (typed(command="x", hosts="https://a.test"), "https://a.test is not the name of a host"),
        (typed({**REDIS, "name": "../x"}), "Use small letters, digits and"),
        (typed(image="--privileged"), "Enter the name of an image, like"),
        (typed({**REDIS, "image": "a b"}), "Enter the name of an image, like"),
        (typed({**REDIS, "command": ""}), "Enter the program that serves."),
        (typed({**REDIS, "port": ""}), "or a health command"),
        (typed({**REDIS, "port": "70000"}), "less than or equal to 65535"),
        (typed(REDIS, REDIS), "Another service has this name."),
        (typed(command="x" * 5000), "at most 4000 characters"),
        ({"services-TOTAL_FORMS": "many", "services-INITIAL_FORMS": "0"}, "ManagementForm"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(
    given: dict[str, Any], said: str, admin: Client, repository: Repository
) -> None:
    answer = admin.post(place(repository), given)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    repository.refresh_from_db()
    assert repository.prepare == {}


def test_settings_protection_and_environment_are_saved_together_or_not_at_all(
    admin: Client, repository: Repository
) -> None:
    """Each had a button: whoever pressed another one lost what was typed."""
    form = (
        text(admin.get(place(repository)))
        .partition(f'action="{place(repository)}"')[2]
        .partition("</form>")[0]
    )
    for field in ("address", "approvals", "command"):
        assert f'name="{field}"' in form
    assert form.count('type="submit"') == 1
    settings = {"address": "https://git.test/app.git", "name": "shop", "pushing": "nobody"}
    given = typed(**settings, approvals="2", scope="admin", command="npm ci")
    refused = admin.post(place(repository), {**given, "cache": "../a.lock"})
    assert refused.status_code == 422 and "Enter a path inside the repository" in text(refused)
    for value in ('value="shop"', 'value="2"', "npm ci"):
        assert value in text(refused), "what was typed elsewhere stays"
    repository.refresh_from_db()
    assert (repository.name, repository.prepare) == ("app", {})
    assert not RepositoryProtection.objects.exists() and not AdministrativeAct.objects.exists()
    assert admin.post(place(repository), given).status_code == 302
    repository.refresh_from_db()
    assert (repository.name, repository.pushing, repository.prepare) == (
        "shop",
        "nobody",
        {"argv": ["npm", "ci"]},
    )
    assert RepositoryProtection.objects.get().rules["approvals"] == 2
    acts = ["repository.changed", "repository.prepare", "repository.protected", "repository.tested"]
    assert sorted(AdministrativeAct.objects.values_list("kind", flat=True)) == acts
    admin.post(place(repository), given)
    assert AdministrativeAct.objects.count() == len(acts) + 1, "saved again, only the connection is tested"


def test_it_needs_the_permission_to_run_code(world: World, repository: Repository) -> None:
    Membership.objects.filter(user=world.admin).update(execute=False)
    admin = client_of(world.admin)
    assert admin.post(place(repository), typed(command="x")).status_code == 403
    assert "You cannot change this" in admin.get(place(repository)).content.decode()


def test_an_administrator_of_the_installation_alone_allows_private_addresses(
    admin: Client, world: World, repository: Repository
) -> None:
    """For the hosts that they saw: one that somebody else adds later is not among them."""
    question = "These hosts may have private addresses"
    given = typed(command="npm ci", hosts="packages.test", private="yes")
    page = place(repository)
    assert question not in admin.get(page).content.decode()
    admin.post(place(repository), given)
    repository.refresh_from_db()
    assert repository.prepare["network"] == {"egress": ["packages.test"]}
    User.objects.filter(pk=world.admin.pk).update(is_staff=True)
    assert question in admin.get(page).content.decode()
    admin.post(place(repository), given)
    text = " ".join(admin.get(page).content.decode().split())
    assert 'name="private" value="yes" checked>' in text and "So far" not in text
    User.objects.filter(pk=world.admin.pk).update(is_staff=False)
    admin.post(place(repository), {**given, "hosts": "packages.test metadata.test"})
    repository.refresh_from_db()
    assert repository.prepare["network"] == {
        "egress": ["packages.test", "metadata.test"],
        "private": ["packages.test"],
    }
    User.objects.filter(pk=world.admin.pk).update(is_staff=True)
    text = " ".join(admin.get(page).content.decode().split())
    assert 'name="private" value="yes" >' in text, (
        "who saves something else allows none that they did not tick"
    )
    assert "So far packages.test may, and the others that are listed may not." in text
    admin.post(place(repository), {key: value for key, value in given.items() if key != "private"})
    repository.refresh_from_db()
    assert repository.prepare["network"] == {"egress": ["packages.test"]}, "and takes it back"


REFUSED = "Prepare failed: The host files.test is not in the Hosts of the environment. That is why sh failed."
INSIDE = "Prepare failed: The host files.test has the private address 10.1.2.3. An operator can list it. That is why …"


def failed(world: World, repository: Repository, summary: str) -> Task:
    Repository.objects.update(prepare={"argv": ["npm", "ci"], "network": {"egress": ["packages.test"]}})
    work = {"argv": ["make"], "network": "none"}
    line = world.line(
        stations=[station("code", kind="command", work=work, name="Code")],
        workspace={"git": {"repository": "app"}},
    )
    task = world.start(line)
    outcome = {"result": "failure", "failure_type": "prepare_failed", "summary": summary, "reason": summary}
    world.report(task, outcome)
    return task


def test_a_host_that_was_refused_is_allowed_from_its_task_by_one_click(
    admin: Client, world: World, repository: Repository
) -> None:
    """Of the lines of the log the program's own error stood first, which is no cause."""
    task = failed(world, repository, REFUSED)
    page = text(admin.get(at(world, "task", task.name)))
    assert "Allow files.test and retry" in page and 'name="allow" value="files.test"' in page
    assert page.index("The host files.test") < page.index("What the program said of it")
    assert "Allow files.test" not in text(client_of(world.operator).get(at(world, "task", task.name)))
    answer = admin.post(f"{place(repository)}prepare/?task={task.name}", {"allow": "files.test"})
    repository.refresh_from_db()
    assert repository.prepare["network"] == {"egress": ["packages.test", "files.test"]}
    retried = Task.objects.latest("pk")
    assert retried != task and answer.url == at(world, "task", retried.name)
    assert "may reach files.test" in text(admin.get(answer.url))
    bad = admin.post(place(repository) + "prepare/", {"allow": "no host"}, follow=True)
    assert "no host is not the name of a host." in text(bad)
    assert (
        client_of(world.operator).post(place(repository) + "prepare/", {"allow": "x.test"}).status_code == 403
    )


def test_a_private_address_is_allowed_from_the_task_by_an_administrator_of_the_installation(
    admin: Client, world: World, repository: Repository
) -> None:
    task = failed(world, repository, INSIDE.replace("files.test", "packages.test"))
    address = at(world, "task", task.name)
    button, asked = "Allow the private address of packages.test and retry", {"inside": "packages.test"}
    assert button not in text(admin.get(address))
    admin.post(place(repository) + "prepare/", asked)
    repository.refresh_from_db()
    assert "private" not in repository.prepare["network"], "it is not theirs to say"
    User.objects.filter(pk=world.admin.pk).update(is_staff=True)
    assert button in text(admin.get(address))
    admin.post(f"{place(repository)}prepare/?task={task.name}", asked)
    repository.refresh_from_db()
    assert repository.prepare["network"]["private"] == ["packages.test"]
    admin.post(place(repository) + "prepare/", {"allow": "files.test"})
    repository.refresh_from_db()
    assert repository.prepare["network"]["private"] == ["packages.test", "files.test"], "the tick was for all"
