"""The fields of a station that runs tools: what may be called, and which calls need a person."""

from __future__ import annotations

from itertools import count
from typing import Any

from pipelines.routing.document.kinds.tools import HTTP, PROGRAM, TOOL
from pipelines.routing.document.work.http_call import CALL
from pipelines.routing.document.work.kind import Kind
from pipelines.web.editor.forms import fragment_paths
from pipelines.web.editor.forms.declared_fields import declared_control
from pipelines.web.editor.forms.fields import AnythingField, ChoiceField, FormField
from pipelines.web.editor.forms.form import Fragment, Rows, first_free_or_empty, member_values
from pipelines.web.editor.forms.fragment_paths import MISSING, Place

Items = list[FormField | Rows]
AT: Place = ("work", "tools")
POLICY: Place = ("work", "policy")


def action_options() -> list[tuple[str, str]]:
    return [
        ("allow", "run it"),
        ("approve", "ask a person first"),
        ("deny", "do not run it"),
    ]


def tool_rows(kind: Kind, name: str, fragment: Fragment) -> Items:
    return [
        Rows(
            at=AT,
            label=kind.keys[name].label,
            row=_tool_fields,
            new=_new_tool,
            title=_tool_title,
            add="Add a tool",
            kinds=[("argv", "Program"), ("http", "HTTP call")],
            empty="Nothing that could be called yet.",
            folded=True,
        )
    ]


def policy_fields(kind: Kind, name: str, fragment: Fragment) -> Items:
    """Its rules only where there is one."""
    options = [("", "There is no policy: every call is run"), *action_options()]
    usual = ChoiceField(at=(*POLICY, "default"), label=kind.keys[name].label, options=options, whole=POLICY)
    if fragment_paths.value_at(fragment, POLICY) is MISSING:
        return [usual]
    rules = Rows(
        at=(*POLICY, "rules"),
        label="Rules of the policy",
        row=_policy_rule_fields,
        new=lambda rules_fragment, kind: {"tool": "*", "action": "approve"},
        title=_policy_title,
        add="Add a rule",
        help="The first that matches decides.",
    )
    return [usual, rules]


def _tool_fields(fragment: Fragment, at: Place) -> Items:
    is_call = fragment_paths.value_at(fragment, (*at, "http")) is not MISSING
    does = (
        [declared_control(HTTP, (*at, "http"), key) for key in CALL]
        if is_call
        else [declared_control(TOOL, at, key) for key in PROGRAM]
    )
    return [
        declared_control(TOOL, at, "name", needed=True, covers=(fragment_paths.path_name(at),)),
        declared_control(TOOL, at, "description"),
        declared_control(TOOL, at, "parameters"),
        *does,
        declared_control(TOOL, at, "timeout"),
    ]


def _new_tool(fragment: Fragment, kind: str) -> dict[str, Any]:
    used_names = member_values(fragment, AT, "name")
    names = (f"tool-{number}" for number in count(len(used_names) + 1))
    does: dict[str, Any] = {"http": {"url": "https://"}} if kind == "http" else {"argv": ["echo"]}
    return {"name": first_free_or_empty(names, used_names), **does}


def _tool_title(member: Any, index: int) -> str:
    name = member.get("name") if type(member) is dict else None
    return name if type(name) is str and name else f"Tool {index + 1}"


def _policy_rule_fields(fragment: Fragment, at: Place) -> Items:
    names = member_values(fragment, AT, "name")
    options = [("*", "any tool"), *((name, name) for name in names if type(name) is str)]
    return [
        ChoiceField(
            at=(*at, "tool"),
            label="Tool",
            options=options,
            needed=True,
            covers=(fragment_paths.path_name(at),),
        ),
        ChoiceField(at=(*at, "action"), label="Then", options=action_options(), needed=True),
        AnythingField(
            at=(*at, "when"),
            label="Only when",
            help='A list of tests of its arguments: [{"path": "path", "op": "starts_with", "value": "/"}].',
            rows=2,
        ),
    ]


def _policy_title(member: Any, index: int) -> str:
    rule = member if type(member) is dict else {}
    words = dict(action_options()).get(str(rule.get("action")), "")
    return f"{rule.get('tool', '')}: {words}" if words else f"Rule {index + 1}"
