"""What is absent in a document or a situation, filled in by the sentence that says how."""

from collections.abc import Mapping
from typing import Any

from .checks import PARTS
from .values import Json

# §4, the table of presets: no_rules / no_match / on_failure / revisit / on_reject / on_exhausted / contradiction
PRESETS: dict[str, tuple[str, str, str, str, str, str]] = {
    "alp": ("advance", "default", "halt", "allow", "fail", "fail"),
    "contenox": ("end", "fail", "halt", "allow", "fail", "stuck"),
    "vibe-factory": ("end", "stuck", "halt", "forbid", "rework", "stuck"),
    "flux": ("refuse", "fallback", "fallback", "allow", "reviewer_chooses", "stuck"),
    "aeef": ("refuse", "escalate", "escalate", "allow", "rework", "escalate"),
}
# "and the dialects' own names for them" (dialects.md, D)
USAGE_NAMES = {
    "cost_usd": "cost_usd",
    "tokens_in": "tokens_in",
    "tokens_out": "tokens_out",
    "cost.total_usd": "cost_usd",
    "tokens.input": "tokens_in",
    "tokens.output": "tokens_out",
    "timing.duration_sec": "duration_sec",
    "model": "model",
    "provider": "provider",
    "driver": "driver",
}
KNOBS = ("no_rules", "no_match", "on_failure", "revisit", "on_reject", "on_exhausted")


def present(mapping: Mapping[str, Json] | None) -> dict[str, Json]:
    """ "null = absent, except `output: null`." """
    return {key: value for key, value in (mapping or {}).items() if value is not None or key == "output"}


def knobs(document: Mapping[str, Any]) -> dict[str, Any]:
    """ "`preset` fills every policy knob that is not named below"; "`alp` (a new line starts with it)"."""
    preset = document.get("preset") or "alp"
    filled: dict[str, Any] = dict(zip(KNOBS, PRESETS[preset], strict=True))
    filled |= {"failure_rules": "yes", "condition_scope": "current", "visit_cap": 100}
    # "the `aeef` preset switches all on"; a version of before these knobs names all others
    policy = present(document.get("policy"))
    on = (
        "yes"
        if preset == "aeef" and not set(filled) | {"self_loop_limit", "contradiction"} <= set(policy)
        else "no"
    )
    filled |= {"standard_budgets": on, "preconditions": on}
    filled["self_loop_limit"] = 3 if preset == "alp" else "none"
    return filled | present(document.get("policy"))


def ends(document: Mapping[str, Any]) -> dict[str, str]:
    """End key to kind. "The ends `completed`, `failed` and `cancelled` always exist, even undeclared." """
    always = {key: key for key in ("completed", "failed", "cancelled")}
    return always | {end["key"]: end["kind"] for end in document.get("ends") or []}


def derived(given: Mapping[str, Json], work_kind: str) -> dict[str, Json]:
    """§2: "What is absent follows, and nothing else is inferred: explicit values never rewrite each other." """
    outcome = present(given)
    if not outcome.get("output_error", True):  # false: it was parseable
        del outcome["output_error"]
    if "result" not in outcome:
        # "result ← exit code (0 success, else failure), else verdict (…), else success."
        if "exit_code" in outcome:
            outcome["result"] = "success" if outcome["exit_code"] == 0 else "failure"
        elif "verdict" in outcome:
            by_verdict = {"pass": "success", "fail": "failure", "blocked": "blocked"}
            outcome["result"] = by_verdict[outcome["verdict"]]
        else:
            outcome["result"] = "success"
    if "verdict" not in outcome:
        # "verdict ← result (success pass, failure and cancelled fail, blocked blocked)."
        by_result = {"success": "pass", "failure": "fail", "cancelled": "fail", "blocked": "blocked"}
        outcome["verdict"] = by_result[outcome["result"]]
    if "eval" not in outcome:
        # "eval ← result: `ok`, `error`, `cancelled`, `blocked` (a `hook` station's failure: `failed`)."
        failure = "failed" if work_kind == "hook" else "error"
        by_result = {"success": "ok", "failure": failure, "cancelled": "cancelled", "blocked": "blocked"}
        outcome["eval"] = by_result[outcome["result"]]
    return outcome


def visits(station: str, facts: Mapping[str, Json]) -> dict[str, int]:
    """ "entries so far, the present one included (default: 1 for `station`, else 0)" """
    return {station: 1} | present(facts.get("visits"))


def first_signal(outcome: Mapping[str, Json]) -> dict[str, Json] | None:
    """ "The first valid one decides, later ones are only recorded"; "any other verdict is recorded and
    ignored"."""
    for signal in outcome.get("signals") or []:
        if signal.get("verdict") in ("proceed", "hold", "rework", "abort"):
            return present(signal)
    return None


def check_fields(
    outcome: Mapping[str, Json], facts: Mapping[str, Json], visit: int, gates: Mapping[str, Any]
) -> dict[str, Json]:
    """The fields of checks: "They read the outcome as recorded, never forced values". A null is absent."""
    signal = first_signal(outcome)
    fields: dict[str, Json] = {
        key: outcome.get(key) for key in ("exit_code", "result", "verdict", "eval", "failure_type")
    }
    fields["signal"] = signal["verdict"] if signal else None
    fields["blockers"] = len(outcome.get("blockers") or [])  # "(a number: how many)"
    fields |= {part: {} for part in PARTS}
    if "output" in outcome:
        fields["output"] = fields["meta"] = outcome["output"]  # "and the dialects' own names for them"
    fields["git"] = outcome.get("git") or {}
    others = {"stations": facts["observed"]} if facts.get("observed") else {}
    fields["facts"] = {**(outcome.get("facts") or {}), **others}  # §13: "Gate checks read `facts.<dotted>`"
    fields["task"] = facts.get("task") or {}
    fields["input"] = facts.get("inputs") or {}
    fields["context"] = facts.get("context") or {}
    fields["variables"] = facts.get("variables") or {}
    fields["usage"] = outcome.get("usage") or {}
    usage = fields["usage"]
    fields |= {name: usage.get(own) for name, own in USAGE_NAMES.items()}
    fields["run"] = {"attempt": visit}  # "`run.attempt` in documents = the visit number."
    now = {key: word["decision"] for key, word in gates.items()}
    fields["gates"] = {**(facts.get("words") or {}), **now}  # "(its last decision)"
    return fields
