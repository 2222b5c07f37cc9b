"""Work of kind `route`: a model picks one of the labels that the station's rules ask for (dialects B12). What came in
passes through: the station leaves no output of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipelines.work.handlers.chat import answer_facts, ask_with_limits, text_callback_to_log
from pipelines.work.handlers.time_limits import DataCallback
from pipelines.work.language_models.completion import CompletionRequest, Reply, ask_model
from pipelines.work.results import output
from pipelines.work.spec.handler_io import Outcome, Sink, Spec

ANSWER_CHARACTERS = 200


async def run(spec: Spec, sink: Sink) -> Outcome:
    return await ask_with_limits(spec, sink, pick_label)


async def pick_label(spec: Spec, sink: Sink, on_data: DataCallback) -> Outcome:
    work = spec.work
    listed = "\n".join(f"- {label}" for label in spec.labels)
    prompt = f"{(spec.prompt or '').rstrip()}\n\nAnswer with exactly one of these labels, and nothing else:\n{listed}\n"
    system_messages = [{"role": "system", "content": work["system"]}] if work.get("system") else []
    completion_request = CompletionRequest(
        [*system_messages, {"role": "user", "content": prompt}],
        model=str(work.get("model") or ""),
        temperature=work.get("temperature"),
        max_tokens=work.get("max_tokens"),
    )
    reply = await ask_model(completion_request, spec.outgoing, text_callback_to_log(sink, on_data))
    await sink.write("out", b"\n")
    return labelled_outcome(reply, spec.labels, strict=bool(work.get("strict")))


def labelled_outcome(reply: Reply, labels: Sequence[str], *, strict: bool) -> Outcome:
    """Return the outcome of a reply. Without a label the answer itself becomes the eval, so that the default
    rule matches; under `strict` it is a failure."""
    answer = reply.text.strip()[:ANSWER_CHARACTERS]
    label = equal_label_or_none(answer, labels) if strict else label_in_answer_or_none(reply.text, labels)
    unread = {"unreadable": output.shortened_reason(reply.unreadable)} if reply.unreadable else {}
    outcome: Outcome = {"result": "success", "usage": reply.usage}
    outcome = output.outcome_with_output_facts(outcome, {**unread, **answer_facts(reply)})
    if label is not None:
        return {**outcome, "eval": label, "summary": f"Chosen: {label}"}
    if strict:
        why = f"The answer is none of the labels: {answer or 'nothing was said'}"
        return {**outcome, "result": "failure", "failure_type": "no_label", "summary": why}
    why = f"The answer does not name exactly one of the labels: {answer or 'nothing was said'}"
    # The answer itself: no rule asks for it, so that the default one takes it
    return {**outcome, "eval": answer, "summary": why}


def label_in_answer_or_none(answer: str, labels: Sequence[str]) -> str | None:
    """The label that equals the answer, or else the only one it contains as a whole word; None if there is none or
    several."""
    exact = equal_label_or_none(answer, labels)
    if exact is not None:
        return exact
    names = labels_in_answer(answer, labels)
    alike = [label for label in labels if label.strip().casefold() in names]
    # An answer that names two of them has chosen none
    return alike[0] if len(alike) == 1 else None


def equal_label_or_none(answer: str, labels: Sequence[str]) -> str | None:
    """The label that equals the whole answer; case only matters between labels that differ in nothing else."""
    stripped = answer.strip()
    alike = [label for label in labels if label.strip() and label.strip().casefold() == stripped.casefold()]
    return next(
        (label for label in alike if label.strip() == stripped), alike[0] if len(alike) == 1 else None
    )


def labels_in_answer(answer: str, labels: Sequence[str]) -> set[str]:
    """The labels, case folded, that stand in the answer as whole words: "valid" is not in "invalid", and where "bug
    report" stands, the label "bug" does not."""
    # The longest first: of several that fit a regular expression takes the first.
    folded = sorted({label.strip().casefold() for label in labels if label.strip()}, key=len, reverse=True)
    if not folded:
        return set()
    words = "|".join(map(re.escape, folded))
    return set(re.findall(rf"(?<![\w-])(?:{words})(?![\w-])", answer.casefold()))
