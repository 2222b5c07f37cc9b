"""The Model Context Protocol for agents of people: the library's own client, by HTTP and through `gateline mcp`, before
a real web process. Each tool does what the operation does, with the rights of the token and no more."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from pipelines.api.mcp.tools import TOOLS
from pipelines.models import Membership, Project, Task, User
from tests.factories import World, document, make_project
from tests.fixtures.site import ROOT, Site
from tests.reviews.conftest import gated
from tests.waiting import LONG

pytestmark = [pytest.mark.django_db(transaction=True)]
Use = Callable[[Client], Awaitable[Any]]
MODES = ("legacy", "auto")


def spoken(site: Site, token: str, use: Use, mode: str = "auto") -> Any:
    """Let an agent with this token use the server over HTTP."""

    async def run() -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
            Client(streamable_http_client(f"{site.url}/api/mcp", http_client=http), mode=mode) as client,
        ):
            return await use(client)

    return asyncio.run(run())


def through_program(site: Site, token: str, use: Use) -> Any:
    """The same through `gateline mcp`, as an agent starts it."""
    environment = os.environ | {"GATELINE_URL": site.url, "GATELINE_TOKEN": token, "PYTHONPATH": str(ROOT)}
    program = StdioServerParameters(command=sys.executable, args=["-m", "gateline", "mcp"], env=environment)

    async def run() -> Any:
        async with Client(stdio_client(program)) as client:
            return await use(client)

    return asyncio.run(run())


def called(name: str, **arguments: Any) -> Use:
    async def use(client: Client) -> Any:
        return await client.call_tool(name, arguments)

    return use


def posted(site: Site, body: Mapping[str, Any], **headers: str) -> int:
    data, sent = json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{site.url}/api/mcp", data, sent)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def place(project: Project) -> dict[str, str]:
    return {"owner": project.owner.key, "project": project.key}


def token_of(world: World, user: User, *scopes: str) -> str:
    return str(world.token_of(user, *(scopes or ("read", "submit", "design")))[1])


@pytest.mark.smoke(1)
@pytest.mark.parametrize("mode", MODES)
def test_its_tools_are_listed_with_what_they_take(site: Site, world: World, mode: str) -> None:
    async def use(client: Client) -> Any:
        return client.server_info, await client.list_tools()

    info, listed = spoken(site, token_of(world, world.operator), use, mode)
    assert info.name == "gateline"
    tools = {tool.name: tool for tool in listed.tools}
    assert list(tools) == [tool.name for tool in TOOLS]
    assert set(tools["start_task"].input_schema["required"]) >= {"owner", "project", "line"}
    assert tools["lint"].input_schema["required"] == ["owner", "project", "document"]
    assert tools["explain"].annotations.read_only_hint and not tools["start_task"].annotations.read_only_hint
    assert not [name for name in tools if {"vote", "decide", "publish", "secret"} & set(name.split("_"))]


def test_a_task_is_started_explained_and_shown_among_what_needs_somebody(site: Site, world: World) -> None:
    line = world.line(**gated()).line
    asked = spoken(
        site,
        token_of(world, world.operator),
        called("start_task", **place(world.project), line=line.key, title="By an agent"),
    )
    assert not asked.is_error, asked.content
    task = Task.objects.get()
    assert (task.title, task.requester) == ("By an agent", world.operator)
    assert asked.structured_content["id"] == task.name
    world.report(task)
    told = spoken(site, token_of(world, world.operator), called("explain", task=task.name)).structured_content
    assert told["task"]["id"] == task.name and told["decisions"][-1]["station"] == "build"
    assert told["decisions"][-1]["trace"]
    needs = spoken(site, token_of(world, world.reviewer), called("list_needs")).structured_content
    assert task.name in json.dumps(needs)


def test_a_document_is_checked_planned_and_simulated_and_nothing_is_kept(site: Site, world: World) -> None:
    line, token = world.line(document(["build"])).line, token_of(world, world.designer)
    for body in (document(["build"]), "not: [a line"):
        checked = spoken(
            site, token, called("lint", **place(world.project), document=body)
        ).structured_content
        assert ("findings" in checked) and (body != "not: [a line" or checked["findings"])
    planned = spoken(
        site, token, called("plan", **place(world.project), document=document(["build", "test"]))
    )
    assert not planned.is_error, planned.content
    step = {"outcome": {"result": "success"}}
    walked = spoken(site, token, called("simulate", **place(world.project), line=line.key, steps=[step]))
    assert not walked.is_error and "completed" in json.dumps(walked.structured_content), walked.content
    line.refresh_from_db()
    assert line.versions.count() == 1 and not Task.objects.exists()


def test_what_is_wrong_is_a_result_that_says_why(site: Site, world: World) -> None:
    token = token_of(world, world.operator)
    for use, words in (
        (called("start_task", **place(world.project), title="x"), "'line' is a required property"),
        (called("start_task", **place(world.project), line="no", title="x"), "detail"),
        (called("lint", **place(world.project), document=7), "document"),
        (called("lines", more=1), "more"),
        (called("explain", task="WI-none-1"), "detail"),
        (called("publish"), "There is no tool publish"),
    ):
        answer = spoken(site, token, use)
        assert answer.is_error and words in answer.content[0].text, answer.content


def test_the_token_says_what_may_be_done_and_another_owner_does_not_exist(site: Site, world: World) -> None:
    theirs = World(make_project("theirs", "other"), world.worker)
    version = theirs.line(document(["build"]))
    task = theirs.start(version)
    token = token_of(world, world.operator)
    foreign = {**place(theirs.project), "line": version.line.key}
    for use in (
        called("explain", task=task.name),
        called("start_form", **foreign),
        called("start_task", **foreign, title="x"),
        called("lint", **place(theirs.project), document=document(["build"])),
        called("plan", **place(theirs.project), document=document(["build"])),
        called("simulate", **foreign),
    ):
        answer = spoken(site, token, use)
        assert answer.is_error and "Not found" in answer.content[0].text, answer.content
    listed = spoken(site, token, called("lines")).structured_content
    assert theirs.project.key not in json.dumps(listed)
    read_only = token_of(world, world.operator, "read")
    world.line(document(["build"], key="own"))
    refused = spoken(site, read_only, called("start_task", **place(world.project), line="own", title="x"))
    assert refused.is_error and Task.objects.count() == 1
    Membership.objects.filter(user=world.operator).delete()
    assert spoken(site, token, called("start_form", **place(world.project), line="own")).is_error


def test_who_has_no_token_or_comes_from_another_page_is_not_let_in(site: Site, world: World) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    both = {"Accept": "application/json, text/event-stream"}
    assert posted(site, ping, **both) == 401
    assert posted(site, ping, **both, Authorization="Bearer gl_wrong") == 401
    right = {"Authorization": f"Bearer {token_of(world, world.operator)}"}
    assert posted(site, ping, **both, **right) == 200
    assert posted(site, ping, **both, **right, Origin="https://elsewhere.example") == 403
    assert posted(site, ping, **both, **right, Origin=site.url) == 200
    assert posted(site, {"nonsense": True}, **both, **right) == 400
    runner = {"Authorization": f"Bearer {world.runner('far')[1]}"}
    assert posted(site, ping, **both, **runner) == 401, "a runner's token opens nothing here"


def test_an_agent_that_starts_the_program_has_the_same_tools(site: Site, world: World) -> None:
    world.line(document(["build"], key="deploy"))

    async def use(client: Client) -> Any:
        return await client.list_tools(), await client.call_tool("lines", {})

    listed, lines = through_program(site, token_of(world, world.operator), use)
    assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]
    assert [line["key"] for line in lines.structured_content["result"]] == ["deploy"]


def test_the_program_answers_what_was_asked_before_its_input_ended(site: Site, world: World) -> None:
    """As a script does that writes its requests and closes the pipe at once."""
    token = token_of(world, world.operator)
    environment = os.environ | {"GATELINE_URL": site.url, "GATELINE_TOKEN": token, "PYTHONPATH": str(ROOT)}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *(
            {"id": number, "method": "tools/call", "params": {"name": "lines", "arguments": {}}}
            for number in (2, 3)
        ),
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    command = [sys.executable, "-m", "gateline", "mcp"]
    said = subprocess.run(
        command, input=lines, env=environment, capture_output=True, text=True, timeout=LONG, check=False
    )
    answered = [json.loads(line)["id"] for line in said.stdout.splitlines()]
    assert (said.returncode, sorted(answered)) == (0, [1, 2, 3]), said.stderr
