"""A claim beside what was observed: confirmed, contradicted, or not observed. Never by resemblance: what could be true
of what nobody saw is not observed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.formats.evidence.claims.agent_claims import COMMANDS, DEPENDENCIES, FILES, TESTS, AgentClaim
from pipelines.formats.evidence.trees import file_kinds
from pipelines.formats.evidence.trees.tree_diff import ADDED, DELETED

CONFIRMED, CONTRADICTED, NOT_OBSERVED = "confirmed", "contradicted", "not_observed"
# As programs call a shell: bash -lc 'pytest -q'
_WRAPPED: Final = re.compile(r"""(?:/bin/)?(?:ba|z)?sh -l?c (['"]?)(?P<command>.*)\1""", re.DOTALL)


@dataclass(frozen=True)
class RanCommand:
    """`code` is None where nobody saw how it ended."""

    text: str
    code: int | None = None


@dataclass(frozen=True)
class ObservedWork:
    """None: nobody looked. `changed`: {path: change}; `whole`: since the task began, so that an unchanged file
    was never changed. `present`: every path of the tree. `tests`: counts, `commands_run`: how many where none is known
    by name. `dependencies`: names that were added to manifests."""

    tests: Mapping[str, Any] | None = None
    changed: Mapping[str, str] | None = None
    whole: bool = False
    present: frozenset[str] | None = None
    commands: Sequence[RanCommand] = ()
    commands_run: int | None = None
    dependencies: frozenset[str] | None = None
    renamed: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class CheckedClaim:
    """`reason` says by what, a key of the phrases of the page; `values` fill it."""

    claim: AgentClaim
    verdict: str
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.claim.kind, "text": self.claim.text, "why": self.reason}


def checked_claim(claim: AgentClaim, observed: ObservedWork) -> CheckedClaim:
    answer = CHECKS[claim.kind](claim, observed) if claim.kind in CHECKS else None
    verdict, reason, values = answer or (NOT_OBSERVED, "", {})
    return CheckedClaim(claim, verdict, reason, values)


def check_claims(claims: Iterable[AgentClaim], observed: ObservedWork) -> list[CheckedClaim]:
    """Contradictions first, then what is confirmed, then what nobody saw."""
    order = {CONTRADICTED: 0, CONFIRMED: 1, NOT_OBSERVED: 2}
    return sorted(
        (checked_claim(claim, observed) for claim in claims), key=lambda claim: order[claim.verdict]
    )


Answer = tuple[str, str, Mapping[str, Any]] | None


def _answer_by_tests(claim: AgentClaim, observed: ObservedWork) -> Answer:
    counts = observed.tests
    if counts is None:
        return None
    passed, bad = counts.get("passed", 0), counts.get("failed", 0) + counts.get("errors", 0)
    if claim.form == "count_pass":
        if claim.number > passed:
            return CONTRADICTED, "fewer_passed", counts
        return (CONFIRMED, "tests", counts) if claim.number == passed and not bad else None
    if bad:
        return CONTRADICTED, "tests_failed", counts
    if not passed:
        return CONTRADICTED, "no_test_ran", counts
    if claim.form == "all_pass" and claim.number > passed:
        return CONTRADICTED, "fewer_passed", counts
    # 0: the claim names no number.
    return (CONFIRMED, "tests", counts) if claim.number in (0, passed) else None


def _answer_by_files(claim: AgentClaim, observed: ObservedWork) -> Answer:
    changed, path = observed.changed, claim.subject
    if changed is None:
        return None
    if claim.form == "tests_kept":
        touched = sorted(
            changed_path
            for changed_path in changed
            if file_kinds.sensitivity_or_empty(changed_path) == file_kinds.TESTS
        )
        if touched:
            return CONTRADICTED, "tests_changed", {"path": touched[0]}
        return (CONFIRMED, "no_test_changed", {}) if observed.whole else None
    # A name without its folder is the file of that name, where there is one.
    matching = [
        changed_path
        for changed_path in changed
        if changed_path == path or ("/" not in path and changed_path.endswith(f"/{path}"))
    ]
    if len(matching) == 1:
        change = changed[matching[0]]
        gone = change == DELETED
        if gone is not (claim.form == "deleted"):
            return CONTRADICTED, "is_gone" if gone else "still_there", {"path": matching[0]}
        if claim.form == "created" and change != ADDED:
            return None
        return CONFIRMED, "file", {"path": matching[0]}
    if matching or observed.present is None:
        return None
    there = any(
        present_path == path or ("/" not in path and present_path.endswith(f"/{path}"))
        for present_path in observed.present
    )
    if claim.form == "deleted":
        return (CONTRADICTED, "still_there", {"path": path}) if there else None
    if not there and path not in observed.renamed:
        return CONTRADICTED, "not_there", {"path": path}
    return (CONTRADICTED, "unchanged", {"path": path}) if there and observed.whole else None


def _answer_by_commands(claim: AgentClaim, observed: ObservedWork) -> Answer:
    ran = [command for command in observed.commands if claim.subject in _command_spellings(command.text)]
    if not ran:
        return (CONTRADICTED, "nothing_ran", {}) if observed.commands_run == 0 else None
    # Of several runs of a command the last counts.
    code = ran[-1].code
    if claim.form == "ran":
        return CONFIRMED, "ran", {"command": ran[-1].text, "code": code}
    if code is None:
        return None
    return (CONTRADICTED if code else CONFIRMED), "ran", {"command": ran[-1].text, "code": code}


def _command_spellings(text: str) -> set[str]:
    """A command as it was called, without the shell around it, and its parts."""
    plain = " ".join(text.split())
    wrapped = _WRAPPED.fullmatch(plain)
    inner = wrapped["command"] if wrapped else plain
    return {plain, inner}


def _answer_by_dependencies(claim: AgentClaim, observed: ObservedWork) -> Answer:
    added = observed.dependencies
    if added is None:
        return None
    if claim.form == "none":
        if added:
            return CONTRADICTED, "dependency_added", {"name": sorted(added)[0]}
        return CONFIRMED, "no_dependency", {}
    if claim.subject.lower() in added:
        return CONFIRMED, "dependency_added", {"name": claim.subject}
    return CONTRADICTED, "dependency_missing", {"name": claim.subject}


CHECKS: Final[Mapping[str, Callable[[AgentClaim, ObservedWork], Answer]]] = {
    TESTS: _answer_by_tests,
    FILES: _answer_by_files,
    COMMANDS: _answer_by_commands,
    DEPENDENCIES: _answer_by_dependencies,
}
