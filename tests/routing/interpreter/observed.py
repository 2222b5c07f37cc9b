"""§13, Result from facts: what was observed may decide how the work went, before anything else."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from .values import Json

# "(default change …)" of kind `agent`; of others nothing is said.
BLOCKED_AS_USUAL = "denied"
WORDS = {
    "success": ("success", "pass", "ok"),
    "failure": ("failure", "fail", "error"),
    "blocked": ("blocked", "blocked", "blocked"),
    "review": ("success", "pass", "ok"),
}
NOT_THE_WORK = (
    *("template_error", "command_not_started", "resource_limit", "no_space", "prepare_failed", "merge_conflict"),
    *("base_moved", "branch_changed", "not_approved", "workspace_too_large", "supervisor_lost", "unknown_work"),
    *("no_fixer", "not_stored"),
)  # fmt: skip


def money(value: Json) -> Fraction:
    """Exact."""
    return Fraction(str(value))


def lacks(
    station: Mapping[str, Any], outcome: Mapping[str, Json], facts: Mapping[str, Any]
) -> tuple[bool, bool]:
    """Whether the tree is unchanged, and whether the output or a declared artifact is missing."""
    sources = [group.get("source") or {} for group in facts.values()]
    told = [each for each in sources if each.get("before") is not None and each.get("tree") is not None]
    if told:  # "where the `source` of a group has a `before` … that equals its `tree`"
        unchanged = bool(told[0]["before"] == told[0]["tree"])
    else:  # "where nobody said that, where `git.files_changed` is 0"
        unchanged = (facts.get("git") or {}).get("files_changed") == 0
    left = set()
    for each in outcome.get("artifacts") or []:
        if isinstance(each, str):
            left.add(each)
        elif isinstance(each, Mapping) and not each.get("error"):
            left |= {each.get("path"), each.get("name")} - {None, ""}
    needed = [each["path"] for each in station.get("artifacts") or [] if each.get("required", True)]
    gone = [path for path in needed if path not in left and path.split("/")[-1] not in left]
    output = "output" in outcome and not outcome.get("output_error")
    nothing = station.get("expects") == "output" and not output and not left
    return unchanged, bool(gone) or nothing


def has_reader(station: Mapping[str, Any], rules: Iterable[Mapping[str, Any]]) -> bool:
    """ "Somebody reads the output of a station" that names `output_keys`, expects output, is a route of a model, or has
    a rule with a condition on `output`."""
    work = station["work"]
    route = work["kind"] == "route" and work.get("by") != "person"
    asks = any(_asks(rule.get("when") or {}) for rule in rules)
    return bool(station.get("output_keys")) or station.get("expects") == "output" or route or asks


def _asks(when: Mapping[str, Any]) -> bool:
    parts = [*(when.get("all") or ()), *(when.get("any") or ()), when.get("not") or {}]
    return "output" in when or any(_asks(part) for part in parts if part)


def passes(outcome: Mapping[str, Json]) -> bool:
    """ "otherwise **passed**", by what was reported (§2)."""
    reported = {
        key: outcome[key] for key in ("result", "verdict", "exit_code") if outcome.get(key) is not None
    }
    result = {"pass": "success", "fail": "failure"}.get(str(reported.get("verdict")), reported.get("verdict"))
    if "exit_code" in reported:
        result = "success" if reported["exit_code"] == 0 else "failure"
    result = reported.get("result", result or "success")
    return result == "success" and reported.get("verdict", "pass") == "pass"


def of_the_output(outcome: Mapping[str, Json], readable: bool) -> str:
    """ "Where somebody reads the output and the work passed of itself" """
    seen: Mapping[str, Any] = (outcome.get("facts") or {}).get("output") or {}
    kinds = {"refused": "refused", "unreadable": "unreadable_output", "empty": "empty_answer"}
    for key, kind in kinds.items():
        held = seen.get(key) and not (key == "unreadable" and readable)
        if held and (passes(outcome) or outcome.get("failure_type") == kind):
            return kind
    return ""


def decides(
    document: Mapping[str, Any],
    station: Mapping[str, Any],
    outcome: Mapping[str, Json],
    spent: Json,
    counts: bool,
) -> str:
    """The failure type of the first fact that decides; "" where none does. `counts`: somebody reads the output."""
    facts: Mapping[str, Any] = outcome.get("facts") or {}
    cost = (facts.get("usage") or {}).get("cost_usd")
    of_run = (station.get("limits") or {}).get("cost_usd")
    of_task = (document.get("limits") or {}).get("cost_usd")
    if cost is not None:
        # "a cap was passed": its worker stopped it for that, and so it said
        stopped = outcome.get("result") == "failure" and outcome.get("failure_type") == "budget_exceeded"
        if stopped and (of_run is not None or of_task is not None):
            return "budget_exceeded"
        if of_run is not None and money(cost) > money(of_run):
            return "budget_exceeded"
        if of_task is not None and money(cost) + money(spent or 0) > money(of_task):
            return "budget_exceeded"
    # What Gateline itself ended, or could not do, was no work that could be judged.
    failure = outcome.get("result") == "failure" and outcome.get("failure_type") in NOT_THE_WORK
    if outcome.get("result") == "cancelled" or failure:
        return ""
    agent, expects = facts.get("agent") or {}, station.get("expects")
    unchanged, missing = lacks(station, outcome, facts)
    if agent.get("provider") == "unavailable":
        return "provider_unavailable"
    if agent.get("final_event") is False:
        return "no_final_event"
    no_change = expects == "change" and unchanged
    if (facts.get("commands") or {}).get("denied") and (no_change or missing):
        return "denied"
    readable = "output" in outcome and not outcome.get("output_error")
    if counts and (kind := of_the_output(outcome, readable)):
        return kind
    return "nothing_done" if no_change else "output_missing" if missing else ""


def judged(
    document: Mapping[str, Any],
    station: Mapping[str, Any],
    given: Mapping[str, Json],
    spent: Json,
    counts: bool = False,
) -> tuple[dict[str, Json], bool]:
    """The outcome with what the fact sets; and whether a person is to be asked."""
    outcome = dict(given)
    if ((outcome.get("facts") or {}).get("output") or {}).get("signal"):
        outcome.pop("output", None)  # "The line of a signal is no output."
    kind = decides(document, station, outcome, spent, counts)
    if not kind:
        return outcome, False
    usual = "blocked" if kind == BLOCKED_AS_USUAL else "failure"
    word = (station.get("outcome_of") or {}).get(kind) or usual
    reported = {
        key: outcome[key]
        for key in ("result", "verdict", "eval", "failure_type")
        if outcome.get(key) is not None
    }
    outcome["result"], outcome["verdict"], outcome["eval"] = WORDS[word]
    outcome["failure_type"] = kind
    if reported and reported != {key: outcome[key] for key in ("result", "verdict", "eval", "failure_type")}:
        # "and the reported ones move to `claims`"
        facts = dict(outcome.get("facts") or {})
        claims = dict(facts.get("claims") or {})
        claims["made"] = [*(claims.get("made") or []), {"kind": "result", "said": reported}]
        outcome["facts"] = {**facts, "claims": claims}
    # "`proceed` and `already_complete` are then only recorded"
    outcome["signals"] = [
        each
        for each in outcome.get("signals") or []
        if each.get("verdict") != "proceed"
        and not (each.get("verdict") == "hold" and each.get("reason") == "already_complete")
    ]
    return outcome, word == "review"
