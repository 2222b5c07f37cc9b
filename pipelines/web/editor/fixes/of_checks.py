"""What puts right that nobody waits for the checks of a host: a push and a wait before the station that merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.run import findings_of
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.fix import Remedies, Remedy

Document = Mapping[str, Any]
PASSED = {"result": "success"}


def waiting(of: Remedies, finding: Finding) -> Iterator[Remedy]:
    """All that led to the station leads to the push; its gates are asked before as they were."""
    stations = _with_both(of.document["stations"], finding.station or "")
    try:
        changed = read_line({**of.document, "stations": stations}, keep_faulty_rules=True)
    except DocumentError:
        return
    after = findings_of(LintSubject(changed, of.subject.people, of.subject.required))
    before = _grave(findings_of(of.subject))
    if _grave(after) <= before - {(finding.check, finding.station)}:
        label = "Push and wait for the checks before it"
        yield Remedy(label, (edits.change_line(stations=stations),), "list-checks")


def _with_both(stations: list[Document], target: str) -> list[Document]:
    taken = {each.get("key") for each in stations}
    push, checks = _free("push-branch", taken), _free("host-checks", taken)
    found: list[Document] = []
    for each in stations:
        if each.get("key") == target:
            found.append(_station(push, "Push the branch", {"kind": "deliver", "to": "push"}, checks))
            found.append(_station(checks, "Checks of the host", {"kind": "wait_for_checks"}, target))
        rules = each.get("rules")
        led = [_led(rule, target, push) for rule in rules] if isinstance(rules, list) else rules
        found.append(each if led == rules else {**each, "rules": led})
    return found


def _station(key: str, name: str, work: Document, to: str) -> Document:
    rules = [{"id": f"{key}-passed", "when": PASSED, "to": to}]
    return {"key": key, "name": name, "work": work, "rules": rules}


def _led(rule: Any, target: str, to: str) -> Any:
    if not isinstance(rule, dict):
        return rule
    named = rule.get("to")
    if isinstance(named, list):
        return {**rule, "to": [to if each == target else each for each in named]}
    return {**rule, "to": to} if named == target else rule


def _free(key: str, taken: set[Any]) -> str:
    return next(
        each for each in (key, *(f"{key}-{n}" for n in range(2, len(taken) + 3))) if each not in taken
    )


def _grave(findings: tuple[Finding, ...]) -> set[tuple[str, str | None]]:
    return {(each.check, each.station) for each in findings if each.severity != INFO}
