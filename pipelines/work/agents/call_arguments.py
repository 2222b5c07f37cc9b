"""Arguments of a program's call: its preset, filled in. No shell reads them, and no output of an agent can be
an option."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.document.agents.preset import ToolServerOptions
from pipelines.routing.document.work.tool_permissions import ALLOW, TOOL
from pipelines.work.spec.agent_call import AgentCall

# Begins with no dash: the name comes from an agent, and becomes an argument.
SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
LEAST: Final = 0.01
"""US dollars: a program takes no cap of nothing."""
SERVER: Final = "gateline"
"""Name of the server with the tools of the task, as programs call it."""
_STRICT_VALUE: Final = {
    "anyOf": [
        *({"type": name} for name in ("string", "number", "boolean", "null")),
        {"type": "array", "items": {"type": "string"}},
    ]
}
"""Value of an output key where no type may be left open: an object would have to name its fields."""
_PLACE = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True)
class ToolCommand:
    """Command that starts the pipe to the tools of the task. `servers`: the file that names it to a program."""

    program: str
    arguments: tuple[str, ...]
    servers: str


def servers_document(command: ToolCommand, options: ToolServerOptions) -> dict[str, Any]:
    """Return the document that tells a program of the server."""
    entry = {"command": command.program, "args": list(command.arguments), **dict(options.entry)}
    return {"mcpServers": {SERVER: entry}}


def acp_servers(command: ToolCommand | None) -> list[dict[str, Any]]:
    """Return the server as the Agent Client Protocol names it to a program."""
    if command is None:
        return []
    return [{"name": SERVER, "command": command.program, "args": list(command.arguments), "env": []}]


def can_resume(call: AgentCall) -> bool:
    """Return whether there is a session to continue, and its name is valid: it comes from an agent."""
    return bool(call.preset.resume) and bool(SESSION.fullmatch(call.session)) and call.remark is not None


def agent_argv(
    call: AgentCall,
    *,
    resumed: bool,
    isolated: bool,
    places: Mapping[str, str],
    tools: ToolCommand | None = None,
    schema: str = "",
) -> tuple[str, ...]:
    """The program and its arguments. `places`: what {prompt}, {file}, {folder} and {schemafile} are; `schema`: that of
    its last answer, "" for any."""
    preset = call.preset
    known = {
        **places,
        "schema": schema,
        "session": call.session,
        "model": call.model,
        "cost": f"{max(call.cost or 0, LEAST):.2f}",
    }
    known["prompt"] = _escape_option(places.get("prompt", ""))
    asks = call.policy is not None and tools is not None
    parts = [*(preset.resume if resumed else preset.argv)]
    if asks:
        # What lets a program work unattended would keep it from asking
        parts = [part for part in parts if part not in preset.unattended]
    more = [
        *(preset.isolated if isolated else preset.exposed),
        *(preset.asking if asks else ()),
        *(preset.model if call.model else ()),
        *(preset.cap if call.cost is not None else ()),
        *(preset.tools.argv if preset.tools and tools else ()),
        *(preset.output_schema.argv if preset.output_schema and schema else ()),
    ]
    if tools:
        # JSON: Codex reads TOML, in which such texts and lists are written the same
        program, arguments = (
            json.dumps(value, ensure_ascii=False) for value in (tools.program, tools.arguments)
        )
        known |= {"servers": tools.servers, "program": program, "arguments": arguments}
    options = [
        *(_filled_part(part, known) for part in more),
        *_permission_options(call, asks=tools is not None),
    ]
    # Before what is no option at the end: "-" for standard input, "resume ID -" of Codex.
    at = next((index for index, part in enumerate(parts) if part in ("resume", "-")), len(parts))
    return (
        *(_filled_part(part, known) for part in parts[:at]),
        *options,
        *(_filled_part(part, known) for part in parts[at:]),
    )


def output_schema_or_empty(call: AgentCall, keys: Sequence[str]) -> str:
    """Return the schema of a last answer with these keys as JSON, "" where the program takes none."""
    option = call.preset.output_schema
    # The state of the repository is Gateline's to say
    required = [key for key in keys if key != "git"]
    if option is None or not required:
        return ""
    values: dict[str, Any] = dict.fromkeys(required, _STRICT_VALUE if option.strict else {})
    fields = {"type": "object", "properties": values, "required": required, "additionalProperties": False}
    return json.dumps(fields, ensure_ascii=False)


def _permission_options(call: AgentCall, *, asks: bool) -> Iterator[str]:
    """Yield what is allowed and denied. Where the program asks about each call, nothing is allowed beforehand; where it
    should and cannot, what it would have to ask about is denied."""
    preset, policy = call.preset, call.policy
    denied: tuple[str, ...] = ()
    allowed, everything = call.allow, not call.allow
    if policy is not None and asks:
        allowed, denied, everything = (), policy.deny, False
    elif policy is not None:
        denied, everything = (*policy.ask, *policy.deny), policy.unlisted == ALLOW
    if everything:
        yield from preset.allow_all
    else:
        yield from preset.allow_some
        yield from _entry_options(allowed, preset.allow_command, preset.allow_tool)
    yield from _entry_options(denied, preset.deny_command, preset.deny_tool)


def _entry_options(
    entries: tuple[str, ...], of_command: tuple[str, ...], of_tool: tuple[str, ...]
) -> Iterator[str]:
    for entry in entries:
        for part in of_tool if entry.startswith(TOOL) else of_command:
            yield _filled_part(part, {"tool": entry.removeprefix(TOOL).strip(), "command": entry.strip()})


def agent_environment(call: AgentCall, tools: ToolCommand | None = None) -> dict[str, str]:
    """Variables that are always set, the permissions of a program that takes them so, and where the tools are."""
    preset = call.preset
    variables = dict(preset.settings)
    if preset.sign_in and call.signed_in:
        variables |= dict(preset.sign_in.settings)
    options = preset.tools if tools else None
    if options and options.variable and tools:
        variables[options.variable] = tools.servers
    if preset.permissions:
        document: dict[str, Any] = {"permission": opencode_permissions(call.allow)}
        if options and options.in_permissions and tools:
            entry = {"type": "local", "command": [tools.program, *tools.arguments], "enabled": True}
            document |= {"mcp": {SERVER: entry}}
            # Beside a list of commands everything that it does not name is denied
            document["permission"][f"{SERVER}_*"] = "allow"
        variables[preset.permissions] = json.dumps(document)
    return variables


def opencode_permissions(allow: tuple[str, ...]) -> dict[str, object]:
    """Return the permissions as OpenCode has them: nothing asks, since nobody could answer."""
    if not allow:
        return {"edit": "allow", "bash": "allow", "webfetch": "allow", "external_directory": "deny"}
    commands = [entry.strip() for entry in allow if not entry.startswith(TOOL)]
    # Each command alone, and with arguments
    bash = {"*": "deny"} | {form: "allow" for command in commands for form in (command, f"{command} *")}
    tools = {entry.removeprefix(TOOL).strip(): "allow" for entry in allow if entry.startswith(TOOL)}
    return {"webfetch": "deny", "external_directory": "deny", "edit": "allow", "bash": bash, **tools}


def _filled_part(part: str, known: Mapping[str, str]) -> str:
    # Each part once: braces inside of a prompt are not filled in.
    return _PLACE.sub(lambda match: known.get(match[1], match[0]), part)


def _escape_option(prompt: str) -> str:
    # The program would take it for an option.
    return f" {prompt}" if prompt.startswith("-") else prompt
