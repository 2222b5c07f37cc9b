"""Slack's methods and blocks by its own client, slack_sdk: names of arguments, kinds of blocks, and their lengths."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

from tests.published.operations import unknown_names


def call_faults(method: str, payload: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a call of a method, such as `chat.postMessage`."""
    function = getattr(WebClient, method.replace(".", "_"), None)
    if function is None:
        return [f"{method}: no such method is published"]
    parameters = inspect.signature(function).parameters
    required = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and parameter.kind is parameter.KEYWORD_ONLY
    ]
    missing = [f"{method}.{name}: is required" for name in required if name not in payload]
    blocks = [fault for block in payload.get("blocks", ()) for fault in _block_faults(block)]
    return [*unknown_names(method, payload, parameters), *missing, *blocks]


def _block_faults(block: Mapping[str, Any]) -> Iterator[str]:
    try:
        parsed = Block.parse(block)
        if parsed is None:
            yield f"{block.get('type')}: no such block is published"
            return
        parsed.validate_json()
        # What it does not know it leaves out
        if (known := parsed.to_dict()) != block:
            yield f"{block}: only {known} of it is published"
    except SlackObjectFormationError as error:
        yield f"{block.get('type')}: {error}"
