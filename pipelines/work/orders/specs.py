"""The spec for each kind of work: its keys with every template rendered (law §8a). A kind that needs no more than
that has no function here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from pipelines.routing.basics.durations import parse_seconds
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document.agents import PRESETS, Preset
from pipelines.routing.document.kinds import KINDS
from pipelines.routing.document.kinds.agent import prices_of_tokens_in_and_out_or_none, uses_runner_sign_in
from pipelines.routing.document.kinds.noop import KIND as NOOP_KIND
from pipelines.routing.document.kinds.tools import ARGUMENT
from pipelines.routing.document.templates import FAMILIES
from pipelines.routing.document.work.keys import JsonKey
from pipelines.routing.document.work.keys import TextKey as TextKey
from pipelines.routing.document.work.network import egress_entries_or_none, name_and_port_of_host_or_none
from pipelines.routing.document.work.tool_permissions import tool_policy_or_none
from pipelines.work.agents.lent_sign_in import LentSignIn
from pipelines.work.config import WorkerConfig
from pipelines.work.orders.order import (
    MAX_SECONDS,
    Orders,
    Unrenderable,
    command_spec,
    feedback_section,
    follow_up_prompt,
    rendered_text,
    rendered_text_or_stored_value,
    station_prompt_or_none,
)
from pipelines.work.processes.isolation import Access
from pipelines.work.spec.agent_call import AgentCall
from pipelines.work.spec.handler_io import Attempt, ProcessLimits, Spec
from pipelines.work.spec.offered_tools import Argument, OfferedTool, RequestTemplate, Text, tool_definitions

# `{{ … }}`, over several lines, too
PLACE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
# A tool must not write a result document: it would speak for its station.
NOT_FOR_TOOLS = ("GATELINE_RESULT", "RESULT_DOC_PATH")


def job_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """:raises Unrenderable: before anything starts"""
    return SPECS.get(orders.kind, text_spec)(orders, attempt, config)


def pushed_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """Build the spec for the visit of somebody who pushed to the branch: nothing runs (law §15)."""
    by = orders.git.pushed_by if orders.git else ""
    return replace(shared_spec(orders, attempt, config), kind=NOOP_KIND.key, work={"pushed_by": by})


def readable_values(orders: Orders) -> dict[str, Any]:
    """Return what the work may read as values."""
    return {family: orders.scope[family] for family in FAMILIES}


def shared_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """The part of the spec shared by every kind except a command."""
    station = orders.station
    return Spec(
        kind=station.kind,
        attempt=attempt,
        limits=ProcessLimits(idle=station.idle_timeout, total=station.max_timeout or MAX_SECONDS),
        output_keys=tuple(station.output_keys),
        isolation=config.isolation,
        work=station.work,
        data=readable_values(orders),
        outgoing=config.outgoing,
        feedback=orders.feedback,
        question=orders.asked,
    )


def text_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    """The spec of most kinds: their template keys, rendered."""
    made, work = shared_spec(orders, attempt, config), dict(orders.station.work)
    for name, key in KINDS[orders.kind].keys.items():
        if isinstance(key, TextKey | JsonKey) and any(key.templates(work.get(name), name)):
            work[name] = map_texts(work[name], partial(rendered_text, orders, name))
    return replace(made, work=work)


def chat_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    return replace(
        text_spec(orders, attempt, config),
        prompt=station_prompt_or_none(orders),
        feedback=feedback_section(orders) if orders.feedback else "",
        labels=orders.station.labels,
        offered=tuple(tool_definitions(orders.declared)),
    )


def agent_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    made, work = command_spec(orders, attempt, config), orders.station.work
    preset = PRESETS.get(str(work.get("agent")))
    if preset is None:
        raise Unrenderable(f"{orders.station.key}: work.agent names no agent that this worker knows.")
    signed_in = _lent_sign_in(preset, config, attempt) if uses_runner_sign_in(work) else None
    stored = {} if signed_in else _selected_values(preset.environment, config.named_variables)
    secret = {} if signed_in else _selected_values(preset.secrets, config.named_secrets)
    # Taken out of the environment: the agent reads these from files
    files = {path: secret.pop(name) for name, path in preset.secret_files if name in secret}
    call = AgentCall(
        preset,
        model=str(work.get("model") or ""),
        allow=tuple(work.get("allow") or ()),
        policy=tool_policy_or_none(work),
        cost=orders.station.cost_usd,
        # An agent that tells its cost itself needs no price
        price=None if preset.priced else prices_of_tokens_in_and_out_or_none(work),
        limit=orders.station.cost_limit,
        session=orders.session,
        signed_in=signed_in,
        files=files,
        remark=follow_up_prompt(orders) if orders.feedback else None,
    )
    if egress_entries_or_none(work.get("network")) is not None:
        made = replace(
            made,
            access=_access_with_usual_hosts_replaced_by_model_hosts(
                made.access, preset, stored, egress_entries_or_none(work.get("network")) or ()
            ),
        )
    return replace(
        made, agent=call, prompt=None if preset.fixed else made.prompt, env={**made.env, **stored, **secret}
    )


def _lent_sign_in(preset: Preset, config: WorkerConfig, attempt: Attempt) -> LentSignIn:
    """:raises Unrenderable"""
    if preset.key not in config.signed_in:
        raise Unrenderable(f"{preset.name} is not signed in on this runner, and the station asks for that.")
    return LentSignIn(preset, config.signed_in[preset.key], attempt.home)


def _selected_values(names: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    return {name: known[name] for name in names if name in known}


def _access_with_usual_hosts_replaced_by_model_hosts(
    access: Access, preset: Preset, variables: Mapping[str, str], station_urls: tuple[str, ...]
) -> Access:
    """Its model is where the stored variables say; the usual hosts are left out then, unless the station lists them."""
    usual = {name_and_port_of_host_or_none(url) for url in preset.hosts} - {
        name_and_port_of_host_or_none(url) for url in station_urls
    }
    its = [host for url in preset.model_hosts(variables) if (host := name_and_port_of_host_or_none(url))]
    others = (host for host in access.hosts if host not in usual)
    return replace(access, hosts=tuple(dict.fromkeys((*its, *others))))


def hook_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    return replace(command_spec(orders, attempt, config), data=readable_values(orders))


def http_call_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    made, work = shared_spec(orders, attempt, config), orders.station.work
    rendered_work: dict[str, Any] = {**work, "url": rendered_url(orders, str(work.get("url", "")))}
    rendered_work["headers"] = {
        name: rendered_text_or_stored_value(orders, f"headers.{name}", value, config)
        for name, value in (work.get("headers") or {}).items()
    }
    if "body" in work:
        rendered_work["body"] = rendered_text(orders, "body", str(work["body"]))
    if "json" in work:
        rendered_work["json"] = map_texts(work["json"], lambda text: rendered_text(orders, "json", text))
    return replace(made, work=rendered_work)


def rendered_url(orders: Orders, text: str) -> str:
    """Render an address. Values are inserted escaped, except one at the beginning, which is the address itself."""

    def encoded_value(match: re.Match[str]) -> str:
        value = rendered_text(orders, "url", match[0])
        return value if match.start() == 0 else quote(value, safe="")

    return PLACE.sub(encoded_value, text.strip())


def map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A JSON value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [map_texts(member, change) for member in value]
    if isinstance(value, Mapping):
        return {key: map_texts(member, change) for key, member in value.items()}
    return value


# Tools


def tools_spec(orders: Orders, attempt: Attempt, config: WorkerConfig) -> Spec:
    from_a_command = command_spec(orders, attempt, config)
    made, work = shared_spec(orders, attempt, config), dict(orders.station.work)
    work["calls"] = [
        {
            **call,
            "arguments": map_texts(
                call.get("arguments") or {}, lambda text: rendered_text(orders, "calls", text)
            ),
        }
        for call in work.get("calls") or ()
    ]
    return replace(
        made,
        access=from_a_command.access,
        resources=from_a_command.resources,
        env={name: value for name, value in from_a_command.env.items() if name not in NOT_FOR_TOOLS},
        work=work,
        tools=tuple(_offered_tool(orders, tool, config) for tool in work.get("tools") or ()),
    )


def _offered_tool(orders: Orders, tool: Mapping[str, Any], config: WorkerConfig) -> OfferedTool:
    place = f"tools.{tool['name']}"
    timeout = tool.get("timeout")
    return OfferedTool(
        name=tool["name"],
        parameters=tool.get("parameters") or {},
        argv=tuple(_parts_of_text(orders, f"{place}.argv", part) for part in tool.get("argv") or ()),
        env={
            name: _parts_of_value(orders, f"{place}.env", value, config)
            for name, value in (tool.get("env") or {}).items()
        },
        cwd=rendered_text(orders, f"{place}.cwd", tool.get("cwd") or "."),
        timeout=None if timeout is None else parse_seconds(timeout),
        http=_request_template(orders, place, tool["http"], config) if "http" in tool else None,
    )


def _request_template(
    orders: Orders, place: str, call: Mapping[str, Any], config: WorkerConfig
) -> RequestTemplate:
    header_items = (call.get("headers") or {}).items()
    headers = {
        name: _parts_of_value(orders, f"{place}.headers", value, config) for name, value in header_items
    }
    value = call.get("json", MISSING)
    return RequestTemplate(
        method=str(call.get("method") or "GET"),
        url=_parts_of_text(orders, f"{place}.url", call["url"].strip(), in_address=True),
        headers=headers,
        body=_parts_of_text(orders, f"{place}.body", call.get("body") or ""),
        json=value
        if value is MISSING
        else map_texts(value, lambda text: _parts_of_text(orders, f"{place}.json", text)),
    )


def _parts_of_value(orders: Orders, place: str, value: Any, config: WorkerConfig) -> Text:
    """Open a value as `_parts_of_text` does; or the secret or variable that is named in its stead, in which no
    argument is looked for."""
    if isinstance(value, str):
        return _parts_of_text(orders, place, value)
    return (rendered_text_or_stored_value(orders, place, value, config),)


def _parts_of_text(orders: Orders, place: str, text: str, *, in_address: bool = False) -> Text:
    """A text with everything rendered but the places of arguments."""
    parts: list[str | Argument] = []
    end = 0
    for match in ARGUMENT.finditer(text):
        parts += [_rendered_part(orders, place, text[end : match.start()], in_address and end > 0)]
        parts += [Argument(match[1])]
        end = match.end()
    parts.append(_rendered_part(orders, place, text[end:], in_address and end > 0))
    return tuple(part for part in parts if part != "")


def _rendered_part(orders: Orders, place: str, text: str, inside: bool) -> str:
    if not inside:
        return rendered_url(orders, text) if place.endswith(".url") else rendered_text(orders, place, text)
    return PLACE.sub(lambda match: quote(rendered_text(orders, place, match[0]), safe=""), text)


SPECS: Mapping[str, Callable[[Orders, Attempt, WorkerConfig], Spec]] = {
    "agent": agent_spec,
    "command": command_spec,
    "hook": hook_spec,
    "tools": tools_spec,
    "chat": chat_spec,
    "route": chat_spec,
    "http": http_call_spec,
}
