"""Which host keeps a repository, and what its settings and its test say of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from pipelines.errors import Invalid
from pipelines.lines import publishing
from pipelines.models import Repository
from pipelines.people import repositories
from pipelines.people.repositories import RepositorySettings
from pipelines.web.editor.findings import draft_findings
from pipelines.work.hosts.host_caller import error_text
from pipelines.work.hosts.markdown import code_block, inline_code
from pipelines.work.hosts.table import find_host_key_and_page, open_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess
from tests.factories import World
from tests.pages.applying import applied
from tests.work.hosts.conftest import line
from tests.work.hosts.servers import TOKEN

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("host", "address", "page", "expected"),
    [
        ("", "https://github.com/acme/app.git", "", ("github", "https://github.com/acme/app")),
        ("", "git@gitlab.com:acme/web/app.git", "", ("gitlab", "https://gitlab.com/acme/web/app")),
        ("", "ssh://git@codeberg.org:22/acme/app", "", ("gitea", "https://codeberg.org/acme/app")),
        ("", "https://git.example.com/acme/app", "", None),
        ("gitlab", "https://git.example.com:8443/acme/app", "", ("gitlab", "https://git.example.com:8443/acme/app")),
        ("gitea", "/srv/app.git", "https://[::1]:3000/acme/app/", ("gitea", "https://[::1]:3000/acme/app")),
        ("none", "https://github.com/acme/app", "", None),
    ],
)  # fmt: skip
def test_a_host_is_known_by_the_address_or_named(host: str, address: str, page: str, expected: Any) -> None:
    known = find_host_key_and_page(host, address, page)
    assert (known and (known[0], str(known[1]))) == expected


@pytest.mark.parametrize(
    ("said", "field", "why"),
    [
        ({"host": "svn"}, "host", "Choose one of the hosts"),
        ({"host": "github"}, "page", "https://host/team/app"),
        ({"host": "github", "page": "https://git.example.com/../app"}, "page", "no plain name"),
        ({"host": "github", "page": "http://git.example.com/acme/app"}, "page", "Use https"),
        ({"host": "github", "page": "http://93.184.216.34/acme/app"}, "page", "Use https"),
        ({"page": "https://git.example.com/acme/app"}, "host", "Choose which host"),
        ({"host_credential": "NOT_THERE"}, "host_credential", "has no secret NOT_THERE"),
        ({"host_app": "a b"}, "host_app", "client ID"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    world: World, hosted: Any, settings: Any, said: dict[str, str], field: str, why: str
) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        given = RepositorySettings(**{"address": str(hosted.origin.path), "name": "b", **said})
        repositories.connect_repository(world.project, given, by=world.admin, now=timezone.now())
    assert refused.value.path == field


@pytest.mark.parametrize("hosted", ["github", "gitlab", "gitea"], indirect=True)
def test_the_test_of_a_connection_asks_the_host_too(world: World, hosted: Any, settings: Any) -> None:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    repository = Repository.objects.get()

    def tested() -> tuple[bool, str]:
        last = repositories.test_connection(repository, by=world.admin, now=timezone.now())[-1]
        assert last["check"] == "host"
        return last["ok"], last["said"]

    assert tested()[0] is True
    hosted.may_push = False
    assert tested() == (False, f"The token may read {hosted.page}, and not write to it.")
    repository.page = f"{hosted.server.url}/acme/none"
    assert "acme/none that this token may see" in tested()[1]
    settings.PRIVATE_HOSTS = []
    assert "private address" in tested()[1]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("hosted", ["github", "gitlab"], indirect=True)
def test_what_the_host_requires_is_kept_and_lint_says_that_nobody_waits_for_it(
    world: World, hosted: Any, settings: Any
) -> None:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    draft = line(world, to="merge").document

    def told() -> list[dict[str, Any]]:
        found = draft_findings(draft, world.project)["findings"]
        return [each for each in found if each["check"] == "unawaited-checks"]

    def tested() -> None:
        repositories.test_connection(Repository.objects.get(), by=world.admin, now=timezone.now())

    hosted.requires = ["unit"]
    assert told() == [], "nobody knows yet"
    tested()
    [finding] = told()
    named = {"github": "unit", "gitlab": "pipeline"}[hosted.key]
    assert f"requires checks ({named})" in finding["message"] and finding["station"] == "open"
    [remedy] = finding["remedies"]
    assert remedy["label"] == "Push and wait for the checks before it"
    draft = applied(draft, remedy["edits"])
    assert [each["key"] for each in draft["stations"]] == [
        "fix",
        "push-branch",
        "host-checks",
        "open",
        "look",
    ]
    assert told() == []
    draft, hosted.requires = line(world, to="merge").document, []
    tested()
    assert told() == []


def test_a_line_that_proposes_needs_a_host(world: World, hosted: Any) -> None:
    proposes = line(world)
    parsed = proposes.line
    assert publishing.check_draft(parsed).problems == ()
    Repository.objects.update(host="none")
    assert "nobody knows which host keeps app" in str(publishing.check_draft(parsed).problems[0])


def test_text_of_others_stays_text() -> None:
    assert inline_code("a `b` @team") == "``a `b` @team``" and inline_code("`") == "`` ` ``"
    assert code_block("```\n@all <!-- x") == "````text\n```\n@all <!-\u200b- x\n````"
    assert error_text({"message": {"base": ["no"]}}) == "base no"
    assert (
        error_text({"message": "Validation Failed", "errors": [{"message": "twice"}]})
        == "Validation Failed: twice"
    )


@pytest.mark.parametrize("hosted", ["github", "gitlab", "gitea"], indirect=True)
def test_lists_are_read_to_their_last_page(world: World, hosted: Any) -> None:
    hosted.most = 2
    for number in range(1, 6):
        hosted.fork("ours", "main", f"{number}")
        hosted.comments.setdefault(("issue", 7), []).append(f"said {number}")
    repo = {"id": 5}
    for at in (0, 2):  # the oldest and the third are of this repository
        one = hosted.requests[at]
        if "iid" in one:
            one |= {"source_project_id": 5, "state": "closed"}
        else:
            one |= {"head": {**one["head"], "repo": repo}, "state": "closed"}
    made = Repository.objects.get()
    access = HostAccess(made.host, made.page, TOKEN)

    async def asked() -> tuple[list[int], list[str]]:
        client = await open_host(access, Guard(("127.0.0.0/8",)))
        ours = [each.number for each in await client.list_requests_between("ours", "main")]
        return ours, await client.comments_since("issue", 7, timezone.now())

    ours, said = asyncio.run(asked())
    assert ours == [3, 1]
    # GitLab gives its notes without a time, the latest first: the last hundred are enough there.
    wanted = {"said 4", "said 5"} if hosted.key == "gitlab" else {f"said {each}" for each in range(1, 6)}
    assert set(said) == wanted


@pytest.mark.parametrize("hosted", ["github", "gitlab", "gitea"], indirect=True)
def test_an_owner_tries_the_host_on_the_real_account(
    world: World, hosted: Any, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.PRIVATE_HOSTS = ["127.0.0.1"]
    named, head = (f"acme/{world.project.key}", "app"), hosted.origin.head()
    call_command("try_host", *named, "--issue=3", f"--commit={head}")
    said = capsys.readouterr().out
    assert said.count("  ok ") >= 7 and "FAILED" not in said and "no secret chosen" in said
    assert hosted.comments["issue", 3] and hosted.statuses[head][0]["state"] == "success"
    hosted.may_push = False
    with pytest.raises(CommandError, match="3 failed"):
        call_command("try_host", *named)
    assert "FAILED  repository: the token may read" in capsys.readouterr().out
    with pytest.raises(CommandError, match="has no repository other"):
        call_command("try_host", named[0], "other")
