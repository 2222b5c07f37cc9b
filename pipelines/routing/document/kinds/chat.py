"""A conversation with a model, which may ask for tools."""

from __future__ import annotations

from pipelines.routing.document.work.keys import FlagKey, StationKey
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import HISTORY, prompt_first_line, question_keys

KIND = Kind(
    key="chat",
    name="Chat",
    about="A model answers, and may ask for tools.",
    icon="message-square",
    docs="kinds.md#chat",
    title="Chat with a model",
    keys={
        **question_keys(
            "A template: {{task.title}}, {{input.key}}, {{context.key}}.",
            "say what the model is asked",
            spared=lambda work: bool(work.get("history")),
        ),
        "stream": FlagKey(label="Show the answer in the log while it comes", default=True),
        "tools": StationKey(
            label="Tools of",
            help="The model may call what this station declares. It is run when a rule leads there.",
            kind="tools",
            none="No tools",
        ),
        "history": HISTORY,
    },
    fields=("prompt", "system", "model", "temperature", "max_tokens", "tools", "history", "stream"),
    calls=True,
    asks_a_model=True,
    evals=("stop", "tool-call", "length"),
    tells=True,
    actor="agent",
    says=prompt_first_line,
    silent="It goes on with a conversation.",
)
