"""The fields of a station that runs tools: what may be called, and which calls need a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipelines.routing.document.kinds.tools import PROGRAM
from pipelines.routing.document.work.call import CALL
from pipelines.routing.document.work.keys import Key
from pipelines.web.editor.forms import places
from pipelines.web.editor.forms.fields import Anything, Choice, Duration, Field, Text
from pipelines.web.editor.forms.form import Fragment, Rows
from pipelines.web.editor.forms.keys import field_of, said
from pipelines.web.editor.forms.places import MISSING, Place

Items = list[Field | Rows]
AT: Place = ("work", "tools")
POLICY: Place = ("work", "policy")


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


def tools(key: Key, fragment: Fragment) -> Items:
    return [
        Rows(
            at=AT,
            label=said(key.label),
            row=_tool,
            new=_new_tool,
            title=_tool_title,
            add=_("Add a tool"),
            kinds=[("argv", _("Program")), ("http", _("HTTP call"))],
            empty=_("Nothing that could be called yet."),
            folded=True,
        )
    ]


def policy(key: Key, fragment: Fragment) -> Items:
    """Its rules only where there is one."""
    options = [("", _("There is no policy: every call is run")), *actions()]
    usual = Otherwise(at=(*POLICY, "default"), label=said(key.label), options=options)
    if places.get(fragment, POLICY) is MISSING:
        return [usual]
    rules = Rows(
        at=(*POLICY, "rules"),
        label=_("Rules of the policy"),
        row=_policy_rule,
        new=lambda given, kind: {"tool": "*", "action": "approve"},
        title=_policy_title,
        add=_("Add a rule"),
        help=_("The first that matches decides."),
    )
    return [usual, rules]


def calls(key: Key, fragment: Fragment) -> Items:
    return [Anything(at=("work", key.name), label=said(key.label), help=said(key.help), rows=2)]


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
    does = (
        [field_of(key, (*at, "http")) for key in CALL] if is_call else [field_of(key, at) for key in PROGRAM]
    )
    return [*first, *does, last]


def _new_tool(fragment: Fragment, kind: str) -> dict[str, Any]:
    members = places.get(fragment, AT)
    taken = [places.get(each, ("name",)) for each in members] if type(members) is list else []
    number = next(n for n in range(len(taken) + 1, 2 * len(taken) + 3) if f"tool-{n}" not in taken)
    does: dict[str, Any] = {"http": {"url": "https://"}} if kind == "http" else {"argv": ["echo"]}
    return {"name": f"tool-{number}", **does}


def _tool_title(member: Any, index: int) -> str:
    name = member.get("name") if type(member) is dict else None
    return name if type(name) is str and name else _("Tool %d") % (index + 1)


def _policy_rule(fragment: Fragment, at: Place) -> Items:
    members = places.get(fragment, AT)
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
