"""Findings of lint as a page shows them: whole sentences with names, the situation that shows one, its help page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from pipelines.routing.analysis.lint.checks import not_publishable
from pipelines.routing.analysis.lint.finding import ERROR, INFO, WARNING, Finding
from pipelines.routing.analysis.lint.policy_outcome import policy_outcome_text
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Problem
from pipelines.routing.basics.wording import as_sentence, people_text
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import part_names as named
from pipelines.routing.sentences.changes import FIELDS
from pipelines.routing.sentences.fields import INDEX, field_label, find_declared_field
from pipelines.web.lines.document_paths import PathParts, list_member, path_parts

MOST = 200
"""Findings on a page; the tool and the API give all."""
ICONS = {ERROR: "danger", WARNING: "warning"}
LISTED = re.compile(r"(ends|inputs|budgets|escalations|guarantees)\[(\d+)\]")
"""Parts of a line beside its stations and gates."""
SEVERITIES = {ERROR: "error", WARNING: "warning", INFO: "note"}


@dataclass(frozen=True, slots=True)
class FindingView:
    finding: Finding
    message: str
    hint: str
    severity: str
    icon: str
    help: str
    example: str
    then: str


def finding_views(
    findings: Sequence[Finding], document: object, line: ParsedLine | None
) -> list[FindingView]:
    """The worst first, as lint gives them; no more than MOST. `line`: what the document says, where it says one."""
    return [_finding_view(finding, document, line) for finding in findings[:MOST]]


def finding_message(finding: Finding, document: object) -> str:
    """Return the message of a finding; one that keeps a line from being published is about a place: its name
    comes first."""
    return (
        as_sentence(finding.message)
        if finding.check != not_publishable.ID
        else _problem_sentence(document, finding.path, finding.message)
    )


def readable_problems(problems: Sequence[Problem], document: object) -> list[Problem]:
    """Return the problems of a document that cannot be read, as whole sentences that name their place."""
    return [
        Problem(
            "",
            _problem_sentence(document, problem.path, problem.message),
            as_sentence(problem.hint),
            problem.line,
            problem.column,
        )
        for problem in problems
    ]


def _problem_sentence(document: object, path: str, message: str) -> str:
    """“Lint · rule 2 · “Timeout” is missing.”: a field in quotes, so that its label does not run into the message."""
    *names, field = _part_rule_and_field_names(document, path)
    # The field in quotes, so that its label does not run into the message
    place = " · ".join(filter(None, (*names, f"“{field}”" if field else "")))
    return as_sentence(f"{place} {people_text(message)}" if place else message)


def place_text(document: object, path: str) -> str:
    """A place in a document by names: “Lint · rule 2 · Condition”."""
    return " · ".join(filter(None, _part_rule_and_field_names(document, path)))


def _part_rule_and_field_names(document: object, path: str) -> tuple[str, str, str]:
    """The names of the part, of the rule and of the field, each "" where the path leads through none."""
    parts = path_parts(document, path)
    listed = None if parts.what else LISTED.match(path)
    member = list_member(document, listed[1], int(listed[2])) if listed else parts.member
    names = (member.get(key) for key in ("name", "label", "key"))
    name = next((candidate for candidate in names if isinstance(candidate, str) and candidate), "")
    number = f"rule {parts.number}" if parts.number else ""
    return name, number, _field_label(parts)


def _field_label(parts: PathParts) -> str:
    """A field as its form calls it, or the one that it is within; what no form has by its place."""
    kind = "rule" if parts.number else parts.what.removesuffix("s") or "line"
    work = parts.member.get("work")
    of_work = str(work.get("kind")) if isinstance(work, Mapping) else ""
    steps = parts.rest.split(".") if parts.rest else []
    if kind == "rule" and steps[:1] == ["when"]:
        return "Condition"
    # From the whole path outwards: the innermost field that a form has
    for count in range(len(steps), 0, -1):
        within = INDEX.sub("", ".".join(steps[:count]))
        field = find_declared_field(kind, within, of_work)
        if field and field.label:
            return field_label(field, parts.rest)
        if name := FIELDS.get(kind, {}).get(within):
            return people_text(name)
    return parts.rest


def _finding_view(finding: Finding, document: object, line: ParsedLine | None) -> FindingView:
    witness = finding.witness
    situation = witness.situation if witness else {}
    parts = {key: situation[key] for key in ("outcome", "facts") if key in situation}
    return FindingView(
        finding=finding,
        message=finding_message(finding, document),
        hint=as_sentence(finding.hint),
        severity=SEVERITIES[finding.severity],
        icon=ICONS.get(finding.severity, "info"),
        help=reverse("help-page", args=[finding.check]),
        example=jsontext.dumps(parts, indent=2, ascii_only=False) if parts else "",
        then=_witness_decision_text(finding, line),
    )


def _witness_decision_text(finding: Finding, line: ParsedLine | None) -> str:
    if finding.witness is None or line is None:
        return ""
    if finding.witness.rule is None:
        return people_text(policy_outcome_text(line, finding.witness.decision))
    return f"rule {people_text(named.rule_phrase(line, finding.witness.rule))} takes it"
