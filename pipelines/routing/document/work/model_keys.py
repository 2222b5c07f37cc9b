"""The keys of a question to a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.keys import (
    PROMPT,
    ContextKey,
    CountKey,
    NumberKey,
    TextKey,
    Work,
    WorkKey,
    never_applies,
)

HOTTEST = 2
HISTORY = ContextKey(
    label="Conversation",
    help="The key of the context that holds it. Stations that name the same key go on with it.",
    placeholder="conversation",
    code=True,
)


def question_keys(
    prompt_help: str,
    missing_hint: str,
    *,
    spared: Callable[[Work], bool],
    hidden: Callable[[Work], bool] = never_applies,
) -> Mapping[str, WorkKey]:
    """Return the keys of a question to a model. `prompt_help`: the help of the prompt; `missing_hint` and
    `spared`: what is said where it is missing, and whether this work does without it; `hidden`: of all other
    keys."""
    return {
        "system": TextKey(
            label="System",
            help="What the model is told of its part.",
            longest=PROMPT,
            template=True,
            rows=3,
            hidden=hidden,
        ),
        "prompt": TextKey(
            label="Prompt",
            help=prompt_help,
            longest=PROMPT,
            template=True,
            rows=5,
            asked=missing_hint,
            spared=spared,
        ),
        "model": TextKey(
            label="Model",
            help="Its name. Without one, the one that an operator has set.",
            longest=200,
            code=True,
            hidden=hidden,
        ),
        "temperature": NumberKey(
            label="Temperature",
            help="From 0 to 2.",
            placeholder="0.7",
            most=HOTTEST,
            hidden=hidden,
        ),
        "max_tokens": CountKey(label="Most tokens of an answer", least=1, hidden=hidden),
    }


def prompt_first_line(station: Station) -> str:
    """Return the first line of the prompt."""
    return str(station.work.get("prompt") or "").strip().partition("\n")[0][:120]
