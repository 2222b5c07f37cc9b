"""Remedy where no station waits for the checks of a host: a push and a wait before the station that merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.routing.analysis.lint.finding import INFO, Finding
from pipelines.routing.analysis.lint.run import run_all_checks
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.document.line import DocumentError, read_line
from pipelines.web.editor.fixes import edits
from pipelines.web.editor.fixes.remedies import Remedies, Remedy

Document = Mapping[str, Any]
PASSED = {"result": "success"}


def push_and_wait_remedies(remedies: Remedies, finding: Finding) -> Iterator[Remedy]:
    """Yield a push and a wait for checks as remedy: all that led to the station leads to the push; its gates
    come first, unchanged."""
    stations = _stations_with_push_and_checks(remedies.document["stations"], finding.station or "")
    try:
        # A faulty rule elsewhere is no reason to offer nothing.
        changed = read_line({**remedies.document, "stations": stations}, keep_faulty_rules=True)
    except DocumentError:
        return
    after = run_all_checks(LintSubject(changed, remedies.subject.people, remedies.subject.required))
    before = _serious_findings(run_all_checks(remedies.subject))
    # The finding has to be gone, and no other may have come.
    if _serious_findings(after) <= before - {(finding.check, finding.station)}:
        label = "Push and wait for the checks before it"
        yield Remedy(label, (edits.edit_changing_line(stations=stations),), "list-checks")


def _stations_with_push_and_checks(stations: list[Document], target: str) -> list[Document]:
    used_keys = {station.get("key") for station in stations}
    push, checks = _free_key("push-branch", used_keys), _free_key("host-checks", used_keys)
    updated: list[Document] = []
    for station in stations:
        if station.get("key") == target:
            updated.append(_new_station(push, "Push the branch", {"kind": "deliver", "to": "push"}, checks))
            updated.append(_new_station(checks, "Checks of the host", {"kind": "wait_for_checks"}, target))
        # The target's own rules, too: one that leads back to it passes the checks again.
        rules = station.get("rules")
        redirected = (
            [_redirected_rule(rule, target, push) for rule in rules] if isinstance(rules, list) else rules
        )
        updated.append(station if redirected == rules else {**station, "rules": redirected})
    return updated


def _new_station(key: str, name: str, work: Document, to: str) -> Document:
    rules = [{"id": f"{key}-passed", "when": PASSED, "to": to}]
    return {"key": key, "name": name, "work": work, "rules": rules}


def _redirected_rule(rule: Any, target: str, to: str) -> Any:
    if not isinstance(rule, dict):
        return rule
    rule_target = rule.get("to")
    if isinstance(rule_target, list):
        return {**rule, "to": [to if key == target else key for key in rule_target]}
    return {**rule, "to": to} if rule_target == target else rule


def _free_key(key: str, used_keys: set[Any]) -> str:
    return next(
        candidate
        # More candidates than there are keys, so one is free.
        for candidate in (key, *(f"{key}-{n}" for n in range(2, len(used_keys) + 3)))
        if candidate not in used_keys
    )


def _serious_findings(findings: tuple[Finding, ...]) -> set[tuple[str, str | None]]:
    return {(finding.check, finding.station) for finding in findings if finding.severity != INFO}
