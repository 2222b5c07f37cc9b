"""An agent that speaks the Agent Client Protocol: a program of ours in place of Gemini CLI, and people who answer."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Job, ToolPermission
from pipelines.work.agents import permission_desk
from tests.factories import World
from tests.work.agents import test_tool_permissions as permissions
from tests.work.agents.conftest import Programs, ran
from tests.work.conftest import Collected
from tests.work.driving import Bench, done, outcome_of, text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
# By the protocol's own library, which takes and sends only what its schema has
PROGRAM = f"""#!{sys.executable} -I
import asyncio, sys
from acp import Agent, InitializeResponse, NewSessionResponse, PromptResponse, RequestError, run_agent
from acp import start_tool_call, update_agent_message_text, update_tool_call
from acp.schema import PermissionOption, ToolCallUpdate
class Stub(Agent):
    signed_in = False
    def on_connect(self, client):
        self.client = client
    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **more):
        assert protocol_version == 1 and not client_capabilities.terminal
        return InitializeResponse(protocol_version=1, auth_methods=[{{"id": "gemini-api-key", "name": "Key"}}],
                                  agent_info={{"name": "stub", "version": "7"}})
    async def authenticate(self, method_id, **more):
        self.signed_in = method_id == "gemini-api-key"
    async def new_session(self, cwd, mcp_servers=None, **more):
        if not self.signed_in:
            raise RequestError.auth_required()
        print("SERVERS", [server.name for server in mcp_servers], file=sys.stderr, flush=True)
        return NewSessionResponse(session_id="s1")
    async def prompt(self, session_id, prompt, **more):
        async def tell(update):
            await self.client.session_update(session_id=session_id, update=update)
        await tell(update_agent_message_text("I begin"))
        await tell(update_agent_message_text(": " + prompt[0].text))
        options = [PermissionOption(option_id=key, name=key, kind=kind) for key, kind in
                   (("always", "allow_always"), ("once", "allow_once"), ("no", "reject_once"))]
        chosen = []
        for number, (kind, raw) in enumerate(CALLS):
            title = raw.get("command") or raw.get("title", "Edit")
            call = {{"tool_call_id": f"t{{number}}", "title": title, "kind": kind}}
            told_before = number % 2 == 0
            if told_before:
                await tell(start_tool_call(status="pending", raw_input=raw, **call))
            # Gemini CLI tells of a call by its question alone, and of a command by its title
            raw_input = raw if told_before else None
            answer = await self.client.request_permission(
                session_id=session_id, options=options, tool_call=ToolCallUpdate(raw_input=raw_input, **call))
            chosen.append(getattr(answer.outcome, "option_id", answer.outcome.outcome))
            await tell(update_tool_call(call["tool_call_id"], status="completed" if chosen[-1] == "once" else "failed"))
        try:
            await self.client.read_text_file(session_id=session_id, path="/etc/passwd")
        except RequestError as error:
            chosen.append(error.code)
        await tell(update_agent_message_text("Done."))
        open("made.txt", "w").write("x")
        print("CHOSEN", *chosen, file=sys.stderr, flush=True)
        usage = {{"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}
        return PromptResponse(stop_reason="end_turn", usage=usage)
asyncio.run(run_agent(Stub()))
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission_desk, "POLL_SECONDS", 0.05)


CHOSEN = "once no once no once no once -32601"
"""Of a call that a person allowed, one that they denied, an edit, one that the line denies, a tool of the task, one of
another server, a command that the line allows; and what is answered to a method that there is not."""


def program(tmp_path: Path, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "gemini").write_text(PROGRAM.replace("CALLS", repr(calls)))
    (folder / "gemini").chmod(0o755)
    return {"station_path": (str(folder), *os.environ["PATH"].split(os.pathsep))}


def test_it_asks_before_each_call_and_the_lists_or_a_person_answer(
    world: World, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = (
        ("execute", permissions.PUSH),
        ("execute", permissions.PUSH),
        ("edit", {"path": "a"}),
        ("execute", {"command": "npm publish"}),
        ("other", {"title": "what_if (gateline MCP Server)"}),
        ("other", {"title": "what_if (their MCP Server)"}),
        ("execute", {"command": "make test"}),
    )
    monkeypatch.setattr(permissions, "search", lambda path, _body: program(path, *calls))
    task = permissions.task_of(world, agent="gemini-acp", deny=["npm publish"], allow=["make"])
    acts = (
        lambda row: permissions.answer(row, world.operator),
        lambda row: permissions.answer(row, world.operator, allow=False, reason="Once is enough."),
    )
    permissions.while_it_works(bench, task, tmp_path, "", *acts)
    job: Job = done(task, "implement")
    said = text_of(job)
    assert said.partition("CHOSEN ")[2].splitlines()[0] == CHOSEN, said
    assert "SERVERS ['gateline']" in said
    rows = ToolPermission.objects.order_by("pk").values_list("tool", "state", "arguments")
    assert list(rows) == [
        ("execute", "allowed", permissions.PUSH),
        ("execute", "denied", {"command": permissions.PUSH["command"]}),
    ]
    outcome = outcome_of(task, "implement")
    assert outcome["summary"].endswith("Done.") and job.result == "success", said
    agent, commands = outcome["facts"]["agent"], outcome["facts"]["commands"]
    assert (agent["name"], agent["version"], agent["session"], agent["final_event"]) == (
        "stub",
        "7",
        "s1",
        True,
    )
    assert "error" not in agent, "it was signed in"
    assert (commands["run"], commands["failed"], commands["denied"]) == (2, 0, 3)
    assert outcome["usage"]["tokens_in"] == 5


async def test_a_program_that_cannot_be_signed_in_says_so(program: Programs, sink: Collected) -> None:
    body = PROGRAM.replace("CALLS", "()").replace('id": "gemini-api-key', 'id": "oauth')
    (program.folder / "gemini").write_text(body)
    (program.folder / "gemini").chmod(0o755)
    outcome = await ran(program.spec("gemini-acp"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "agent_failed")
    assert outcome["summary"] == "session/new: Authentication required"


async def test_a_model_that_does_not_answer_is_told_from_an_agent_that_failed(
    program: Programs, sink: Collected
) -> None:
    for error, failure in (("fetch failed", "provider_unavailable"), ("It broke", "agent_failed")):
        body = PROGRAM.replace("CALLS", "()").replace("not self.signed_in", "False")
        body = body.replace("        chosen = []\n", f"        raise RequestError(-32603, {error!r})\n")
        (program.folder / "gemini").write_text(body)
        (program.folder / "gemini").chmod(0o755)
        outcome = await ran(program.spec("gemini-acp"), sink)
        assert (outcome["result"], outcome["failure_type"]) == ("failure", failure)


@pytest.mark.smoke(5)
@pytest.mark.parametrize(
    "body",
    [
        "sys.stdin.readline(); print('no JSON')",
        'print(\'{"jsonrpc": "2.0", "id": 1, "result": [1]}\', flush=True); sys.stdin.readline()',
        'sys.stdin.readline(); print(\'{"jsonrpc": "2.0", "id": 7, "method": "session/request_permission"}\')',
        'print(\'{"jsonrpc": "2.0", "id": [], "method": 7}\', flush=True); sys.stdin.readline()',
        "",
    ],
)
async def test_a_program_that_breaks_the_protocol_ends_as_any_that_broke_off(
    program: Programs, sink: Collected, body: str
) -> None:
    program("gemini", body)
    outcome = await ran(program.spec("gemini-acp"), sink)
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_final_event")
