"""What a station's work says, as fields: a function for each kind of work, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.reading.work import METHODS
from pipelines.web.editor.forms import inputs, places
from pipelines.web.editor.forms.fields import (
    Anything,
    Arguments,
    Choice,
    Duration,
    Field,
    Flag,
    Number,
    Pairs,
    Text,
)
from pipelines.web.editor.forms.form import Fragment, Rows, Section, Setting
from pipelines.web.editor.forms.places import MISSING, Place

Items = list[Field | Rows]

WORK: Mapping[str, tuple[str, ...]] = {
    "command": ("argv", "prompt", "env", "cwd", "network"),
    "manual": ("instructions", "form"),
    "noop": (),
    "chat": ("system", "prompt", "model", "temperature", "max_tokens", "stream", "tools", "history"),
    "route": ("by", "system", "prompt", "model", "temperature", "max_tokens", "strict"),
    "tools": ("tools", "calls", "policy", "history", "network"),
    "http": ("method", "url", "headers", "body", "json"),
    "hook": ("argv", "env", "cwd", "network"),
    "wait": ("for", "until"),
    "error": ("message", "failure_type"),
}
"""What each kind of work reads, besides `kind`."""

PROGRAMS = ("command", "hook", "tools")
"""Kinds that run programs on a worker."""

LOGGED = ("command", "hook", "tools", "chat", "route", "http")
"""Kinds that workers do, each of which may need a label."""


def reach(fragment: Fragment) -> Section:
    """What the programs of a station may reach and use."""
    network = places.get(fragment, ("work", "network"))
    # What is usual may also be written out.
    usual = "none" if network == "none" else ""
    choice = Choice(
        at=("work", "network"),
        label=_("Network"),
        help=_("Programs without the network cannot fetch, and code of a repository cannot send."),
        options=[(usual, _("None")), ("open", _("Open"))],
    )
    numbers = [
        Number(
            at=("resources", "cpu_seconds"), label=_("Processor time (s)"), help=_("Of all its processes.")
        ),
        Number(at=("resources", "memory_mb"), label=_("Memory (MB)")),
        Number(at=("resources", "processes"), label=_("Processes")),
        Number(
            at=("resources", "disk_mb"),
            label=_("Disk (MB)"),
            help=_("Leave empty for the worker's own limits. A station that exceeds one fails."),
        ),
    ]
    shown = [choice, *numbers] if network in (MISSING, "none", "open") else numbers
    return Section(title=_("Network and resources"), fields=shown)


def sections(kind: str, fragment: Fragment, setting: Setting) -> list[Section]:
    make = SECTIONS.get(kind)
    return [make(fragment, setting)] if make else []


def _command(fragment: Fragment, setting: Setting) -> Section:
    argv, *others = program(("work",))
    prompt = Text(
        at=("work", "prompt"),
        label=_("Standard input"),
        help=_("A template: {{task.title}}, {{input.key}}, {{context.key}}."),
        rows=3,
    )
    return Section(title=_("Command"), fields=[argv, prompt, *others], open=True)


def program(at: Place) -> Items:
    return [
        Arguments(
            at=(*at, "argv"),
            label=_("Program and arguments"),
            help=_("No shell reads it: | and > are arguments. Put what has spaces into quotes."),
            placeholder="ruff check --output-format=json .",
            rows=3,
        ),
        Pairs(at=(*at, "env"), label=_("Environment"), help=_("NAME=value, one per line."), rows=2),
        Text(
            at=(*at, "cwd"),
            label=_("Folder"),
            help=_("Below the working folder of the task."),
            placeholder=".",
            code=True,
        ),
    ]


def _manual(fragment: Fragment, setting: Setting) -> Section:
    form = inputs.rows(
        ("work", "form"),
        _("Form"),
        _("Add a field"),
        _("Whoever does the work says only how it went. Add what else is wanted."),
    )
    known = places.get(fragment, ("work", "form"))
    fields: Items = [
        Text(at=("work", "instructions"), label=_("Instructions"), help=_("What is to be done."), rows=5)
    ]
    if type(known) is list or known is MISSING:
        fields.append(form)
    return Section(title=_("Work of a person"), fields=fields, open=True)


# Models


def _prompt(help_: str) -> Text:
    return Text(at=("work", "prompt"), label=_("Prompt"), help=help_, rows=5)


def _model() -> Items:
    return [
        Text(at=("work", "system"), label=_("System"), help=_("What the model is told of its part."), rows=3),
        Text(
            at=("work", "model"),
            label=_("Model"),
            help=_("Its name. Without one, the one that an operator has set."),
            code=True,
        ),
        Anything(
            at=("work", "temperature"), label=_("Temperature"), help=_("From 0 to 2."), placeholder="0.7"
        ),
        Number(at=("work", "max_tokens"), label=_("Most tokens of an answer")),
    ]


def _history() -> Text:
    return Text(
        at=("work", "history"),
        label=_("Conversation"),
        help=_("The key of the context that holds it. Stations that name the same key go on with it."),
        placeholder="conversation",
        code=True,
    )


def _chat(fragment: Fragment, setting: Setting) -> Section:
    runs = [(each.key, each.name or each.key) for each in setting.names.stations if each.kind == "tools"]
    fields: Items = [
        _prompt(_("A template: {{task.title}}, {{input.key}}, {{context.key}}.")),
        *_model(),
        Choice(
            at=("work", "tools"),
            label=_("Tools of"),
            help=_("The model may call what this station declares. It is run when a rule leads there."),
            options=[("", _("No tools")), *runs],
        ),
        _history(),
        Flag(at=("work", "stream"), label=_("Show the answer in the log while it comes"), usual=True),
    ]
    return Section(title=_("Chat with a model"), fields=fields, open=True)


def _route(fragment: Fragment, setting: Setting) -> Section:
    by_person = places.get(fragment, ("work", "by")) == "person"
    fields: Items = [
        Choice(
            at=("work", "by"),
            label=_("Who chooses"),
            options=[("", _("A model")), ("person", _("A person"))],
        ),
        _prompt(_("By what is chosen. The labels are those that the rules ask for: eval equals …")),
    ]
    if not by_person:
        strict = Flag(
            at=("work", "strict"),
            label=_("An answer without a label is a failure"),
            help=_("Otherwise it is for the rule that takes everything else."),
        )
        fields += [*_model(), strict]
    return Section(title=_("Choice of a route"), fields=fields, open=True)


# Calls


def call(at: Place) -> Items:
    return [
        Choice(
            at=(*at, "method"),
            label=_("Method"),
            options=[("", "GET"), *((each, each) for each in METHODS if each != "GET")],
        ),
        Text(
            at=(*at, "url"),
            label=_("Address"),
            help=_(
                "A template; what it inserts is escaped. Private addresses only if an operator lists them."
            ),
            placeholder="https://api.example.com/items/{{input.id}}",
            needed=True,
            code=True,
        ),
        Pairs(
            at=(*at, "headers"),
            label=_("Headers"),
            help=_('Name=value, one per line. As JSON also {"Authorization": {"secret": "NAME"}}.'),
            rows=2,
        ),
        Text(at=(*at, "body"), label=_("Body"), help=_("A template."), rows=3, code=True),
        Anything(at=(*at, "json"), label=_("Body as JSON"), help=_("Its texts are templates."), rows=3),
    ]


def _http(fragment: Fragment, setting: Setting) -> Section:
    return Section(title=_("HTTP call"), fields=call(("work",)), open=True)


def _hook(fragment: Fragment, setting: Setting) -> Section:
    words = _("It gets the task as JSON on standard input. Exit code 0 is ok, any other failed.")
    return Section(title=_("Hook"), fields=program(("work",)), help=words, open=True)


def _wait(fragment: Fragment, setting: Setting) -> Section:
    fields: Items = [
        Duration(at=("work", "for"), label=_("For"), help=_("From when the task enters the station.")),
        Text(
            at=("work", "until"),
            label=_("Until"),
            help=_("A template that gives a time: 2031-05-06T07:08:09+02:00, or a date."),
            placeholder="{{input.when}}",
            code=True,
        ),
    ]
    return Section(title=_("Wait"), fields=fields, open=True)


def _error(fragment: Fragment, setting: Setting) -> Section:
    fields: Items = [
        Text(at=("work", "message"), label=_("Message"), help=_("A template."), rows=2, needed=True),
        Text(
            at=("work", "failure_type"),
            label=_("Failure type"),
            help=_("What rules may ask for."),
            placeholder="raised",
            code=True,
        ),
    ]
    return Section(title=_("Error"), fields=fields, open=True)


# Tools


@dataclass(frozen=True, kw_only=True)
class Otherwise(Choice):
    """What a policy says of calls that no rule names; without it there is no policy."""

    def written(self, fragment: Any, typed: Sequence[str]) -> Any:
        if not typed or not typed[0]:
            return places.put(fragment, self.at[:-1], MISSING)
        return super().written(fragment, typed)


def actions() -> list[tuple[str, str]]:
    return [
        ("allow", _("run it")),
        ("approve", _("ask a person first")),
        ("deny", _("do not run it")),
    ]


def _tools(fragment: Fragment, setting: Setting) -> Section:
    fields: Items = [
        Rows(
            at=("work", "tools"),
            label=_("Tools"),
            row=_tool,
            new=_new_tool,
            title=_tool_title,
            add=_("Add a tool"),
            kinds=[("argv", _("Program")), ("http", _("HTTP call"))],
            empty=_("Nothing that could be called yet."),
            folded=True,
        ),
        _history(),
        Otherwise(
            at=("work", "policy", "default"),
            label=_("What no rule names"),
            options=[("", _("There is no policy: every call is run")), *actions()],
        ),
    ]
    if places.get(fragment, ("work", "policy")) is not MISSING:
        fields.append(
            Rows(
                at=("work", "policy", "rules"),
                label=_("Rules of the policy"),
                row=lambda given, at: _policy_rule(given, at),
                new=lambda given, kind: {"tool": "*", "action": "approve"},
                title=_policy_title,
                add=_("Add a rule"),
                help=_("The first that matches decides."),
            )
        )
    calls = Anything(
        at=("work", "calls"),
        label=_("Fixed calls"),
        help=_('A list such as [{"tool": "look", "arguments": {}}]. Without it, what the model asks for.'),
        rows=2,
    )
    return Section(title=_("Tools"), fields=[*fields, calls], open=True)


def _tool(fragment: Fragment, at: Place) -> Items:
    first: Items = [
        Text(at=(*at, "name"), label=_("Name"), needed=True, code=True, covers=(places.name(at),)),
        Text(at=(*at, "description"), label=_("Description"), help=_("The model reads it."), rows=2),
        Anything(
            at=(*at, "parameters"),
            label=_("Parameters"),
            help=_("A JSON Schema. Each is used by {{argument.name}}, and all come on standard input."),
            rows=4,
        ),
    ]
    is_call = places.get(fragment, (*at, "http")) is not MISSING
    last = Duration(at=(*at, "timeout"), label=_("Timeout"))
    return [*first, *(call((*at, "http")) if is_call else program(at)), last]


def _new_tool(fragment: Fragment, kind: str) -> dict[str, Any]:
    members = places.get(fragment, ("work", "tools"))
    taken = [places.get(each, ("name",)) for each in members] if type(members) is list else []
    number = next(n for n in range(len(taken) + 1, 2 * len(taken) + 3) if f"tool-{n}" not in taken)
    does: dict[str, Any] = {"http": {"url": "https://"}} if kind == "http" else {"argv": ["echo"]}
    return {"name": f"tool-{number}", **does}


def _tool_title(member: Any, index: int) -> str:
    name = member.get("name") if type(member) is dict else None
    return name if type(name) is str and name else _("Tool %d") % (index + 1)


def _policy_rule(fragment: Fragment, at: Place) -> Items:
    members = places.get(fragment, ("work", "tools"))
    names = [places.get(each, ("name",)) for each in members] if type(members) is list else []
    options = [("*", _("any tool")), *((each, each) for each in names if type(each) is str)]
    return [
        Choice(at=(*at, "tool"), label=_("Tool"), options=options, needed=True, covers=(places.name(at),)),
        Choice(at=(*at, "action"), label=_("Then"), options=actions(), needed=True),
        Anything(
            at=(*at, "when"),
            label=_("Only when"),
            help=_(
                'A list of tests of its arguments: [{"path": "path", "op": "starts_with", "value": "/"}].'
            ),
            rows=2,
        ),
    ]


def _policy_title(member: Any, index: int) -> str:
    said = member if type(member) is dict else {}
    words = dict(actions()).get(str(said.get("action")), "")
    return f"{said.get('tool', '')}: {words}" if words else _("Rule %d") % (index + 1)


SECTIONS: Mapping[str, Callable[[Fragment, Setting], Section]] = {
    "command": _command,
    "manual": _manual,
    "chat": _chat,
    "route": _route,
    "tools": _tools,
    "http": _http,
    "hook": _hook,
    "wait": _wait,
    "error": _error,
}
