"""Work of a task of contenox: a model, nothing, or a person until somebody chooses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from pipelines.formats.foreign.import_notes import ImportNotes, Json, manual_work, text_or_none
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.work.model_keys import HOTTEST

CHATS: Final = ("chat_completion", "model_execution", "prompt_to_string")
CHOICES: Final = ("route", "condition_key", "prompt_to_condition")
INPUT, BEFORE = "input", "previous_output"
OF_A_MODEL: Final = ("model", "temperature", "max_tokens")
PROVIDERS: Final = ("provider", "providers", "models")
KNOWN_SETTINGS: Final = (*OF_A_MODEL, *PROVIDERS, "tools", "hooks")
OF_A_TASK: Final = ("print", "output_template", "input_max_bytes")
# {{.build}} or {{.build.…}}; an edge: {{edge_count:build->test}}
_NAME = re.compile(r"(\{\{\s*\.)([A-Za-z_]\w*)(?=\s*\}\}|\.)")
_EDGE = re.compile(r"(\{\{\s*edge_count:)([^{}]*)\}\}")
_ERROR: Final = "_error"


class Chain:
    """Relations of the tasks of a chain. `keys`: of the stations that they are, in their order. `before`: of
    a task those whose branches lead to it."""

    def __init__(self, tasks: Iterable[Mapping[str, Any]], keys: Mapping[str, str]) -> None:
        self.keys = keys
        self.chats: list[str] = []
        self.before: dict[str, list[str]] = {}
        for task in tasks:
            identity = str(task.get("id") or "task")
            if text_or_none(task.get("handler")) in CHATS:
                self.chats.append(identity)
            for goto in _goto_targets(task.get("transition")):
                self.before.setdefault(goto, []).append(identity)


def _goto_targets(transition: Any) -> Iterator[str]:
    branches = transition.get("branches") if isinstance(transition, Mapping) else None
    for branch in branches if isinstance(branches, list) else ():
        if isinstance(branch, Mapping) and isinstance(branch.get("goto"), str):
            yield branch["goto"]


def work_document(
    task: Mapping[str, Any], place: str, name: str, rules: list[Json], chain: Chain, import_notes: ImportNotes
) -> Json:
    keys = chain.keys
    handler = text_or_none(task.get("handler"))
    system = import_notes.escaped_template(
        f"{place}.system_instruction", rename_variables(task.get("system_instruction"), keys)
    )
    prompt = import_notes.escaped_template(
        f"{place}.prompt_template", rename_variables(task.get("prompt_template"), keys)
    )
    unused = [setting for setting in OF_A_TASK if task.get(setting)]
    if handler == "noop":
        _report_unused(unused, place, name, import_notes)
        return {"kind": "noop"}
    if handler == "raise_error":
        return {"kind": "error", "message": prompt or "raise_error"}
    # Without a branch that compares with a word there is nothing to choose from.
    chooses = handler in CHOICES and any("equals" in jsontext.dumps(rule.get("when")) for rule in rules)
    if handler not in CHATS and not chooses:
        instructions = "\n\n".join(part for part in (system, prompt) if part)
        return manual_work(import_notes, f"{place}.handler", name, f"the handler {handler}", instructions)
    execute_config = task.get("execute_config")
    config: Mapping[str, Any] = execute_config if isinstance(execute_config, Mapping) else {}
    _report_unused(
        [*unused, *(f"execute_config.{setting}" for setting in config if setting not in KNOWN_SETTINGS)],
        place,
        name,
        import_notes,
    )
    _report_model_losses(config, place, name, import_notes)
    if task.get("tools") or config.get("tools") or config.get("hooks"):
        import_notes.note_loss(
            place, _("%(name)s tells the model of no tools until a station declares them", name=name)
        )
    return {
        "kind": "chat" if handler in CHATS else "route",
        **({"system": system} if system else {}),
        "prompt": prompt or _default_prompt(task, place, name, chain, import_notes),
        **settings_for_model(config),
        # Another label is a failure of the handler there; `route` takes the default (B12).
        **({"strict": True} if chooses and handler != "route" else {}),
    }


def _default_prompt(
    task: Mapping[str, Any], place: str, name: str, chain: Chain, import_notes: ImportNotes
) -> str:
    """Return the prompt of a task without one of its own: what its `input_var` names, else what was answered
    before it, where a chat answered it. A task that passes something on there answers nothing here."""
    identity, input_name = str(task.get("id") or "task"), task.get("input_var")
    if input_name in chain.chats or (_is_variable(input_name) and input_name not in chain.keys):
        return rename_variables(variable_template(input_name), chain.keys)
    before = chain.before.get(identity, [])
    if input_name != "input" and before and identity != next(iter(chain.keys), None):
        if input_name in (None, BEFORE) and all(task_id in chain.chats for task_id in before):
            return variable_template(BEFORE)
        import_notes.note_loss(
            place,
            _("%(name)s is asked with the input of the chain: no station before it says a text", name=name),
        )
    return variable_template(INPUT)


def _is_variable(name: Any) -> bool:
    return isinstance(name, str) and name not in (INPUT, BEFORE) and bool(re.fullmatch(r"[A-Za-z_]\w*", name))


def variable_template(name: Any) -> str:
    return f"{{{{.{name}}}}}"


def settings_for_model(config: Mapping[str, Any]) -> Json:
    """Return a station's settings for its model, where they are no macro (T12)."""
    model, heat, most = (config.get(setting) for setting in OF_A_MODEL)
    return {
        **(
            {"model": model} if isinstance(model, str) and 0 < len(model) <= 200 and "{{" not in model else {}
        ),
        **({"temperature": heat} if _is_number(heat) and 0 <= heat <= HOTTEST else {}),  # type: ignore[operator]
        **({"max_tokens": most} if type(most) is int and 0 < most < 10**9 else {}),
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _report_unused(unused: list[str], place: str, name: str, import_notes: ImportNotes) -> None:
    if unused:
        import_notes.note_loss(
            place,
            _(
                "%(name)s has settings that are kept and do nothing here: %(keys)s",
                name=name,
                keys=", ".join(unused)[:300],
            ),
        )


def _report_model_losses(config: Mapping[str, Any], place: str, name: str, import_notes: ImportNotes) -> None:
    """Models are asked at the address that an operator has set."""
    carried = settings_for_model(config)
    for key in OF_A_MODEL:
        if config.get(key) and key not in carried:
            import_notes.note_loss(
                f"{place}.execute_config.{key}",
                _("%(name)s says no %(key)s here: it is no plain value", name=name, key=key),
            )
    if any(config.get(provider) for provider in PROVIDERS):
        import_notes.note_loss(
            f"{place}.execute_config",
            _(
                "%(name)s asks a model at the address of Gateline's settings, whichever the provider",
                name=name,
            ),
        )


def rename_variables(text: Any, names: Mapping[str, str]) -> Any:
    """A text in which tasks have the names of their stations, or the other way round."""
    if not isinstance(text, str) or "{{" not in text:
        return text

    def with_renamed_task(match: re.Match[str]) -> str:
        name = match[2]
        # {{.build_error}} goes with the task `build`.
        stem = name.removesuffix(_ERROR)
        new = names.get(name) or (f"{names[stem]}{_ERROR}" if stem in names and stem != name else name)
        return match[1] + new

    def with_renamed_edge(match: re.Match[str]) -> str:
        before, arrow, after = match[2].rstrip().rpartition("->")
        return (
            f"{match[1]}{names.get(before, before)}{arrow}{names.get(after, after)}}}}}"
            if arrow
            else match[0]
        )

    return _EDGE.sub(with_renamed_edge, _NAME.sub(with_renamed_task, text))


def task_labels(task: Mapping[str, Any]) -> list[str]:
    """Return the labels that may be chosen, a list or an object of them (B12)."""
    conditions = task.get("valid_conditions")
    if task.get("handler") not in CHOICES[1:] or not isinstance(conditions, (list, Mapping)):
        return []
    labels = [
        label for label in conditions if not isinstance(conditions, Mapping) or conditions[label] is not False
    ]
    return [label for label in labels if isinstance(label, str) and label]
