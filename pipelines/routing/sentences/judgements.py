"""Judgements of an outcome by a fact, as a sentence (law §13)."""

from __future__ import annotations


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
