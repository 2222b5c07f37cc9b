"""Program of a coding agent, as its preset and its station have it called."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from pipelines.formats.evidence.trees.lock_files import LOCK_FILES
from pipelines.work.agents.call_arguments import (
    ToolCommand,
    agent_argv,
    agent_environment,
    output_schema_or_empty,
)
from pipelines.work.spec.agent_call import AgentCall
from pipelines.work.spec.handler_io import Spec

CODEMOD: Final = Path(__file__).parents[1] / "agents" / "codemod.py"
ISOLATED: Final = ("bubblewrap", "landlock")
PROMPT_FILE: Final = "prompt.txt"
SCHEMA_FILE: Final = "output-schema.json"
IDLE_SECONDS: Final = 1200.0
"""Where the station says nothing: a program that hangs is silent."""


def agent_program_spec(
    spec: Spec, call: AgentCall, prompt: str | None, resumed: bool, tools: ToolCommand | None
) -> Spec:
    """Return the spec of the program itself: its arguments, and its prompt by the channel that it takes."""
    preset, attempt = call.preset, spec.attempt
    attempt.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = attempt.inputs_folder / PROMPT_FILE
    if preset.prompt == "file":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(prompt or "", "utf-8", "backslashreplace")
    places = {"folder": str(attempt.workspace.resolve()), "file": str(file), "prompt": prompt or ""}
    schema = (
        "" if tools or spec.result_document == "required" else output_schema_or_empty(call, spec.output_keys)
    )
    if schema:
        schema_file = attempt.inputs_folder / SCHEMA_FILE
        schema_file.parent.mkdir(parents=True, exist_ok=True)
        schema_file.write_text(schema, "utf-8")
        places["schemafile"] = str(schema_file)
    isolated = spec.isolation.name in ISOLATED
    argv = agent_argv(call, resumed=resumed, isolated=isolated, places=places, tools=tools, schema=schema)
    if preset.fixed:
        locks = (part for name in LOCK_FILES for part in ("--leave", name))
        # With -I neither variables nor the folder of the station change what Python loads.
        argv = (sys.executable, "-I", str(CODEMOD), *argv[1:], *locks)
    idle = IDLE_SECONDS if spec.limits.idle is None else spec.limits.idle
    return replace(
        spec,
        argv=argv,
        prompt=prompt if preset.prompt == "stdin" else None,
        env={**spec.env, **agent_environment(call, tools), "HOME": str(attempt.home)},
        limits=replace(spec.limits, idle=idle),
    )
