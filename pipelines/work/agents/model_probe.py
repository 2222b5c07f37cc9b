"""Probe of a coding agent's model, whether it answers to a key: one question about the models that it offers,
which costs nothing. It is asked from where this runs; a runner elsewhere may be let through, or not."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx2

from pipelines.routing.document.agents import Preset
from pipelines.work.outgoing.guard import Guard
from pipelines.work.outgoing.http_fetch import Call, fetch_url

SECONDS: Final = 10.0
MOST_BYTES: Final = 64 * 1024
ANSWERED, REFUSED, AWAY, UNKNOWN = "answered", "refused", "away", "unknown"


@dataclass(frozen=True)
class ModelQuestion:
    """Question for one kind of key. `address`: the list of its models; `base`: the variable that takes its
    place, and the path after that; `header`: the one that carries the key."""

    address: str
    header: str
    base: tuple[str, str] = ("", "")
    prefix: str = ""
    more: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelAnswer:
    """`state`: answered, refused (the key), away, or unknown; `said`: the status, or why it was not reached."""

    state: str
    host: str = ""
    said: str = ""
    seconds: float = 0.0


CLAUDE: Final = {"anthropic-version": "2023-06-01"}
QUESTIONS: Final[Mapping[str, ModelQuestion]] = {
    "ANTHROPIC_API_KEY": ModelQuestion(
        "https://api.anthropic.com/v1/models", "x-api-key", ("ANTHROPIC_BASE_URL", "/v1/models"), more=CLAUDE
    ),
    "ANTHROPIC_AUTH_TOKEN": ModelQuestion(
        "https://api.anthropic.com/v1/models",
        "authorization",
        ("ANTHROPIC_BASE_URL", "/v1/models"),
        "Bearer ",
        CLAUDE,
    ),
    "OPENAI_API_KEY": ModelQuestion(
        "https://api.openai.com/v1/models", "authorization", ("OPENAI_BASE_URL", "/models"), "Bearer "
    ),
    "GEMINI_API_KEY": ModelQuestion(
        "https://generativelanguage.googleapis.com/v1beta/models",
        "x-goog-api-key",
        ("GOOGLE_GEMINI_BASE_URL", "/v1beta/models"),
    ),
    "OPENROUTER_API_KEY": ModelQuestion(
        "https://openrouter.ai/api/v1/key", "authorization", prefix="Bearer "
    ),
}
"""By the name of the secret. Of the others nobody says how to ask: a subscription, a cloud, a host's token."""


def secret_that_can_ask_model(preset: Preset, stored: list[str]) -> str:
    """The name of the stored secret with which its model can be asked, "" where none can."""
    return next((name for name in preset.secrets if name in stored and name in QUESTIONS), "")


async def probe_model(secret: str, key: str, variables: Mapping[str, str], guard: Guard) -> ModelAnswer:
    """`variables`: the stored ones of its agent, a base address among them. No redirect gets the key."""
    question = QUESTIONS[secret]
    base, path = question.base
    address = f"{variables[base].rstrip('/')}{path}" if variables.get(base) else question.address
    began = time.monotonic()
    try:
        host = httpx2.URL(address).host
        # A key goes without encryption only to hosts that the operator has listed.
        if not address.startswith("https://") and not guard.is_listed_host(host):
            return ModelAnswer(AWAY, host, "its address is not https")
        headers = {question.header: f"{question.prefix}{key}", **question.more}
        answer = await fetch_url(Call("GET", address, headers), guard, SECONDS, MOST_BYTES)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return ModelAnswer(AWAY, said=str(error) or type(error).__name__)
    # Neither says anything of the key.
    state = AWAY if answer.status >= 500 or answer.status == 429 else UNKNOWN
    if 200 <= answer.status < 300:
        state = ANSWERED
    elif answer.status in (401, 403):
        state = REFUSED
    return ModelAnswer(state, host, f"HTTP {answer.status}", round(time.monotonic() - began, 1))
