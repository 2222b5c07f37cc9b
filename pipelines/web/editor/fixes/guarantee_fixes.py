"""Remedy for a refuted guarantee that a rejection breaks: the task ends at that gate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

from pipelines.routing.analysis.lint.checks import broken_guarantee, unproved_guarantee
from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.guarantee_findings import PROVED
from pipelines.routing.analysis.lint.run import run_all_checks
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.guarantees import REJECT
from pipelines.routing.document.line import Gate
from pipelines.routing.guarantees.guarantee_proofs import proved_flags
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.remedies import Remedies, Remedy

PROMISED = frozenset({broken_guarantee.ID, unproved_guarantee.ID})
ENDS = "fail"
"""What follows a rejection that ends the task."""
MAX_TRIED = 2
"""Gates of one line that are tried: each costs the analysis and lint of the whole line."""

_endings: WeakKeyDictionary[LintSubject, dict[str, _RejectionEndTrial]] = WeakKeyDictionary()
"""By the key of the gate. An examination is remembered, and what is told of it is asked again and again."""


def refuted_guarantee_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """Yield the remedy of ending the task at the gate, also where the line's policy says what follows: the
    other gates stay unchanged."""
    match = re.fullmatch(r"guarantees\[(\d+)\]", finding.path)
    index = int(match[1]) if match else -1
    # Behind the line's own guarantees stand those that its repository asks for.
    if not 0 <= index < len(remedies.line.guarantees):
        return
    after = remedies.line.guarantees[index].after
    gate = remedies.line.gates_by_key.get(after.gate) if after and after.word == REJECT else None
    if (
        gate
        and (gate.on_reject or remedies.line.policy.on_reject) != ENDS
        and _is_proved_and_nothing_worse(remedies.subject, index, gate)
    ):
        yield Remedy("End the task", (edits.edit_changing_gate(gate.key, on_reject=ENDS),), "end-failed")


def _is_proved_and_nothing_worse(subject: LintSubject, index: int, gate: Gate) -> bool:
    """Return whether the guarantee is then proved and nothing is worse. A change that was not tried is no
    remedy."""
    known = _endings.setdefault(subject, {})
    if gate.key not in known and len(known) < MAX_TRIED:
        known[gate.key] = _RejectionEndTrial(subject, gate)
    ending = known.get(gate.key)
    return ending is not None and ending.proves[index] and ending.harms_nothing


class _RejectionEndTrial:
    """A line as it is when a rejection at this gate ends the task.

    What is not proved in it is not searched for a path that breaks it: that may take seconds, and such a path would
    be one of the line as well. All paths of the new line are, but those that end here, and `failed` is never kept
    from a task: whatever it does may be aborted."""

    def __init__(self, subject: LintSubject, gate: Gate) -> None:
        # What is remembered goes with the subject, so it does not hold it.
        line = subject.line
        ends = replace(gate, on_reject=ENDS)
        changed = replace(
            line, gates=tuple(ends if candidate is gate else candidate for candidate in line.gates)
        )
        after = LintSubject(changed, subject.people, subject.required)
        self.proves = proved_flags(after)
        broken = any(
            promise.answer == PROVED and not proved
            for promise, proved in zip(
                subject.promises, self.proves, strict=False
            )  # behind them, the repository's
        )
        self.harms_nothing = not broken and not _serious_findings(after) - _serious_findings(subject)


def _serious_findings(subject: LintSubject) -> set[tuple[str, str, str | None]]:
    """Return the findings of lint, except those about the guarantees."""
    return {
        (finding.check, finding.path, finding.rule)
        for finding in run_all_checks(subject)
        if finding.severity != INFO and finding.check not in PROMISED
    }
