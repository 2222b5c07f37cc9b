"""Additions to a person's report on a manual station besides its result: an eval, a type of failure, a
handoff document. Requested where the line reads them: by a rule of the station, or as a precondition of a
move out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics import jsontext
from pipelines.routing.document.algebra import EvalTest, FailureTypeTest, condition_leaf_tests
from pipelines.routing.document.line import ParsedLine, Problem, Station
from pipelines.routing.document.preconditions import HANDOFF

SKELETON = {
    "change_summary": {"what_changed": "", "files_touched": [], "rationale": ""},
    "evidence": {
        "prompt_reference": "",
        "contract_version": "",
        "test_evidence": "",
        "security_scan_result": "not_run",
    },
    "ai_metadata": {},
}
"""Where the line asks for the standard handoff; left as it is, it is none."""
LONGEST = 500


@dataclass(frozen=True)
class ReportFields:
    """`evals`, `types`: words that rules of the station name, None where they ask for none; `handoff`: the text that
    the field begins with, None where no handoff is asked for."""

    evals: tuple[str, ...] | None
    types: tuple[str, ...] | None
    handoff: str | None

    @property
    def has_fields(self) -> bool:
        return (self.evals, self.types, self.handoff) != (None, None, None)


def report_fields(line: ParsedLine, station: Station) -> ReportFields:
    tests = [test for rule in station.rules for test in condition_leaf_tests(rule.when)]
    evals = [test for test in tests if isinstance(test, EvalTest)]
    types = [word for test in tests if isinstance(test, FailureTypeTest) for word in test.types]
    eval_words = tuple(dict.fromkeys(str(test.value) for test in evals if isinstance(test.value, str)))
    # A word and its spellings for code are one choice.
    plain = tuple(dict.fromkeys(word.replace("_", " ").replace("-", " ") for word in types))
    needs_handoff = HANDOFF in line.requirements_of(station.key)
    # No schema of the line: the standard one counts.
    own = line.handoff_schema(station.key) is None
    text = json.dumps(SKELETON, indent=2) if own else "{}"
    return ReportFields(
        eval_words if evals else None,
        tuple(word for word in plain if word in types) or tuple(types) if types else None,
        text if needs_handoff else None,
    )


def outcome_parts_and_problems_of_report(
    choices: ReportFields, post: Mapping[str, str]
) -> tuple[dict[str, Any], list[Problem]]:
    """Read the additional fields from a posted form. Returns the parts of the outcome and the problems."""
    outcome: dict[str, Any] = {}
    problems = []
    for name, offered in (("eval", choices.evals), ("failure_type", choices.types)):
        text = post.get(name, "").strip()
        if text and offered is not None:
            outcome[name] = text
        if len(text) > LONGEST:
            problems.append(Problem(f"outcome.{name}", "is longer than 500 characters"))
    # Browsers send line ends of two characters.
    text = post.get("handoff", "").replace("\r\n", "\n").strip()
    if choices.handoff is not None and text and text != choices.handoff:
        try:
            outcome["handoff"] = jsontext.loads(text)
        except jsontext.JsonTextError as fault:
            problems.append(Problem("outcome.handoff", f"is not JSON: {fault}"))
    return outcome, problems
