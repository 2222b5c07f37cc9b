"""A coding agent: a program that a model steers, called as its preset says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.agents import PRESETS, TABLE, Preset
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields import plain_fields
from pipelines.routing.document.fields.field import ReadContext
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import (
    PROMPT,
    AmountKey,
    ChoiceKey,
    CountKey,
    FlagKey,
    TextKey,
    Work,
    WorkKey,
)
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import prompt_first_line
from pipelines.routing.document.work.network import NONE
from pipelines.routing.document.work.references import SECRET
from pipelines.routing.document.work.tool_permissions import ALLOW, ASK, DENY, MINUTES

MOST_ALLOWED = 100
BY_KEY, ON_RUNNER = "key", "runner"
SIGN_INS = {BY_KEY: "With a stored key", ON_RUNNER: "On the runner, by its own sign-in"}
SIGNED_IN = "signed-in"
"""Before the key of a preset: what a worker offers on whose machine somebody is signed in with it."""
UNLISTED = {ALLOW: "Allow", ASK: "Ask a person", DENY: "Deny"}
MOST_MINUTES = 24 * 60
CHOICES = {preset.key: preset.name if preset.tried else f"{preset.name} (not tried)" for preset in TABLE}


def agent_preset_or_none(work: Work) -> Preset | None:
    return PRESETS.get(str(work.get("agent")))


def _is_fixed(work: Work) -> bool:
    preset = agent_preset_or_none(work)
    return preset is not None and preset.fixed


def uses_runner_sign_in(work: Work) -> bool:
    """Return whether the work borrows the sign-in of the runner's user, and gets no key."""
    return work.get("sign_in") == ON_RUNNER


def _supports_keys_only(work: Work) -> bool:
    preset = agent_preset_or_none(work)
    return preset is not None and preset.sign_in is None


def _cannot_ask(work: Work) -> bool:
    preset = agent_preset_or_none(work)
    return preset is not None and not preset.asks_first


def _sign_in_offers(work: Work) -> tuple[str, ...]:
    return (f"{SIGNED_IN}:{work.get('agent')}",) if uses_runner_sign_in(work) else ()


def _reports_price(work: Work) -> bool:
    preset = agent_preset_or_none(work)
    return preset is not None and (preset.fixed or preset.priced)


def prices_of_tokens_in_and_out_or_none(work: Work) -> tuple[float, float] | None:
    """US dollars of a million tokens in, and out, where the station says them."""
    prices = work.get("price_in"), work.get("price_out")
    return None if None in prices else (float(prices[0] or 0), float(prices[1] or 0))


def _is_unpriced(work: Work) -> bool:
    return (
        agent_preset_or_none(work) is not None
        and not _reports_price(work)
        and prices_of_tokens_in_and_out_or_none(work) is None
    )


def _agent_name(work: Work) -> str:
    preset = agent_preset_or_none(work)
    return preset.name if preset else str(work.get("agent") or "")


def _prompt_or_name(station: Station) -> str:
    return prompt_first_line(station) or _agent_name(station.work)


def _stored_names(work: Work, kind: str) -> tuple[str, ...]:
    preset = agent_preset_or_none(work)
    # Signed in on the runner it is lent that sign-in, and gets no key besides
    if preset is None or uses_runner_sign_in(work):
        return ()
    return preset.secrets if kind == SECRET else preset.environment


def _agent_hosts(work: Work) -> tuple[str, ...]:
    preset = agent_preset_or_none(work)
    if preset is None:
        return ()
    return (*preset.hosts, *(preset.sign_in.hosts if preset.sign_in and uses_runner_sign_in(work) else ()))


@dataclass(frozen=True, kw_only=True)
class AllowedCommands(plain_fields.Texts, WorkKey):
    """Commands, and tools of the program; nothing said: whatever the isolation lets through."""

    rows: int = 3

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        commands = super().read(reader, key, context)
        for index, command in enumerate(commands):
            if not command.strip() or "\n" in command or len(command) > MOST_ALLOWED:
                at = member_path(reader.path_of(key), index)
                reader.problems.note(at, "is the beginning of a command in one line, like git or uv run")
        return commands


def _agent_problems(line: ParsedLine, station: Station, path: str) -> Iterator[Problem]:
    work, preset = station.work, agent_preset_or_none(station.work)
    if preset is None:
        return
    if preset.needs_model and not str(work.get("model") or "").strip():
        message = _("%(agent)s has to be told its model", agent=preset.name)
        yield Problem(f"{path}.model", message, "like provider/model")
    # It would start, wait for its model, and fail at the first visit
    if preset.hosts and work.get("network", NONE) == NONE:
        message = _("%(agent)s cannot reach its model without the network", agent=preset.name)
        yield Problem(f"{path}.network", message, "set Network to Listed hosts, or to Open")
    if uses_runner_sign_in(work) and preset.sign_in is None:
        message = _("nobody can be signed in with %(agent)s on a runner", agent=preset.name)
        yield Problem(f"{path}.sign_in", message, "choose a stored key, or another agent")
    # With one of the two its runs would cost less than they do
    if (work.get("price_in") is None) != (work.get("price_out") is None):
        other = "price_in" if work.get("price_in") is None else "price_out"
        yield Problem(f"{path}.{other}", "is missing", "give both prices, or none")
    if work.get("allow") and not preset.limits_commands:
        message = _("%(agent)s cannot be limited to some commands", agent=preset.name)
        yield Problem(f"{path}.allow", message, "leave it empty, or choose another agent")
    # A list that is ignored would look like protection
    if _cannot_ask(work):
        for key in (ASK, DENY, "unlisted"):
            if work.get(key):
                message = _("%(agent)s cannot ask before it calls a tool", agent=preset.name)
                yield Problem(f"{path}.{key}", message, "leave it out, or choose another agent")


KIND = Kind(
    key="agent",
    name="Coding agent",
    about="A coding agent changes files, or answers.",
    icon="bot",
    docs="agents.md#set-up-a-station",
    title="Coding agent",
    keys={
        "agent": ChoiceKey(
            CHOICES,
            label="Agent",
            help="Codemod runs the fixers of the folder and needs no key. The others need a stored secret.",
            asked="choose one",
        ),
        "sign_in": ChoiceKey(
            SIGN_INS,
            label="Signing in",
            help="A stored secret; or the sign-in, with its subscription, of a runner that was started with "
            "--signed-in.",
            default=BY_KEY,
            hidden=_supports_keys_only,
        ),
        "model": TextKey(
            label="Model",
            help="Its name. Leave empty for the agent's own choice.",
            longest=200,
            code=True,
            hidden=_is_fixed,
        ),
        "prompt": TextKey(
            label="Prompt",
            help="What to do. A template: {{task.title}}, {{input.key}}, {{context.key}}.",
            longest=PROMPT,
            template=True,
            rows=5,
            asked="say what the agent has to do",
            spared=_is_fixed,
            hidden=_is_fixed,
        ),
        "allow": AllowedCommands(
            label="Allowed commands",
            help="One per line: how a command begins, or tool:Name. Leave empty to allow every command.",
            placeholder="git\nuv run",
            code=True,
        ),
        "ask": AllowedCommands(
            label="Commands to ask about",
            help="A person allows or denies each call, in the inbox. As above: how a command begins, or tool:Name.",
            placeholder="git push\ntool:WebFetch",
            code=True,
            hidden=_cannot_ask,
        ),
        "deny": AllowedCommands(
            label="Denied commands",
            help="Never run, whatever the other lists say.",
            placeholder="npm publish",
            code=True,
            hidden=_cannot_ask,
        ),
        "unlisted": ChoiceKey(
            UNLISTED,
            label="Everything else",
            help="Calls that no list names. As usual: denied beside a list of allowed commands, else allowed.",
            hidden=_cannot_ask,
        ),
        "ask_minutes": CountKey(
            label="Minutes to answer",
            help=f"A call that nobody answered by then is denied. Usually {MINUTES}.",
            least=1,
            most=MOST_MINUTES,
            placeholder=str(MINUTES),
            hidden=_cannot_ask,
        ),
        "price_in": AmountKey(
            label="Price of a million input tokens",
            help="In US dollars, for agents without a reported price. Leave empty if unknown.",
            placeholder="1.25",
            hidden=_reports_price,
        ),
        "price_out": AmountKey(
            label="Price of a million output tokens",
            placeholder="10",
            hidden=_reports_price,
        ),
        "resume": FlagKey(
            label="Continue the conversation after a send-back",
            help="The remark is the next message. Off: each run starts afresh and is told the remark.",
            default=True,
            hidden=_is_fixed,
        ),
    },
    fresh={"agent": "codemod"},
    lacks=_agent_problems,
    executes=True,
    result_document=True,
    expects="change",
    costs=lambda work: not _is_fixed(work),
    unpriced=_is_unpriced,
    hosts=_agent_hosts,
    needs=_sign_in_offers,
    actor="agent",
    signed=_agent_name,
    says=_prompt_or_name,
    stored=_stored_names,
)
