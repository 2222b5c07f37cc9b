"""A conversation with a model, which may ask for tools."""

from __future__ import annotations

from pipelines.routing.basics.translation import gettext_noop as _
from pipelines.routing.document.work.keys import FlagKey, StationOf
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import HISTORY, asking, first_line

KIND = Kind(
    key="chat",
    name=_("Chat"),
    about=_("A model answers, and may ask for tools."),
    icon="message-square",
    docs="kinds.md#chat",
    title=_("Chat with a model"),
    keys={
        **asking(
            _("A template: {{task.title}}, {{input.key}}, {{context.key}}."),
            _("say what the model is asked"),
            spared=lambda work: bool(work.get("history")),
        ),
        "stream": FlagKey(label=_("Show the answer in the log while it comes"), default=True),
        "tools": StationOf(
            label=_("Tools of"),
            help=_("The model may call what this station declares. It is run when a rule leads there."),
            kind="tools",
            none=_("No tools"),
        ),
        "history": HISTORY,
    },
    fields=("prompt", "system", "model", "temperature", "max_tokens", "tools", "history", "stream"),
    calls=True,
    asks_a_model=True,
    evals=("stop", "tool-call", "length"),
    tells=True,
    actor="agent",
    says=first_line,
    silent=_("It goes on with a conversation."),
)
