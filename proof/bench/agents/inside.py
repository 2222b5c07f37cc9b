"""One program and one case, in the namespace: writes what Gateline derives, as one line of JSON.

python -m proof.bench.agents.inside PRESET CASE FOLDER PROGRAMS"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.routing.basics.facts import facts_with_source
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.decide.situation import Situation
from pipelines.routing.document.agents import PRESETS
from pipelines.routing.document.line import ParsedLine, read_line
from pipelines.routing.document.work.tool_permissions import ToolPolicy
from pipelines.routing.sentences.decisions import decision_sentence
from pipelines.work.handlers import agent
from pipelines.work.processes.isolation import Access, isolation_places
from pipelines.work.processes.isolation_choice import choose_isolation
from pipelines.work.spec.agent_call import AgentCall, PermissionAnswer, PermissionRequest
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from pipelines.work.workspaces import picture_of_workspace
from proof.bench.agents.stub import Model

PORT = 9907
HERE = f"http://127.0.0.1:{PORT}"
MAKE = "python3 -c \"open('made.txt','w').write('x')\""
MODELS = {
    "claude": "",
    "codex": "stub-model",
    "opencode": "stub/stub-model",
    "gemini": "gemini-2.5-flash",
    "gemini-acp": "gemini-2.5-flash",
}
ENVIRONMENT = {
    "claude": {"ANTHROPIC_BASE_URL": HERE, "ANTHROPIC_API_KEY": "stub"},
    "codex": {"CODEX_API_KEY": "stub"},
    "opencode": {},
    "gemini": {"GOOGLE_GEMINI_BASE_URL": HERE, "GEMINI_API_KEY": "stub"},
    "gemini-acp": {"GOOGLE_GEMINI_BASE_URL": HERE, "GEMINI_API_KEY": "stub"},
}
SETTINGS = {
    "codex": (
        ".codex/config.toml",
        f'model_provider = "stub"\n[model_providers.stub]\nname = "stub"\nbase_url = "{HERE}/v1"\n'
        'wire_api = "responses"\nenv_key = "CODEX_API_KEY"\n',
    ),
    "gemini": (
        ".gemini/settings.json",
        json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
    ),
    "opencode": (
        ".config/opencode/opencode.json",
        json.dumps(
            {
                "provider": {
                    "stub": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": f"{HERE}/v1", "apiKey": "stub"},
                        "models": {"stub-model": {"name": "stub-model"}},
                    }
                }
            }
        ),
    ),
}


REPORT = {"outcome": "success", "summary": "I looked at it.", "output": {"verdict": "fine"}}


class Task:
    """A task at one station, which decides what its agent asks about, and keeps what it asked."""

    def __init__(self, line: ParsedLine) -> None:
        self.line, self.asked = line, list[str]()

    async def ask_permission(self, request: PermissionRequest) -> PermissionAnswer:
        """Allow it, unless it removes something."""
        command = str(request.arguments.get("command"))
        self.asked.append(command)
        return PermissionAnswer("denied" if command.startswith("rm") else "allowed", "Nothing is removed.")

    async def answer(self, question: str, outcome: Any) -> dict[str, Any]:
        self.asked.append(question)
        decision = decide(self.line, Situation("a", read_outcome(outcome))).to_stored_dict()
        return {"in_words": decision_sentence(self.line, "a", decision)}


def line_of(preset: str, case: Case) -> ParsedLine:
    station = {"key": "a", "work": {"kind": "agent", "agent": preset}, "expects": case.expects}
    return read_line({"key": "line", "stations": [station]})


@dataclass(frozen=True)
class Case:
    """`policy`: of which calls people are asked, by programs that can ask. `command`:
    what the model asks for; `allow`: what the station lets it run; `up`: whether the model answers."""

    command: str = MAKE
    allow: tuple[str, ...] = ()
    up: bool = True
    expects: str = "change"
    again: bool = False
    seconds: float = 240.0
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    policy: ToolPolicy | None = None


CASES = {
    "done": Case(),
    "denied": Case(allow=("git",)),
    "command failed": Case(command="cat no-such-file"),
    "no tool call": Case(command=""),
    "planner, grep finds nothing": Case(command="grep -r nothing-like-this .", expects="output"),
    "provider down": Case(up=False),
    "killed": Case(command="tail -f /dev/null", seconds=25.0),
    "resumed": Case(again=True),
    "asks, allowed": Case(policy=ToolPolicy(ask=("python3",))),
    "asks, denied": Case(command="rm -rf there", policy=ToolPolicy(ask=("rm",)), expects="output"),
    "tools of its task": Case(
        tools=(("what_if", {"outcome": "success"}), ("report", REPORT)), expects="output", allow=("git",)
    ),
}


async def derived(preset: str, case: Case, folder: Path, programs: Path) -> dict[str, Any]:
    attempt = Attempt(folder / "attempt")
    for each in (
        attempt.workspace,
        attempt.temporary,
        attempt.result.parent,
        attempt.inputs_folder,
        attempt.home,
    ):
        each.mkdir(parents=True)
    if preset in SETTINGS:
        name, text = SETTINGS[preset]
        (attempt.home / name).parent.mkdir(parents=True)
        (attempt.home / name).write_text(text)
    task, allowed = Task(line_of(preset, case)), case.allow if PRESETS[preset].limits_commands else ()
    readable = [programs, Path(sys.prefix), Path(sys.base_prefix)]
    in_force = await choose_isolation("auto", isolation_places(readable, [], Path.home()), folder, None)
    path = (programs / "node_modules" / ".bin", *map(Path, ("/usr/local/bin", "/usr/bin", "/bin")))
    spec = Spec(
        kind="agent",
        attempt=attempt,
        prompt="Make made.txt",
        env={
            "PATH": os.pathsep.join(map(str, path)),
            "TMPDIR": str(attempt.temporary),
            "LANG": "C.UTF-8",
            **ENVIRONMENT[preset],
        },
        limits=ProcessLimits(total=case.seconds, grace=2.0),
        isolation=in_force.isolation,
        access=Access(network=True),
        agent=AgentCall(
            PRESETS[preset],
            model=MODELS[preset],
            allow=allowed,
            port=task if case.tools or case.policy else None,
            policy=case.policy if PRESETS[preset].asks_first else None,
        ),
    )
    log = Log(folder / "log")
    outcome = await agent.run(spec, log)
    if case.again:
        (attempt.workspace / "made.txt").unlink(missing_ok=True)
        session = outcome["facts"]["agent"].get("session", "")
        call = AgentCall(PRESETS[preset], MODELS[preset], session=session, remark="Mind the gap.")
        outcome = await agent.run(replace(spec, agent=call), log)
    found = told(case, preset, attempt, outcome)
    return {**found, "asked": task.asked, "isolation": in_force.name, "notes": log.notes}


def told(case: Case, preset: str, attempt: Attempt, outcome: dict[str, Any]) -> dict[str, Any]:
    before, tree = "empty", picture_of_workspace(attempt.workspace).manifest
    seen = {"before": before, "tree": "changed" if tree else before}
    if case.expects == "output":
        outcome.setdefault("output", outcome.get("summary", ""))
    read = read_outcome({**outcome, "facts": facts_with_source(outcome.get("facts", {}), seen)})
    line = line_of(preset, case)
    answer = judge_outcome(line, line.stations[0], read)
    found = derived_outcome(answer.outcome)
    return {
        "result": found.result,
        "by": answer.by or (outcome.get("reason") or ""),
        "exit_code": outcome.get("exit_code"),
        "claim": outcome.get("summary", ""),
        "files": [entry["path"] for entry in tree],
        "facts": outcome.get("facts", {}),
    }


class Log:
    def __init__(self, path: Path) -> None:
        self.path, self.notes = path, list[str]()

    async def write(self, stream: str, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    async def note(self, text: str) -> None:
        self.notes.append(text)


def main(preset: str, name: str, folder: str, programs: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    case = CASES[name]
    if case.up:
        threading.Thread(target=Model(PORT, case.command, case.tools).serve_forever, daemon=True).start()
    print(json.dumps(asyncio.run(derived(preset, case, Path(folder), Path(programs)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
