"""The tool of a gate of ALP (a draft): what of it a tool of a gate here can say, and how it is written back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.alp.expressions import ExpressionError, condition_expression, parsed_condition
from pipelines.formats.foreign.import_notes import ImportNotes, Json
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.gate_tools import MAX_RETRIES, TIMEOUT

# The one template that is understood in `cwd`: the workspace itself
FOLDER: Final = "{{project.workspaceDir}}"
PARSES: Final = {"json": "json", "text": "text", "exitCodeOnly": "exit_code"}
JUDGED: Final = (("passIf", "pass_if"), ("warnIf", "warn_if"), ("failIf", "fail_if"))
MAX_SECONDS: Final = 24 * 3600
Losses = dict[str, Any]
"""What is otherwise here, by the key that says it."""


class UnsupportedTool(ValueError):
    """The tool cannot be run here. `at`: the key that says so."""

    def __init__(self, at: str) -> None:
        super().__init__(at)
        self.at = at


def gate_tool_or_loss(gate: Mapping[str, Any], place: str, import_notes: ImportNotes) -> Json | None:
    """None where a person has to decide in its stead, which is listed."""
    tool = gate.get("tool")
    losses: Losses = {}
    try:
        made = _tool_document(tool if isinstance(tool, Mapping) else {}, losses)
    except UnsupportedTool as fault:
        import_notes.note_loss(
            f"{place}.tool.{fault.at}",
            (
                "the tool of a gate cannot do this here, so it is not run and a person decides. Give the gate"
                " checks, or a tool"
            ),
        )
        return None
    import_notes.note_loss(
        f"{place}.tool",
        "it runs on a worker of Gateline, in a copy of the workspace of the station: the program has to be there",
    )
    for at, message in losses.items():
        import_notes.note_loss(f"{place}.tool.{at}", message)
    # There a warning lets the task go on, unless the gate says that somebody looks at it.
    return {**made, "approve_warnings": gate.get("approveWarnings") is not True}


def _tool_document(tool: Mapping[str, Any], losses: Losses) -> Json:
    if tool.get("kind") != "cli":
        raise UnsupportedTool("kind")
    made: Json = {
        "argv": [
            _text_without_placeholders(tool.get("command"), "command"),
            *_argument_texts(tool.get("args")),
        ]
    }
    if folder := _tool_folder_or_empty(tool.get("cwd")):
        made["cwd"] = folder
    if tool.get("secrets"):
        raise UnsupportedTool("secrets")
    if env := tool.get("env"):
        if not isinstance(env, Mapping):
            raise UnsupportedTool("env")
        made["env"] = {
            str(name): _text_without_placeholders(value, "env", empty=True) for name, value in env.items()
        }
    if (stdin := tool.get("stdin")) is not None:
        made["stdin"] = _text_without_placeholders(stdin, "stdin", empty=True)
    else:
        losses["stdin"] = "nothing is said of it: here the tool reads the outcome of the station as JSON"
    seconds = tool.get("timeoutSeconds")
    if _is_valid_time_limit(seconds):
        made["timeout"] = seconds
    elif seconds is not None:
        losses["timeoutSeconds"] = _(
            "has to be whole seconds, up to %(most)s: here it is %(seconds)s",
            most=MAX_SECONDS,
            seconds=TIMEOUT,
        )
    if retries := _retry_fields(tool.get("retries"), losses):
        made["retries"] = retries
    return {**made, "outcome": _read_outcome(tool.get("outcome"), losses)}


def _is_valid_time_limit(value: Any) -> bool:
    # Not isinstance: true is an int to Python, too
    return type(value) is int and 0 < value <= MAX_SECONDS


def _text_without_placeholders(value: Any, at: str, empty: bool = False) -> str:
    """A text in which nothing is filled in."""
    if not isinstance(value, str) or "{{" in value or not (value or empty):
        raise UnsupportedTool(at)
    return value


def _argument_texts(arguments: Any) -> list[str]:
    if arguments is None:
        return []
    if not isinstance(arguments, list):
        raise UnsupportedTool("args")
    return [_text_without_placeholders(argument, "args") for argument in arguments]


def _tool_folder_or_empty(value: Any) -> str:
    if value is None:
        return ""
    rest = value.removeprefix(FOLDER) if isinstance(value, str) else value
    within = rest == "" or (isinstance(rest, str) and rest.startswith("/"))
    folder = _text_without_placeholders(rest if within else value, "cwd", empty=True)
    # Neither an absolute folder nor one above the workspace.
    if value.startswith("/") or ".." in folder.split("/"):
        raise UnsupportedTool("cwd")
    return folder.strip("/")


def _retry_fields(retries: Any, losses: Losses) -> Json:
    if retries is None:
        return {}
    if not isinstance(retries, Mapping):
        losses["retries"] = "has to be an object with “max”: here nothing is repeated"
        return {}
    most, pause = retries.get("max"), retries.get("backoffSeconds")
    if type(most) is not int or most < 1:
        if most is not None and (type(most) is not int or most < 0):
            losses["retries.max"] = "has to be a whole number: here nothing is repeated"
        return {}
    # Said as a loss, since the tool then fails earlier than it did there
    if most > MAX_RETRIES:
        losses["retries.max"] = _("here it is repeated %(most)s times at most", most=MAX_RETRIES)
    if pause is not None and not _is_valid_time_limit(pause):
        losses["retries.backoffSeconds"] = _(
            "has to be whole seconds, 1 to %(most)s: here it is one", most=MAX_SECONDS
        )
    return {"max": min(most, MAX_RETRIES), **({"backoff": pause} if _is_valid_time_limit(pause) else {})}


def _read_outcome(outcome: Any, losses: Losses) -> Json:
    if outcome is not None and not isinstance(outcome, Mapping):
        losses["outcome"] = "has to be an object: here the exit code decides"
    judging = outcome if isinstance(outcome, Mapping) else {}
    parse = judging.get("parse", "exitCodeOnly")
    if not isinstance(parse, str) or parse not in PARSES:
        raise UnsupportedTool("outcome.parse")
    made: Json = {"parse": PARSES[parse]}
    codes = _success_codes(judging.get("successOn"), losses)
    if codes != [0]:
        made["success_on"] = codes
    for name, key in JUDGED:
        if judging.get(name) is not None:
            try:
                made[key] = parsed_condition(judging[name])
            except ExpressionError:
                raise UnsupportedTool(f"outcome.{name}") from None
    return made


def _success_codes(success_on: Any, losses: Losses) -> list[int]:
    if success_on is not None and (not isinstance(success_on, Mapping) or success_on.keys() - {"exitCode"}):
        losses["outcome.successOn"] = "here only exit codes say so, 0 where none is named"
    codes = success_on.get("exitCode", 0) if isinstance(success_on, Mapping) else 0
    codes = codes if isinstance(codes, list) else [codes]
    if not codes or any(type(code) is not int or not 0 <= code <= 255 for code in codes):
        raise UnsupportedTool("outcome.successOn")
    return codes


def to_alp_tool(tool: Mapping[str, Any], stored: Any) -> Json:
    """Return the tool as ALP spells it. `stored`: the original tool; each part of it that still means the same
    is left as it was."""
    before = dict(stored) if isinstance(stored, Mapping) else {}
    made: Json = {
        "kind": "cli",
        "command": tool["argv"][0],
        "args": tool["argv"][1:],
        # Only whole seconds from 1 on are read back.
        "timeoutSeconds": max(1, round(tool.get("timeout", 60))),
    }
    # The original spelling stays where it still leads to this folder.
    if tool.get("cwd", ".") not in (".", _stored_folder_or_empty(before)):
        made["cwd"] = f"{FOLDER}/{tool['cwd']}"
    if tool.get("env"):
        made["env"] = dict(tool["env"])
    if tool.get("stdin") is not None:
        made["stdin"] = tool["stdin"]
    retries = tool.get("retries") or {}
    if retries.get("max"):
        made["retries"] = {"max": retries["max"], "backoffSeconds": round(retries.get("backoff", 1))}
    made["outcome"] = _alp_outcome(tool["outcome"], before.get("outcome"))
    # What the tool no longer says must not come back from the stored original.
    for key in ("env", "stdin", "retries"):
        if key not in made:
            before.pop(key, None)
    return {**before, **made}


def _stored_folder_or_empty(before: Mapping[str, Any]) -> str:
    try:
        return _tool_folder_or_empty(before.get("cwd"))
    except UnsupportedTool:
        return ""


def _alp_outcome(judged: Mapping[str, Any], stored: Any) -> Json:
    before: Mapping[str, Any] = stored if isinstance(stored, Mapping) else {}
    parse = next(name for name, ours in PARSES.items() if ours == judged.get("parse", "exit_code"))
    codes = list(judged.get("success_on") or [0])
    expressions = {
        name: text
        for name, key in JUDGED
        if (text := _condition_spelling_or_empty(judged.get(key), before.get(name)))
    }
    rest = {name: value for name, value in before.items() if name not in dict(JUDGED)}
    return {
        **rest,
        "parse": parse,
        "successOn": {"exitCode": codes[0] if len(codes) == 1 else codes},
        **expressions,
    }


def _condition_spelling_or_empty(condition: Any, before: Any) -> str:
    """Return the expression as it was spelt where that still says it. One that has no spelling is left out,
    and is recognised by reading it back."""
    for spelt in (
        lambda: str(before) if parsed_condition(before) == condition else "",
        lambda: condition_expression(condition),
    ):
        try:
            if condition is not None and (text := spelt()):
                return text
        except ExpressionError:
            continue
    return ""
