"""Messages to Mattermost by its own types, and cards for Microsoft Teams by Microsoft's library and types."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.published.packages import published_file
from tests.published.type_script import DeclaredTypes

READER = Path(__file__).with_name("adaptive_card.cjs")
CARD = "application/vnd.microsoft.card.adaptive"
NODE_SECONDS = 60


def post_faults(payload: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a post of Mattermost, or with its answer."""
    types = _mattermost_types()
    faults = types.faults("Post", payload)
    for attachment in payload.get("props", {}).get("attachments", ()):
        # Its server keeps back from clients, for which the types are, what an action calls
        actions = [
            {name: value for name, value in action.items() if name != "integration"}
            for action in attachment.get("actions", ())
        ]
        faults += types.faults("MessageAttachment", {**attachment, "actions": actions})
    return faults


@functools.cache
def _mattermost_types() -> DeclaredTypes:
    names = ("posts", "message_attachments", "integration_actions")
    files = [published_file("@mattermost/types", f"lib/{name}.d.ts") for name in names]
    return DeclaredTypes("\n".join(file.read_text("utf-8") for file in files))


def card_message_faults(payload: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a message to a workflow of Teams: a message with cards."""
    faults = _bot_types().faults("Activity", payload)
    for attachment in payload.get("attachments", ()):
        if attachment.get("contentType") != CARD:
            faults.append(f"{attachment.get('contentType')}: a workflow posts cards alone")
        faults += _card_faults(json.dumps(attachment.get("content")))
    return faults


@functools.cache
def _bot_types() -> DeclaredTypes:
    return DeclaredTypes(published_file("botframework-schema", "lib/index.d.ts").read_text("utf-8"))


@functools.cache
def _card_faults(card: str) -> list[str]:
    """Return what Microsoft's library finds, and what of the card it does not know, which it leaves out."""
    library = published_file("adaptivecards", "dist/adaptivecards.js")
    command = ["node", str(READER), str(library)]
    said = subprocess.run(
        command, input=card, capture_output=True, text=True, timeout=NODE_SECONDS, check=True
    )
    read = json.loads(said.stdout)
    faults: list[str] = read["faults"]
    return faults or (
        [] if read["known"] == json.loads(card) else [f"only {read['known']} of it is published"]
    )
