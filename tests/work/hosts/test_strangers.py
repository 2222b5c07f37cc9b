"""What strangers, hosts that misbehave and changed settings must not bring about."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from procrastinate.contrib.django.models import ProcrastinateJob

from pipelines.lines.issue_tasks import start_form_values_from_issue
from pipelines.models import Repository
from pipelines.ports.queue_tasks import HOSTS, TASKS, TELL_HOST
from pipelines.work.hosts.branch_request import BEGIN, END, description_with_own_section, own_section
from pipelines.work.hosts.host_caller import DEEP, error_text
from pipelines.work.hosts.table import open_host
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess
from tests.factories import World
from tests.work.driving import Bench, outcome_of
from tests.work.hosts.servers import TOKEN
from tests.work.hosts.test_issues import SECRET, send, wired
from tests.work.hosts.test_requests import opened

__all__ = ["wired"]
stored = pytest.mark.django_db(transaction=True)


def test_what_a_refusal_says_is_read_once_and_not_too_deep() -> None:
    deep: Any = "words"
    for _level in range(DEEP - 1):
        deep = {"k": deep}
    assert error_text(deep) == "k k k k words" and error_text({"k": {"k": deep}}) == ""
    for made in (lambda inner: {"k": inner, "message": ""}, lambda inner: [inner]):
        nested: Any = "words"
        for _level in range(5000):
            nested = made(nested)
        assert error_text(nested) == ""


def test_many_beginnings_of_a_section_cost_no_time() -> None:
    began = time.process_time()
    assert description_with_own_section(BEGIN * 20_000, "x").endswith(own_section("x"))
    assert time.process_time() - began < 1
    assert (
        description_with_own_section(f"{END} a {BEGIN} old {BEGIN} {END} b {END}", "x")
        == f"{END} a {own_section('x')} b {END}"
    )


@pytest.mark.parametrize(
    ("server", "listed"),
    [
        ("93.184.216.34", False),
        ("2606:4700::1111", False),
        ("git.example.com", False),
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("GIT.internal", True),
    ],
)
def test_a_public_address_is_no_listed_one(server: str, listed: bool) -> None:
    assert Guard(("10.1.0.0/16", "git.internal")).is_listed_host(server) is listed


@pytest.mark.parametrize("order", [("issue", "app", "docs"), ("app", "docs", "issue")])
def test_an_issue_fills_the_first_repository_input(order: tuple[str, ...]) -> None:
    """Even where the address of the issue reads as that of the repository."""
    types = {"issue": "text", "app": "repository", "docs": "repository"}
    line: Any = SimpleNamespace(
        inputs=[SimpleNamespace(key=key, type=types[key], required=True, maximum=None) for key in order]
    )
    at = "https://host.example/team/app"
    assert start_form_values_from_issue(line, Repository(address=at), "t", "b", at) == {
        "issue": at,
        "app": at,
    }


@stored
@pytest.mark.parametrize("hosted", ["gitlab"], indirect=True)
def test_a_time_of_many_digits_is_unsigned(world: World, wired: Any) -> None:
    body, headers = wired.hook(SECRET, wired.labelled("gateline"))
    for at in ("9" * 400, "9" * 5000, "0" * 400 + headers["webhook-timestamp"]):
        assert send(world, body, {**headers, "webhook-timestamp": at}).status_code == 401


@stored
@pytest.mark.parametrize("hosted", ["gitlab"], indirect=True)
def test_a_slow_host_holds_up_no_mail(world: World, wired: Any) -> None:
    """Its tickets lie in a queue of their own."""
    assert "started" in send(world, *wired.hook(SECRET, wired.labelled("gateline"))).json()["said"]
    tickets = ProcrastinateJob.objects.filter(task_name=TELL_HOST)
    assert set(tickets.values_list("queue_name", flat=True)) == {HOSTS}
    assert [name for name, places in TASKS.items() if HOSTS in places] == [TELL_HOST]


@stored
@pytest.mark.usefixtures("artifacts_here")
def test_what_is_forbidden_after_the_push_opens_nothing(world: World, bench: Bench, hosted: Any) -> None:
    listed = hosted.listed

    def forbidden(*said: Any, **more: Any) -> Any:
        """An administrator forbids it while the host is asked for what is open."""
        try:
            Repository.objects.update(pushing=Repository.Pushing.NOBODY)
        finally:
            connection.close()
        return listed(*said, **more)

    hosted.listed = forbidden
    outcome = outcome_of(opened(world, bench), "open")
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "push_refused")
    assert "No line may push to app." in outcome["summary"] and not hosted.requests


@stored
@pytest.mark.parametrize("hosted", ["github", "gitlab", "gitea"], indirect=True)
def test_what_names_no_repository_or_another_one_is_not_ours(hosted: Any) -> None:
    """Of a fork that is gone a host says nothing; nor is what Gitea gives for two branches believed unseen."""
    for _row in range(3):
        hosted.fork("ours", "main", "theirs")
    gone, unsaid, _theirs = hosted.requests
    if hosted.key == "gitlab":
        gone["source_project_id"] = None
        del unsaid["source_project_id"], unsaid["target_project_id"]
    else:
        gone["head"]["repo"] = None
        del unsaid["head"]["repo"], unsaid["base"]["repo"]
    made = Repository.objects.get()
    access = HostAccess(made.host, made.page, TOKEN)

    async def asked() -> list[int]:
        client = await open_host(access, Guard(("127.0.0.0/8",)))
        return [each.number for each in await client.list_requests_between("ours", "main")]

    for row in hosted.requests:
        hosted.of_branches = lambda *_parts, query, body, row=row: (200, row)
        assert asyncio.run(asked()) == []
