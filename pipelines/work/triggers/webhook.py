"""Webhooks: tasks that start when another program calls an address, signed."""

from __future__ import annotations

from typing import Any, Final

from pipelines.errors import Invalid
from pipelines.work.triggers import host_events, mapping
from pipelines.work.triggers.kind import Options, TriggerFact, TriggerKind, refuse_unknown_options
from pipelines.work.triggers.signatures import SIGNATURES, STANDARD

MAX_NAME = 100
DEFAULTS: Final = {"name": "", "signature": STANDARD, **host_events.DEFAULTS, **mapping.DEFAULTS}


def _stored_options(options: Options) -> dict[str, Any]:
    refuse_unknown_options(options, DEFAULTS)
    name = str(options.get("name", "")).strip()
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise Invalid.at("name", f"Enter what calls it, in at most {MAX_NAME} characters.")
    signature = options.get("signature", STANDARD)
    if not isinstance(signature, str) or signature not in SIGNATURES:
        raise Invalid.at("signature", f"Choose one of: {', '.join(SIGNATURES)}.")
    filters = host_events.stored_filters(options, signature)
    return {"name": name, "signature": signature, **filters, **mapping.checked_paths_to_store(options)}


def _trigger_facts(options: Options) -> list[TriggerFact]:
    facts, only_if = [], options["only_if"]
    if event := options.get("event"):
        facts.append(TriggerFact("Starts when", host_events.EVENTS[event]))
    facts += [
        TriggerFact(label, options[name]) for name, label in host_events.FILTERS.items() if options.get(name)
    ]
    return [*facts, *([TriggerFact("Only if", "The body has something at", only_if)] if only_if else [])]


WEBHOOK = TriggerKind(
    "webhook",
    "Incoming webhook",
    "webhook",
    read=_stored_options,
    words=lambda options: str(options["name"]),
    detail=lambda options: SIGNATURES[options["signature"]].label,
    facts=_trigger_facts,
    is_mapped=True,
    has_address=True,
)
