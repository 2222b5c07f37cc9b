"""Facts of an agent's run (law §13): the groups `agent`, `commands` and `usage`. Commands and usage are as
the program reports them."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.agents import Preset
from pipelines.work.agents.stream import Stream

UNAVAILABLE = "unavailable"
REPORTED, TABLE, NONE = "reported", "table", "none"
MILLION = 1_000_000
Price = tuple[float, float] | None
"""US dollars of a million tokens in, and out."""


def agent_facts(preset: Preset, stream: Stream, price: Price = None) -> dict[str, Any]:
    """`agent.final_event` is left out where the preset has none; `agent.provider` is there where the model did not
    answer."""
    agent: dict[str, Any] = {"name": stream.name or preset.name}
    details = {"version": stream.version, "session": stream.session}
    agent |= {name: value for name, value in details.items() if value}
    if preset.final_event:
        agent["final_event"] = bool(stream.final_event)
    if stream.provider_down:
        agent["provider"] = UNAVAILABLE
    return {
        "agent": agent,
        "commands": facts_of_command_counts(stream),
        "usage": usage_with_cost(stream, price),
    }


def facts_so_far(preset: Preset, stream: Stream, price: Price = None) -> dict[str, Any]:
    """Return the facts of a run that goes on, as if it ended in order now."""
    facts = agent_facts(preset, stream, price)
    if preset.final_event:
        facts["agent"]["final_event"] = True
    # Its model answered: it asks
    facts["agent"].pop("provider", None)
    return facts


def facts_of_command_counts(stream: Stream) -> dict[str, Any]:
    counts = stream.commands
    last = {} if counts.last_exit_code is None else {"last_exit_code": counts.last_exit_code}
    return {"run": counts.run, "failed": counts.failed, "denied": counts.denied, **last}


def usage_with_cost(stream: Stream, price: Price = None) -> dict[str, Any]:
    """Return the usage; without `cost_usd` where there is no price."""
    usage, amount = stream.usage, reported_or_computed_cost(stream, price)
    cost = {} if amount is None else {"cost_usd": round(amount, 6)}
    source = NONE if amount is None else TABLE if usage.cost is None else REPORTED
    return {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, **cost, "price": source}


def reported_or_computed_cost(stream: Stream, price: Price) -> float | None:
    """Return the cost that the program reports; else the cost of its tokens by the price of its station."""
    usage = stream.usage
    # What its program reports counts before what the station's price comes to
    if usage.cost is not None or price is None or not (usage.tokens_in or usage.tokens_out):
        return usage.cost
    return (usage.tokens_in * price[0] + usage.tokens_out * price[1]) / MILLION
