"""Notes of a trace beside the rules it tested, as a sentence (law §4, §6): the gate by its name, the policy
as what happens. The trace itself keeps its own words; unknown notes stay as they are."""

from __future__ import annotations

import re

from pipelines.routing.document.gates import JUMP
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.document.rules import BLOCKED
from pipelines.routing.sentences.decisions import STOPS, policy_words
from pipelines.routing.sentences.names import gate_name, target_name

DISPLAY_ONLY = ", shown only"
WAITS = "waits for "


def note_words(line: ParsedLine, why: str) -> str:
    """Return the sentence for a note. `why` as the trace has it: “code-review: proceed, shown only”,
    “on_failure: halt”."""
    if why.startswith(WAITS):
        keys = why.removeprefix(WAITS).split(", ")
        if all(_is_gate(line, key) for key in keys):
            return f"Waits for {', '.join(gate_name(line, key) for key in keys)}."
        return why
    key, _colon, detail = why.partition(": ")
    if key in POLICIES:
        return _policy_sentence(line, key, detail)
    if _is_gate(line, key):
        return _gate_sentence(gate_name(line, key), detail)
    if match := GOES.fullmatch(why):
        return _destination_sentence(line, match["to"], match["by"])
    return _entry_refusal_or_empty(line, why) or judgement_words(why)


def _destination_sentence(line: ParsedLine, to: str, by: str) -> str:
    if to == BLOCKED:
        return f"Stays here, blocked ({BY[by]})."
    places = " + ".join(target_name(line, key) for key in to.split(" + "))
    return f"Goes to {places} ({BY[by]})."


def _entry_refusal_or_empty(line: ParsedLine, why: str) -> str:
    """Return why the token does not enter a station, by name; "" for any other note."""
    for pattern, words in REFUSED:
        if match := pattern.fullmatch(why):
            return words % {part: target_name(line, value) for part, value in match.groupdict().items()}
    return ""


def _is_gate(line: ParsedLine, key: str) -> bool:
    return key == JUMP or key in line.gates_by_key


def _policy_sentence(line: ParsedLine, key: str, detail: str) -> str:
    # `on_failure: halt after compose_failed`
    knob = detail.partition(" after ")[0]
    return POLICIES[key] % {"then": policy_words(line, knob)}


def _gate_sentence(gate: str, detail: str) -> str:
    if detail.startswith(SAMPLE):
        return _sample_sentence(gate, detail.removeprefix(SAMPLE))
    if detail.startswith(SAME):
        return _same_change_sentence(gate, detail.removeprefix(SAME))
    only = detail.endswith(DISPLAY_ONLY)
    word = detail.removesuffix(DISPLAY_ONLY)
    if only and word in CHECKED:
        return f"{gate}: its checks are shown only, a person decides."
    if word in STOPS:
        return STOPS[word] % {"gate": gate} + "."
    return CHECKED[word] % {"gate": gate} if word in CHECKED else f"{gate}: {detail}"


def _sample_sentence(gate: str, detail: str) -> str:
    draw, _comma, rate = detail.rpartition(", ")
    if detail == ALWAYS:
        return f"{gate} asks about a sample, and a check always asks about this."
    return SAMPLED[draw] % {"gate": gate, "rate": rate} if draw in SAMPLED else f"{gate}: {detail}"


def _same_change_sentence(gate: str, detail: str) -> str:
    match = SAME_TREES.match(detail)
    if match is None:
        return f"{gate}: the change is the same on the moved branch, and a check asks for people."
    return (
        "{gate} approved this change as {approved}. It is the same on the moved branch, as {tree}, and "
        "was checked again: nobody was asked."
    ).format(gate=gate, **match.groupdict())


SAME = "same change: "
SAME_TREES = re.compile(r"(?P<approved>\w*) was approved, (?P<tree>\w*) is the same")
SAMPLE, ALWAYS = "sample: ", "a check always asks"
SAMPLED = {
    "drawn": "%(gate)s asks about %(rate)s, and this task is drawn.",
    "not drawn": "%(gate)s asks about %(rate)s, and this task is not drawn: nobody was asked.",
    "the same change was asked about before": (
        "%(gate)s asks about %(rate)s, and people were asked about the same change before."
    ),
    "the same was drawn before and is not approved": (
        "%(gate)s asks about %(rate)s, and another task that asks for the same was drawn and is not approved."
    ),
    "nothing was drawn": "%(gate)s asks about %(rate)s; nothing was drawn, so people are asked.",
}
POLICIES = {
    "on_failure": "The policy on a failure: %(then)s.",
    "no_rules": "The policy without rules: %(then)s.",
    "no_match": "The policy where no rule matched: %(then)s.",
}
CHECKED = {
    "no checks": "%(gate)s has no checks.",
    "skipped": "%(gate)s is skipped.",
    "proceed": "%(gate)s: its checks passed.",
    "hold": "%(gate)s: a check asks for a person.",
}
BY = {
    "rule": "by its rule",
    "fallback": "by the fallback",
    "policy": "by the policy",
    "signal": "by a signal",
    "gate": "by a gate",
}
# `goes to build + test (by rule)`
GOES = re.compile(rf"goes to (?P<to>.+) \(by (?P<by>{'|'.join(BY)})\)")
REFUSED = (
    (
        re.compile(r"This task has been at (?P<station>\S+) before, and may not return\."),
        "This task has been at %(station)s before, and may not return.",
    ),
    (
        re.compile(
            r"This task has entered (?P<station>\S+) (?P<visits>\d+) times; the cap is (?P<cap>\d+)\."
        ),
        "This task ran %(station)s %(visits)s times; the limit is %(cap)s.",
    ),
    (
        re.compile(r"(?P<station>\S+) and (?P<other>\S+) must never run in parallel\."),
        "%(station)s and %(other)s must never run in parallel.",
    ),
)
"""As `decide` writes them, with keys, and as people read them."""


# Judgements of an outcome by a fact, as a sentence (law §13).


def judgement_words(why: str) -> str:
    """Return the sentence for a judgement. `why` as the trace has it: “nothing_done counts as failure”."""
    if why.endswith(REMARK) and why.removesuffix(REMARK) in REMARKS:
        return REMARKS[why.removesuffix(REMARK)]
    kind, _between, word = why.partition(" counts as ")
    if kind not in FACT_SENTENCES or word not in COUNTS:
        return why
    return f"{FACT_SENTENCES[kind]} {COUNTS[word]}"


FACT_SENTENCES = {
    "budget_exceeded": "It cost more than it may.",
    "provider_unavailable": "The provider of its model did not answer.",
    "no_final_event": "It ended before it was done.",
    "denied": "A permission was denied, and what was expected is not there.",
    "refused": "The model refused.",
    "unreadable_output": "There is output that could not be read.",
    "empty_answer": "The answer is empty.",
    "nothing_done": "Nothing was changed, and a change was expected.",
    "output_missing": "What it was expected to leave is missing.",
}
REMARK = " decides nothing"
REMARKS = {
    **{kind: FACT_SENTENCES[kind] for kind in ("refused", "unreadable_output", "empty_answer")},
    "signal_only": "All that it wrote as output is a signal, which is no output.",
    "agent_error": "The agent told of an error, and reported success.",
}
COUNTS = {
    "success": "That counts as success here.",
    "failure": "That counts as failure here.",
    "blocked": "That counts as blocked here.",
    "review": "So a person is asked here.",
}
